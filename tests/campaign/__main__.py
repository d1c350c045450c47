"""A campaign against every store: writers that are killed at random points, on a disk that is full, read-only or locked.

    python -m tests.campaign --kills 25 --seed 1 [--store approvals …]

It makes a mount namespace with a small disk of its own. In each round several writers share a store; what they did and
what was acknowledged stands on another disk. They are killed after a random time by SIGKILL, SIGHUP or SIGTERM; the store
is then opened again, and judged by its own rules (`tests/campaign/stores`). Prints one line of counts per store as JSON;
exit status 1 and the reason for the first violation of each.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from operable.flow.errors import FlowError
from operable.kernel import catalogue
from operable.kernel.errors import Fail
from tests.campaign.disk import condition, enter, places, spoil
from tests.campaign.store import Notes, Store, ViolationError, require

STORES = "tests.campaign.stores"
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM)
ROUNDS_PER_STORE = 12  # then a new one: crash after crash on one store, and judgements that stay short


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=25, help="per store")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--store", action="append", help="only these")
    given = options.parse_args()
    found = places()
    if found is None:
        return enter("tests.campaign", size="48m")
    status = 0
    for name in given.store or catalogue.names(os.path.join(os.path.dirname(__file__), "stores")):
        counts: Counter[str] = Counter()
        try:
            _campaign(catalogue.load(STORES, name, "STORE"), name, given.kills, given.seed, counts, *found)
        except ViolationError as violation:
            status = 1
            counts["violations"] = 1
            print(json.dumps({"store": name, "violation": str(violation), "seed": given.seed}))
        del counts["effects of this store"]
        print(json.dumps({"store": name, **dict(sorted(counts.items()))}), flush=True)
    return status


def _campaign(
    kind: type[Store], name: str, kills: int, seed: int, counts: Counter[str], disk: str, elsewhere: str
) -> None:
    chance = random.Random(f"{name} {seed}")
    # Each condition comes before any comes again, and every third round has none: then most is written.
    rounds = itertools.cycle(
        each
        for first in range(0, len(kind.conditions), 2)
        for each in ("plain", *kind.conditions[first : first + 2])
    )
    for generation in itertools.count():
        home, notes = Path(disk, f"{name}-{generation}"), Notes(Path(elsewhere, f"{name}-{generation}"))
        home.mkdir()
        counts["effects of this store"] = 0
        store = kind(home, notes)
        store.prepare()
        for _ in range(ROUNDS_PER_STORE):
            if counts["kills"] >= kills:
                break
            _round(store, next(rounds), disk, chance, counts)
            require(not notes.all("crashed"), "a writer failed without saying so", notes.all("crashed"))
            store.judge(counts)
            counts["judgements"] += 1
        store.finish()
        counts["acknowledged"] += len(notes.all("acknowledged"))
        for code, *_ in notes.all("refused"):
            counts["refused"] += 1
            counts[f"refused {code}"] += 1
        shutil.rmtree(home)
        if counts["kills"] >= kills:
            return


def _round(store: Store, how: str, disk: str, chance: random.Random, counts: Counter[str]) -> None:
    counts[f"rounds {how}"] += 1
    with contextlib.ExitStack() as stack:
        # A disk fills up, and a lock is taken, while they work or before; it can become read-only only before.
        comes_late = how in ("full", "locked") and chance.random() < 0.6
        if not comes_late:
            stack.enter_context(condition(how, disk, store.locks()))
        writers = [_start(store, how, number, chance.randrange(1 << 30)) for number in range(store.writers)]
        if comes_late:
            time.sleep(chance.uniform(0, store.span))
            stack.enter_context(condition(how, disk, store.locks()))
        if how == "plain" and (counts["rounds plain"] == 1 or chance.random() < 0.5):
            _await_progress(store)
        try:
            while writers:
                time.sleep(chance.uniform(0, store.span))  # the random point at which it is killed
                _kill(writers.pop(0), chance.choice(SIGNALS), counts)
        finally:
            for pid in writers:  # of a round that ends with a violation
                os.killpg(pid, signal.SIGKILL)


def _await_progress(store: Store) -> None:
    """On a busy machine a random time may be over before anything has begun."""
    before, ends = store.progress(), time.monotonic() + 5
    while store.progress() == before and time.monotonic() < ends:
        time.sleep(0.02)


def _start(store: Store, how: str, number: int, seed: int) -> int:
    pid = os.fork()
    if pid == 0:
        _write(store, how, number, seed)
    with contextlib.suppress(OSError):  # the writer was faster
        os.setpgid(pid, pid)
    return pid


def _kill(pid: int, how: signal.Signals, counts: Counter[str]) -> None:
    """The writer, then what it left: a group of its own holds what it started and did not enclose elsewhere."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, how)
    counts["kills"] += 1
    counts[f"kills {how.name}"] += 1
    deadline = time.monotonic() + 20
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise ViolationError(f"a writer did not end after {how.name}")
        time.sleep(0.005)


def _write(store: Store, how: str, number: int, seed: int) -> None:
    """Never returns."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # below nohup it is ignored
    spoil(how, seed)
    chance = random.Random(seed)
    try:
        for count in itertools.count():
            try:
                store.step(chance, f"{os.getpid()}-{seed}-{count}", number)
            except Fail as problem:
                word = problem.flow_code if isinstance(problem, FlowError) else problem.code
                store.notes.add("refused", word, str(problem)[:200])
                time.sleep(0.002)
    except Exception:  # noqa: BLE001 - whatever is not a refusal by name
        store.notes.add("crashed", how, traceback.format_exc()[-3000:])
    finally:
        os._exit(9)


if __name__ == "__main__":
    sys.exit(main())
