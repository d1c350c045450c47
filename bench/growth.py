"""How cost grows with the work: CPU and memory of every operation that has a size, at three sizes a factor of ten apart.

CPU is user and system time of the command and what it started, the best of a few runs; memory the peak of resident
memory of the largest process. The cost of size 0 is start-up and is subtracted. The exponent is that of the last factor
of ten: 1 is linear, 2 quadratic; none may exceed 1.2. What asks for a bounded part must be flat: its whole cost may grow
by a fifth (memory) or by 0.3 (CPU) from the smallest size to the largest, which differ by a factor of a hundred.

`GROWTH_ONLY=audit,record ./dev bench growth` measures only operations whose names have one of these words.
"""

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench._growth import flow, sessions, streams, tools, wrappers
from bench._growth.operation import Operation, Run

NEEDS = ("git", "grep")
STEEPEST = 1.2
FLAT_CPU, FLAT_MEMORY = 1.3, 1.2
# Below these the clock and the allocator decide, not the operation.
_CPU_FLOOR, _MEMORY_FLOOR = 0.02, 2.0
_OPERATIONS = [
    *flow.OPERATIONS,
    *streams.OPERATIONS,
    *sessions.OPERATIONS,
    *tools.OPERATIONS,
    *wrappers.OPERATIONS,
]
# Seconds of CPU; what is quadratic would take hours at the largest size, and has shown by then what it is.
_LIMIT = 60
_ENDED = (124, -signal.SIGKILL, -signal.SIGXCPU)  # by its own deadline, or by this limit
# A process of its own, because a child's peak of memory is never below that of its parent at the start.
_LAUNCH = """
import os, resource, sys
limit, stop_after, stdin, *argv = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
actions = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
# A shell in the background ignores SIGINT, and so would everything that it starts.
pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=actions, setsigdef=[2])
if float(stop_after):
    import signal, time
    time.sleep(float(stop_after))
    os.kill(pid, signal.SIGINT)
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


class Cost(NamedTuple):
    cpu: float  # seconds
    memory: float  # MiB


class Growth(NamedTuple):
    """The costs of one operation: of size 0, and of its three sizes."""

    operation: Operation
    start: Cost
    costs: list[Cost]

    @property
    def cpu_exponent(self) -> float:
        return _exponent([cost.cpu - self.start.cpu for cost in self.costs], _CPU_FLOOR)

    @property
    def memory_exponent(self) -> float:
        return _exponent([cost.memory - self.start.memory for cost in self.costs], _MEMORY_FLOOR)

    def misses(self) -> list[str]:
        """What is steeper than it may be."""
        first, last = self.costs[0], self.costs[-1]
        if math.isinf(last.cpu):
            return [f"more than {_LIMIT} s"]
        found = []
        if self.operation.flat_cpu and last.cpu > FLAT_CPU * first.cpu + _CPU_FLOOR:
            found.append("CPU is not flat")
        elif self.cpu_exponent > STEEPEST:
            found.append("CPU")
        if self.operation.flat_memory and last.memory > FLAT_MEMORY * first.memory + _MEMORY_FLOOR:
            found.append("memory is not flat")
        elif self.memory_exponent > STEEPEST:
            found.append("memory")
        return found


def main() -> int:
    words = [word for word in os.environ.get("GROWTH_ONLY", "").split(",") if word]
    chosen = [each for each in _OPERATIONS if not words or any(word in each.name for word in words)]
    width = max(len(each.name) for each in chosen)
    print(f"{'':{width}}  {'sizes':>22}  {'CPU ms':>26}  {'exp':>5}  {'MiB':>20}  {'exp':>5}")
    missed = 0
    for operation in chosen:
        growth = measure(operation)
        misses = growth.misses()
        missed += bool(misses)
        print(f"{operation.name:{width}}  {_line(growth)}  {'; '.join(misses)}".rstrip(), flush=True)
    print(f"\n{len(chosen)} operations, {missed} of them steeper than they may be")
    return int(missed > 0)


def measure(operation: Operation) -> Growth:
    start, *costs = (_cost(operation, size) for size in (0, *operation.sizes))
    # What the smallest size takes is an upper bound of the start, and one measurement more of it.
    return Growth(operation, Cost(*map(min, start, costs[0])), costs)


def _cost(operation: Operation, size: int) -> Cost:
    folder = Path(tempfile.mkdtemp(prefix="growth-"))
    try:
        (folder / "home").mkdir()
        run = operation.make(folder, size)
        if run.before is None:
            _once(run)  # what is asked for the first time is asked for again
        measured = [_once(run)]
        while len(measured) < operation.rounds and measured[0].cpu < _LIMIT / 10:
            measured.append(_once(run))
    finally:
        shutil.rmtree(folder)
    return Cost(min(cost.cpu for cost in measured), min(cost.memory for cost in measured))


def _once(run: Run) -> Cost:
    if run.before is not None:
        run.before()
    options = [str(_LIMIT), str(run.stop_after or 0), str(run.stdin or os.devnull)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCH, *options, *run.argv],
        cwd=run.cwd or run.folder,
        env=run.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(f"not started: {' '.join(run.argv)}\n{done.stderr[-2000:]}")
    code, cpu, memory = done.stdout.split()
    if int(code) not in (*run.fine, *_ENDED):
        raise SystemExit(f"status {code}: {' '.join(run.argv)}\n{done.stderr[-2000:]}")
    return Cost(math.inf if int(code) in _ENDED else float(cpu), float(memory) / 1024)


def _exponent(costs: list[float], floor: float) -> float:
    *_, before, last = (max(cost, floor) for cost in costs)
    return math.inf if math.isinf(last) else math.log10(last / before)


def _line(growth: Growth) -> str:
    sizes = " ".join(f"{size:7d}" for size in growth.operation.sizes)
    cpu = " ".join(f"{cost.cpu * 1000:8.0f}" for cost in growth.costs)
    memory = " ".join(f"{cost.memory:6.0f}" for cost in growth.costs)
    flat = growth.operation.flat_cpu, growth.operation.flat_memory
    marks = ["flat" if is_flat else "" for is_flat in flat]
    return f"{sizes}  {cpu}  {growth.cpu_exponent:5.2f}{marks[0]:>5}  {memory}  {growth.memory_exponent:5.2f}{marks[1]:>5}"


if __name__ == "__main__":
    sys.exit(main())
