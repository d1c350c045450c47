"""One operation that has a size: how its input is made, which command works on it, and how its cost may grow."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
OPERABLE = str(BIN / "operable")


@dataclass(frozen=True, slots=True)
class Run:
    """One command line. The input of a size stands in `folder`; `OPERABLE_HOME` is `folder/home`."""

    argv: Sequence[str]
    folder: Path
    stdin: Path | None = None
    fine: tuple[int, ...] = (0,)
    before: Callable[[], object] | None = None  # puts back what a run has changed
    stop_after: float | None = None  # seconds; a command that follows something has no end of its own
    cwd: Path | None = None  # else the folder

    @property
    def environment(self) -> dict[str, str]:
        path = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        home = str(self.folder / "home")
        return {"PATH": path, "HOME": home, "OPERABLE_HOME": home, "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class Operation:
    """`make(folder, size)` makes the input; size 0 is the start-up. What is `flat` may not grow with the size."""

    name: str
    sizes: tuple[int, int, int]
    make: Callable[[Path, int], Run]
    flat_cpu: bool = False
    flat_memory: bool = False
    rounds: int = 3


def operable(folder: Path, *words: str, fine: tuple[int, ...] = (0,), **more: object) -> Run:
    """A run of the `operable` command in the folder of its input, with the machine stream."""
    at = (
        words.index("--") if "--" in words else len(words)
    )  # what follows it are the words of another program
    return Run([OPERABLE, *words[:at], "--output", "jsonl", *words[at:]], folder, fine=fine, **more)  # type: ignore[arg-type]


def script(folder: Path, code: str, *words: str) -> Run:
    """A run of a few lines of Python: for what no command asks for by itself."""
    return Run([sys.executable, "-c", code, *words], folder)
