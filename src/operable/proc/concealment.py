"""What a process with secrets hides of itself: its memory, and the words and variables that it was started with.

`hide_memory` makes the process undumpable (PR_SET_DUMPABLE): processes of the same user can no longer read its memory, its
environment or its descriptors, and it leaves no core file. Root still can. `scrub` therefore overwrites values in place, in
the block that the kernel shows as /proc/PID/environ and /proc/PID/cmdline; it writes to its own memory through
/proc/self/mem, without a new process. Between the start of the process and this call the values are there to be seen.

Best effort, as every answer says: without /proc, or on another system, nothing is hidden and False is returned.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SET_DUMPABLE = 4
# Of /proc/self/stat, behind the name of the program: arg_start, arg_end, env_start, env_end (proc(5), fields 48 to 51).
_BLOCKS = slice(45, 49)
_LARGEST = 16 * 1024 * 1024  # of words and variables: the kernel allows 6 MiB


def hide_memory() -> bool:
    """Other processes of the user cannot look into this one from now on; whether that was done."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError, TypeError):
        return False


def scrub(values: "Iterable[str]") -> bool:
    """Overwrite these values among the words and variables that the process was started with."""
    sought = [os.fsencode(value) for value in values if value]
    if not sought:
        return True
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        arguments, arguments_end, variables, variables_end = map(int, fields[_BLOCKS])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            for start, end in ((arguments, arguments_end), (variables, variables_end)):
                _overwrite(memory, start, end, sought)
    except (OSError, ValueError):
        return False
    return True


def _overwrite(memory: "io.FileIO", start: int, end: int, sought: list[bytes]) -> None:
    if not 0 < end - start <= _LARGEST:
        return
    memory.seek(start)
    block = memory.read(end - start)
    for value in sought:
        at = block.find(value)
        while at >= 0:
            memory.seek(start + at)
            memory.write(b"x" * len(value))
            at = block.find(value, at + len(value))


if TYPE_CHECKING:
    import io
