"""What an enclosed call costs: each kind beside the least that does the same, and beside another checkout.

- In this process, programs that do nothing: rights given up beside a plain start; each place of bubblewrap beside a
  bubblewrap with the same namespaces and a root of one mount, without filter, limits, keyring or anything else of ours.
- `--before CHECKOUT`: whole calls, as a user makes them (`bench._calls`), of this checkout beside those of another one
  with a .venv of its own, in turns. At most a tenth more is the target.

The processor time beside each ratio is that of all processes of the call. It tells more than seconds on a busy machine.
`--rounds N` takes so many turns.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from bench._calls import Cost, Scene, adopt, measured
from bench._figures import Row, print_rows, ratio, take_turns
from operable.proc.command import PreparedCommand
from operable.proc.run import output
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.sandbox.restriction import WORDS
from operable.proc.spawn import prepare

NEEDS = ("bwrap", "git", "jq")
ROOT = Path(__file__).parents[1]
ROUNDS, CALLS = 15, 25
MORE = 1.1  # what an enclosed call may cost, beside the same call before
_BARE = "bwrap --unshare-pid --unshare-ipc --unshare-uts --unshare-net --new-session --cap-drop ALL --die-with-parent"
_BARE_ROOT = "--ro-bind / / --dev /dev --proc /proc"
_OWN_USERS = "--unshare-user --unshare-cgroup-try --uid 1000 --gid 1000"


def main() -> int:
    """Print the tables; 1 when a target is missed."""
    options = argparse.ArgumentParser(prog="./dev bench enclosure")
    options.add_argument("--before", type=Path, metavar="CHECKOUT", help="compare with this checkout")
    options.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    chosen = options.parse_args()
    adopt()
    # Not below /tmp, which is empty inside.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        missed = print_rows(_beside_the_least(folder, chosen.rounds))
    if chosen.before is None:
        return missed
    print()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        return print_rows(_beside(chosen.before.resolve(), Path(folder), chosen.rounds)) | missed


def _beside_the_least(work: str, rounds: int) -> Iterator[Row]:
    box, plain = sandbox("bubblewrap"), prepare(["/bin/true"], cwd=work)
    host = Confinement(cwd=work, writable={work: work})
    system = Confinement(cwd=work, writable={work: work}, root="system", home="/home/agent")
    bare = [*_BARE.split(), *_BARE_ROOT.split()]
    commands: dict[str, Callable[[], PreparedCommand]] = {
        "plain": lambda: plain,
        "rights": lambda: plain._replace(gives_up=WORDS),
        "bare": lambda: prepare([*bare, "/bin/true"], cwd=work),
        "bare with users": lambda: prepare([*bare, *_OWN_USERS.split(), "/bin/true"], cwd=work),
        "host": lambda: box.wrap(plain, host),
        "system": lambda: box.wrap(plain, system),
    }
    figures = take_turns({name: _several(make) for name, make in commands.items()}, rounds)
    yield _row("rights given up / a plain start", figures, "rights", "plain")
    yield _row("bubblewrap, the host's root / a bare bubblewrap", figures, "host", "bare")
    yield _row("bubblewrap, the system's root / a bare bubblewrap", figures, "system", "bare with users")


def _several(make: Callable[[], PreparedCommand]) -> Callable[[], Cost]:
    """The cost of one of several calls, in a process of their own: then all that they started has ended, too."""
    make()  # what is found out once, and kept

    def calls() -> None:
        pid = os.fork()
        if pid == 0:
            try:
                os._exit(max(output(make(), timeout=60).status or 0 for _ in range(CALLS)))
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        if status:
            raise AssertionError(f"an enclosed call failed: {status}")

    def run() -> Cost:
        cost = measured(calls)
        return Cost(cost.wall / CALLS, cost.cpu / CALLS)

    return run


def _beside(before: Path, folder: Path, rounds: int) -> Iterator[Row]:
    scene = Scene(folder)
    then, now = scene.calls(before), scene.calls(ROOT)
    for kind, call in now.items():
        for each in (then[kind], call):
            each()  # compiles, and fills what is kept between calls
        yield _row(
            f"{kind} / before", take_turns({"before": then[kind], "now": call}, rounds), "now", "before", MORE
        )


def _row(
    what: str, figures: dict[str, list[Cost]], name: str, reference: str, target: float | None = None
) -> Row:
    walls, cpus = ({key: [each[at] for each in costs] for key, costs in figures.items()} for at in (0, 1))
    shown = (f"{median(each[key]) * 1000:.1f}" for each in (walls, cpus) for key in (name, reference))
    note = "{} ms, {} ms; processor {:.2f} x, {} ms, {} ms"
    first, second, *rest = shown
    return Row(
        what,
        ratio(walls, name, reference),
        target,
        note.format(first, second, ratio(cpus, name, reference), *rest),
    )


if __name__ == "__main__":
    sys.exit(main())
