"""Power cuts: a log on an ext4 of its own, of whose disk a copy is taken while writers write, and mounted again.

    python -m tests.state.power_cut FOLDER --cuts 30 --seed 1

The copy has what the file system had given to its disk at that moment, and nothing of what was only in memory: its journal
is replayed when it is mounted. The log of the copy is then checked, and continued, as after another start of the kernel: it
verifies, it has everything that was acknowledged before the copy began, and what was open is lost. Prints counts as JSON;
exit status 1 and the reason for the first violation. It needs a mount namespace of its own, and loop devices.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager

from operable.state import sealed_attribute
from operable.state.sealed_log import RecordDraft, SealedLog
from operable.state.sealed_verdict import check
from tests.campaign.store import ViolationError
from tests.state.formats import FORMATS, record

FORM = "agents"
_SIZE = 24 * 1024 * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--cuts", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    counts: Counter[str] = Counter()
    disk, copy = (os.path.join(given.folder, name) for name in ("disk", "copy"))
    make_disk(disk)
    try:
        with mounted(disk) as place:
            for _ in range(given.cuts):
                _cut(place, disk, copy, chance, counts)
    except ViolationError as violation:
        print(json.dumps({"violation": str(violation), "seed": given.seed, **counts}))
        return 1
    print(json.dumps(dict(sorted(counts.items()))))
    return 0


def make_disk(path):
    with open(path, "wb") as file:
        file.truncate(_SIZE)
    subprocess.run(["mkfs.ext4", "-q", "-F", path], check=True)


@contextmanager
def mounted(image):
    place = f"{image}.mounted"
    os.makedirs(place, exist_ok=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def _cut(place, disk, copy, chance, counts):
    log, notes = os.path.join(place, "log"), f"{copy}.acknowledged"
    pid = os.fork()
    if pid == 0:
        try:
            _write(log, notes, chance.randrange(1 << 30))
        finally:
            os._exit(9)
    try:
        time.sleep(chance.uniform(0.02, 0.3))
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
        acknowledged = _lines(notes)
        shutil.copyfile(disk, copy)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    counts["cuts"] += 1
    with mounted(copy) as after:
        _judge(os.path.join(after, "log"), acknowledged, counts)
    if not (verdict := check(log, FORMATS[FORM]())).ok:
        raise ViolationError(f"false alarm after a kill: {verdict.problems[:3]}")


def _write(log, notes, seed):
    chance = random.Random(seed)
    written = SealedLog(log, FORMATS[FORM](), rotate_at=60_000)
    fd = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number in range(1_000_000):
        name = f"{seed}-{number}"
        size = 30_000 if chance.random() < 0.1 else 0
        opened = written.begin({**record(name), "input": "x" * size})
        os.write(fd, f"{name}\n".encode())
        drafts = [RecordDraft(record(f"{name}.{index}")) for index in range(chance.randrange(3))]
        written.write([*drafts, RecordDraft(record(f"{name}.end"), closes=opened)])
        os.write(fd, f"{name}.end\n".encode())


def _judge(log, acknowledged, counts):
    sealed_attribute.boot_id = lambda: b"the next start"
    try:
        head = _head(log)
        verdict = check(log, FORMATS[FORM]())
        if not verdict.ok:
            raise ViolationError(f"false alarm after a power cut: {verdict.problems[:3]}")
        last = -1 if verdict.head is None else verdict.head.seq
        counts["behind" if head < last else "at the end"] += 1
        counts["farthest"] = max(counts["farthest"], last - head)
        there = _records(log)
        missing = [name for name in acknowledged if f"e{name}" not in there]
        if missing:
            raise ViolationError(f"acknowledged and gone: {missing[:3]}")
        SealedLog(log, FORMATS[FORM]()).append(record("afterwards"))
        if not (verdict := check(log, FORMATS[FORM]())).ok:
            raise ViolationError(f"false alarm after the next write: {verdict.problems[:3]}")
        counts["lost"] += verdict.lost
    finally:
        sealed_attribute.boot_id = _BOOT_ID


_BOOT_ID = sealed_attribute.boot_id


def _head(log):
    try:
        with open(f"{log}.head", encoding="ascii") as file:
            return int(file.read().split(" ")[0])
    except FileNotFoundError:
        return -1
    except ValueError as error:
        raise ViolationError(f"the head is not whole: {error}") from error


def _records(log):
    folder = os.path.dirname(log)
    found = set()
    for name in os.listdir(folder):
        if name == "log" or name.startswith("log.0"):
            for line in _lines(os.path.join(folder, name)):
                found.add(_name(line))
    return found


def _name(line):
    found = json.loads(line)
    return found.get("execution_id") if isinstance(found, dict) else None


def _lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [line[:-1] for line in file if line.endswith("\n")]


if __name__ == "__main__":
    sys.exit(main())
