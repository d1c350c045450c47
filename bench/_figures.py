"""What every benchmark does alike: take turns, compare within a round, print each figure beside its target."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple, TypeVar

Figure = TypeVar("Figure")


class Row(NamedTuple):
    """One line of a table: a ratio, and the target it must not exceed if there is one."""

    what: str
    ratio: float
    target: float | None = None
    note: str = ""


def print_rows(rows: Iterable[Row]) -> int:
    """Print the table; 1 when a target is missed."""
    rows = list(rows)
    width = max(len(row.what) for row in rows)
    print(f"{'':{width}}  measured    target")
    for row in rows:
        target = "-" if row.target is None else f"<= {row.target:g} x"
        print(f"{row.what:{width}}  {row.ratio:6.2f} x  {target:>8}  {row.note}".rstrip())
    return int(any(row.target is not None and row.ratio > row.target for row in rows))


def take_turns(contestants: dict[str, Callable[[], Figure]], rounds: int) -> dict[str, list[Figure]]:
    """What each contestant measured, round by round."""
    figures: dict[str, list[Figure]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            figures[name].append(run())
    return figures


def ratio(figures: dict[str, list[float]], name: str, reference: str) -> float:
    """The median over the rounds of the ratio within one round: a busy machine disturbs both alike."""
    return median(a / b for a, b in zip(figures[name], figures[reference], strict=True))


def wall(argv: Sequence[str], env: dict[str, str] | None = None) -> Callable[[], float]:
    """Seconds until a process has ended; it must succeed."""

    def run() -> float:
        before = time.perf_counter()
        subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return time.perf_counter() - before

    return run


def cpu(argv: Sequence[str], env: dict[str, str] | None = None) -> Callable[[], float]:
    """CPU seconds, user and system, of a process that writes to a pipe which we drain."""

    def run() -> float:
        process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE)
        assert process.stdout is not None
        while os.read(process.stdout.fileno(), 1 << 20):
            pass
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, argv)
        return usage.ru_utime + usage.ru_stime

    return run
