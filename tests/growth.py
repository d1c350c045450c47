"""How much work something is, without a clock: the number of calls that Python makes for it."""

import sys
from collections.abc import Callable
from typing import Any


def calls(work: Callable[[], object]) -> int:
    """The number of functions that this calls, of Python and of C, in this thread. Each step of a generator is one."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def grows_at_most_linearly(work: Callable[[int], Callable[[], object]], size: int) -> bool:
    """Whether twice the input is at most twice the work, with a tenth to spare. `work(size)` makes the input."""
    once, twice = calls(work(size)), calls(work(2 * size))
    return twice <= 2.2 * once
