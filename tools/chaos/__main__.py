"""`./dev chaos`: workers that are killed, stopped and cut off at random while jobs run, and a report.

    ./dev chaos [--jobs 200] [--runs 300] [--workers 2] [--kills 10] [--stops 2] [--fills 2] [--jumps 4] [--seed N]
    ./dev chaos --postgres --workers 4 [--restarts 3] [--cuts 2]
    ./dev chaos --temporal [--outages 2]

Exit status 1 if the checker finds a violation. Everything happens in a temporary folder. What this machine cannot do is
refused by name: a full disk needs a mount namespace, a clock that jumps needs a C compiler (`clock.c`).
"""

import argparse
import contextlib
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests import needs
from tests.engine.postgres import PostgresServer
from tests.engine.temporal import TemporalServer
from tools.chaos.storm import Chaos

_INSIDE = "OPERABLE_CHAOS_INSIDE"
_NUMBERS = {
    "jobs": (200, "jobs that are applied"),
    "runs": (300, "runs that are asked for"),
    "workers": (2, "workers at the same time"),
    "kills": (10, "workers that are killed (SIGKILL)"),
    "stops": (2, "workers that are stopped (SIGSTOP) for --stop-s, and go on"),
    "fills": (2, "times that the disk of the home is full for --fill-s"),
    "jumps": (4, "times that the clock of a worker jumps by up to two minutes"),
    "restarts": (0, "times that PostgreSQL is stopped at once and started again"),
    "cuts": (0, "workers that are stopped while PostgreSQL ends their connections"),
    "outages": (0, "times that Temporal's server is killed and started again"),
    "seed": (0, "what decides about everything"),
}


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev chaos")
    for name, (value, text) in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{text} ({value})")
    parser.add_argument("--pace", type=float, default=0.25, help="seconds between two acts, on average")
    parser.add_argument("--stop-s", type=float, default=12.0, help="longer than the grace of a lock, 10 s")
    parser.add_argument("--fill-s", type=float, default=4.0, help="how long a disk is full")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for the runs to end")
    parser.add_argument(
        "--postgres", action="store_true", help="on a PostgreSQL that is thrown away afterwards"
    )
    parser.add_argument(
        "--temporal", action="store_true", help="tickets in a Temporal server that is thrown away afterwards"
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    options = parser.parse_args(words)
    if (options.restarts or options.cuts) and not options.postgres:
        parser.error("--restarts and --cuts need --postgres")
    if options.outages and not options.temporal:
        parser.error("--outages needs --temporal")
    if options.temporal and needs.missing("temporal"):
        parser.error(f"--temporal: {needs.missing('temporal')}")
    if options.jumps and shutil.which("cc") is None:
        parser.error("--jumps needs a C compiler (cc); --jumps 0 leaves them out")
    return options


def main() -> int:
    options = parse(sys.argv[1:])
    if options.fills and _INSIDE not in os.environ:
        _enter_namespace()
    folder = Path(tempfile.mkdtemp(prefix="operable-chaos-"))
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgresServer.started()) if options.postgres else None
        temporal = stack.enter_context(TemporalServer.started()) if options.temporal else None
        chaos = Chaos(options, folder, random.Random(options.seed), server, temporal)
        violations = chaos.run()
    for name, count in sorted(chaos.counts.items()):
        print(f"{count:6}  {name}")
    for line in sorted(chaos.reasons):
        print(f"        {line}")
    for each in violations:
        print(f"VIOLATION  {each.rule}: {each.run} {each.detail}")
    print(
        f"{len(chaos.runs)} requests, {len(violations)} violations, {time.monotonic() - began:.0f} s; {folder}"
    )
    keep = options.keep or bool(violations)
    chaos.release(keep=keep)
    if not keep:
        shutil.rmtree(folder)
    return 1 if violations else 0


def _enter_namespace() -> None:
    """Begin again where a disk can be mounted that no other process sees. Returns only if that is not possible."""
    words = ["unshare", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        words.append("--map-root-user")
    again = [*words, sys.executable, "-m", "tools.chaos", *sys.argv[1:]]
    if shutil.which("unshare") is None:
        sys.exit("--fills needs unshare (util-linux); --fills 0 leaves full disks out")
    os.execvpe(again[0], again, {**os.environ, _INSIDE: "1"})


if __name__ == "__main__":
    sys.exit(main())
