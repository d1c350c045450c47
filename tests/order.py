"""In which order tests run when several workers share them: the longest first, those of an instant last.

Each worker begins with a part of the list, and whoever is done takes from the end of another's part (`--dist worksteal`). A
test of minutes that begins when the rest is done would be waited for by everybody, so those that ask for much time stand
where parts begin. Half of the workers get them: what starts hundreds of processes is not to meet only its like. Then come
those that start processes. The thousands that only compute stand where parts end: whatever is taken there, all workers end
in the same moment.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

Test = TypeVar("Test")
# Whoever asks for so many seconds takes long, also where nothing else runs.
LONG = 601.0


def dealt(
    tests: Sequence[Test],
    workers: int,
    limit: Callable[[Test], float],
    is_heavy: Callable[[Test], bool] = lambda _: False,
) -> list[Test]:
    """The tests in their new order; `limit` tells how many seconds one asks for, `is_heavy` whether it starts processes."""
    if workers < 2:
        return list(tests)
    long = sorted((test for test in tests if limit(test) >= LONG), key=limit, reverse=True)
    heavy = [test for test in tests if limit(test) < LONG and is_heavy(test)]
    light = [test for test in tests if limit(test) < LONG and not is_heavy(test)]
    half = (workers + 1) // 2
    parts = [long[number::half] if number < half else [] for number in range(workers)]
    sizes = _sizes(len(tests), workers)
    if any(len(part) > size for part, size in zip(parts, sizes, strict=True)):
        return list(tests)
    for rest in (heavy, light):
        _divide(rest, parts, sizes)
    return [test for part in parts for test in part]


def _divide(tests: list[Test], parts: list[list[Test]], sizes: list[int]) -> None:
    """Append neighbours to each part, about as many to all, as far as there is room."""
    rooms = [size - len(part) for part, size in zip(parts, sizes, strict=True)]
    for number, part in enumerate(parts):
        share = -(-len(tests) // (len(parts) - number))
        count = min(max(share, len(tests) - sum(rooms[number + 1 :])), rooms[number])
        part.extend(tests[:count])
        tests = tests[count:]


def _sizes(count: int, workers: int) -> list[int]:
    """How many tests each worker begins with."""
    sizes = []
    for left in range(workers, 0, -1):
        sizes.append(count // left)
        count -= count // left
    return sizes
