"""A campaign against a sealed log: writers that are killed at random points, on a disk that is full, read-only or locked.

    python -m tests.state.campaign --kills 1000 --seed 1

It makes a mount namespace with a small disk of its own. In each round several writers share a log; each makes an effect (a
line in a file elsewhere) only after the record of its start was acknowledged. They are killed after a random time, and the
log is then checked: it verifies, it has everything that was acknowledged, and no effect is without a record. Prints counts
as JSON; exit status 1 and the reason for the first violation.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from operable.state.sealed_end import DamagedError
from operable.state.sealed_log import RecordDraft, SealedLog
from operable.state.sealed_verdict import check
from tests.campaign.disk import condition, enter, places
from tests.campaign.store import ViolationError
from tests.state.formats import FORMATS, record

CONDITIONS = ("plain", "plain", "plain", "clock", "full", "read-only", "locked")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGTERM)
WRITERS = 3
ROUNDS_PER_LOG = 20  # then a new log: crash after crash on one log, and checks that stay short


class Writer:
    """One process that writes until it is killed."""

    def __init__(self, folder, elsewhere, form, seed, clock):
        self._random = random.Random(seed)
        self._log = SealedLog(
            os.path.join(folder, "log"), FORMATS[form](), rotate_at=60_000, wait=0.02, clock=clock
        )
        self._prefix = f"{os.getpid()}-{seed}"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._files = {name: os.open(os.path.join(elsewhere, name), flags) for name in NOTES}

    def run(self):
        for number in itertools.count():
            name = f"{self._prefix}-{number}"
            try:
                self._step(name)
            except OSError:
                self._note("refused", name)
            except DamagedError as error:
                self._note("alarms", f"{name} {error}")

    def _step(self, name):
        if self._random.random() < 0.3:
            batch = [f"{name}.{index}" for index in range(self._random.randint(1, 5))]
            self._log.write([RecordDraft(self._record(each)) for each in batch])
            for each in batch:
                self._note("acknowledged", each)
            return
        opened = self._log.begin(self._record(name))
        self._note("acknowledged", name)
        self._note("effects", name)
        self._log.close(opened, record(f"{name}.end"))
        self._note("acknowledged", f"{name}.end")

    def _record(self, name):
        """Now and then a large one: a kill tears it."""
        size = self._random.choice((0, 0, 0, 0, 0, 0, 0, 40_000))
        return {**record(name), "input": "x" * size}

    def _note(self, file, text):
        os.write(self._files[file], f"{text}\n".encode())


NOTES = ("acknowledged", "effects", "refused", "alarms")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    found = places()
    if found is None:
        return enter("tests.state.campaign")
    counts: Counter[str] = Counter()
    try:
        _campaign(given.kills, random.Random(given.seed), counts, *found)
    except ViolationError as violation:
        print(json.dumps({"violation": str(violation), "seed": given.seed, **counts}))
        return 1
    print(json.dumps(dict(sorted(counts.items()))))
    return 0


def _campaign(kills, chance, counts, disk, elsewhere):
    for generation in itertools.count():
        form = sorted(FORMATS)[generation % len(FORMATS)]
        folder, notes = os.path.join(disk, f"log-{generation}"), os.path.join(elsewhere, str(generation))
        os.mkdir(folder)
        os.mkdir(notes)
        log = os.path.join(folder, "log")
        for _ in range(ROUNDS_PER_LOG):
            if counts["kills"] >= kills:
                break
            name = chance.choice(CONDITIONS)
            counts[f"rounds {name}"] += 1
            with condition(name, disk, [f"{log}.lock"]):
                _round(folder, notes, form, name, chance, counts)
            _judge(log, notes, form, counts)
        _settle(log, form, counts)
        for path in Path(folder).iterdir():
            path.unlink()
        if counts["kills"] >= kills:
            return


def _round(folder, notes, form, how, chance, counts):
    writers = []
    for _ in range(WRITERS):
        seed = chance.randrange(1 << 30)
        pid = os.fork()
        if pid == 0:
            clock = partial(random.Random(seed).uniform, 0, 4e9) if how == "clock" else time.time
            with contextlib.suppress(BaseException):
                Writer(folder, notes, form, seed, clock).run()
            os._exit(9)
        writers.append(pid)
    for pid in writers:
        time.sleep(chance.uniform(0.001, 0.03))
        os.kill(pid, chance.choice(SIGNALS))
        counts["kills"] += 1
    for pid in writers:
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            raise ViolationError(f"a writer ended by itself: {status}")


def _judge(log, notes, form, counts):
    verdict = check(log, FORMATS[form]())
    counts["checks"] += 1
    counts["torn lines"] += verdict.is_torn
    if not verdict.ok:
        raise ViolationError(f"false alarm: {verdict.problems[:3]}")
    noted = {name: _noted(notes, name) for name in NOTES}
    if noted["alarms"]:
        raise ViolationError(f"false alarm of an append: {noted['alarms'][:3]}")
    kept = _kept(log, form)
    missing = [name for name in noted["acknowledged"] if name not in kept]
    if missing:
        raise ViolationError(f"acknowledged and lost: {missing[:3]}")
    unrecorded = [name for name in noted["effects"] if name not in kept]
    if unrecorded:
        raise ViolationError(f"an effect without a record: {unrecorded[:3]}")


def _settle(log, form, counts):
    """The next process that writes closes what the dead ones began; nothing else stays open."""
    while SealedLog(log, FORMATS[form]()).settle():
        pass
    verdict = check(log, FORMATS[form]())
    if not verdict.ok or verdict.running:
        raise ViolationError(f"open after settling: {verdict.running}, {verdict.problems[:3]}")
    counts["records"] += verdict.records
    counts["lost"] += verdict.lost


def _noted(notes, name):
    path = os.path.join(notes, name)
    if not os.path.exists(path):
        return []
    return Path(path).read_text().splitlines()


def _kept(log, form):
    files = [*sorted(Path(os.path.dirname(log)).glob("log.0*")), Path(log)]
    read = FORMATS[form]().read
    kept = set()
    for file in files:
        if file.exists():
            for line in file.read_bytes().splitlines(keepends=True):
                if line.endswith(b"\n"):
                    kept.add(str(read(line).record.get("execution_id")).removeprefix("e"))
    return kept


if __name__ == "__main__":
    sys.exit(main())
