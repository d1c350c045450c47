"""In which order tests run when several workers share them: the longest first.

Each worker begins with a part of the list, and whoever is done takes from the end of another's part (`--dist worksteal`). A
test of minutes that begins when the rest is done would be waited for by everybody, so those that ask for much time stand
where parts begin. Half of the workers get them: what starts hundreds of processes is not to meet only its like.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

Test = TypeVar("Test")
# Whoever asks for so many seconds takes long, also where nothing else runs.
LONG = 601.0


def dealt(tests: Sequence[Test], workers: int, limit: Callable[[Test], float]) -> list[Test]:
    """The tests in their new order; `limit` tells how many seconds one asks for."""
    long = sorted((test for test in tests if limit(test) >= LONG), key=limit, reverse=True)
    short = [test for test in tests if limit(test) < LONG]
    half = (workers + 1) // 2
    hands = [long[number::half] for number in range(half)]
    sizes = _parts(len(tests), workers)
    if workers < 2 or any(len(hand) > size for hand, size in zip(hands, sizes, strict=False)):
        return list(tests)
    found: list[Test] = []
    for size, hand in zip(sizes, [*hands, *([[]] * workers)], strict=False):
        rest = size - len(hand)
        found += [*hand, *short[:rest]]
        short = short[rest:]
    return found


def _parts(count: int, workers: int) -> list[int]:
    """How many tests each worker begins with."""
    sizes = []
    for left in range(workers, 0, -1):
        sizes.append(count // left)
        count -= count // left
    return sizes
