"""What each test costs: the seconds of processors that it and its processes used, and the seconds that it only waited.

Processor time says the same on a busy machine as on an idle one; the clock does not. `pytest --costs FILE` appends one line per
test, from every worker; `python -m tests.cost FILE` ranks the files and the tests of one or more such files. A process that
is still alive counts as far as it got, and what it used later belongs to the test that is running then: so a server that
tests share is counted where it works.

As root, where the kernel has control groups of version 1, each worker enters one that counts all that it ever starts. Without
it, what no longer has this process as an ancestor is not seen: of a lint, whose tools end in process namespaces of their own,
that is two thirds.
"""

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
# user, system, and both of the children that were waited for: fields 14 to 17 of /proc/PID/stat, counted behind the name.
TIMES = slice(11, 15)
GROUPS = Path("/sys/fs/cgroup/cpuacct")


class Cost(NamedTuple):
    """Of a test or of several."""

    processor: float
    waited: float


class Account:
    """The control group that counts what this process and all that it starts have used."""

    def __init__(self, group: Path) -> None:
        self._group = group
        self._usage = group / "cpuacct.usage"

    @classmethod
    def opened(cls, parent: Path = GROUPS) -> "Account | None":
        """Makes the group and enters it; None where that is not possible."""
        group = parent / f"operable-tests-{os.getpid()}"
        try:
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            return None
        return cls(group)

    def seconds(self) -> float:
        return int(self._usage.read_text()) / 1e9

    def close(self) -> None:
        """Leaves the group. It stays where a process of the tests is still in it."""
        (self._group.parent / "cgroup.procs").write_text(str(os.getpid()))
        with suppress(OSError):
            self._group.rmdir()


class CostLog:
    """The plugin: appends one line for each test that has run."""

    def __init__(self, path: Path, account: Account | None = None) -> None:
        self._path = path
        self._account = account

    def _used(self) -> float:
        return processor_seconds() if self._account is None else self._account.seconds()

    def pytest_unconfigure(self) -> None:
        if self._account is not None:
            self._account.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        processor, clock = self._used(), time.monotonic()
        result = yield
        used, elapsed = self._used() - processor, time.monotonic() - clock
        line = json.dumps([item.nodeid, round(max(used, 0.0), 3), round(elapsed, 3)]) + "\n"
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(line)
        return result


def processor_seconds() -> float:
    """What this process and all of its descendants have used so far."""
    return sum(_times(pid) for pid in _family(os.getpid())) / TICKS


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in _read(f"/proc/{pid}/task"):
        for child in _read(f"/proc/{pid}/task/{task}/children"):
            yield from _family(int(child))


def _read(path: str) -> list[str]:
    """The entries of a folder or the words of a file of /proc; empty where the process is gone."""
    try:
        return os.listdir(path) if os.path.isdir(path) else Path(path).read_text("utf-8").split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _times(pid: int) -> int:
    behind_name = " ".join(_read(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, behind_name[TIMES]))


def costs(lines: Iterable[str]) -> dict[str, Cost]:
    """Of each test."""
    found: dict[str, Cost] = {}
    for name, processor, elapsed in map(json.loads, lines):
        found[name] = Cost(processor, max(elapsed - processor, 0.0))
    return found


def by_file(tests: dict[str, Cost]) -> dict[str, Cost]:
    found: dict[str, Cost] = defaultdict(lambda: Cost(0.0, 0.0))
    for name, cost in tests.items():
        file = name.partition("::")[0]
        found[file] = Cost(found[file].processor + cost.processor, found[file].waited + cost.waited)
    return found


def table(found: dict[str, Cost], count: int = 40) -> str:
    """The most expensive first, then those that only wait longest."""
    ranked = sorted(found.items(), key=lambda entry: entry[1], reverse=True)[:count]
    return "\n".join(f"{cost.processor:8.1f} {cost.waited:8.1f}  {name[:150]}" for name, cost in ranked)


def main(paths: Iterable[str]) -> None:
    tests = costs(line for path in paths for line in Path(path).read_text("utf-8").splitlines())
    print(f"{sum(cost.processor for cost in tests.values()):.0f} s of processors, {len(tests)} tests")
    print("    used   waited")
    print(table(by_file(tests)))
    print()
    print(table(tests))


if __name__ == "__main__":
    main(sys.argv[1:])
