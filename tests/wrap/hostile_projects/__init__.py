"""Hostile projects, one module a wrapper: a project full of what its program would run, and the calls that must not run it.

A module has `CALLS`, the words of every command that changes nothing and of every dry run; `lay`, which puts the project
together; optionally `RAW`, command lines of the bare program that do spring a trap, so that a trap that is none is noticed.
"""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

TRAP = """\
import os, signal, socket
for place in {places!r}:
    try:
        open(place, "a").write("sprung\\n")
    except OSError:
        pass
try:
    with socket.create_connection(("127.0.0.1", {port}), 2) as line:
        line.sendall(b"sprung\\n")
except OSError:
    pass
try:
    os.kill({victim}, signal.SIGTERM)
except OSError:
    pass
"""


@dataclass
class Scene:
    """Where a hostile project lies, and what its traps reach for."""

    project: Path
    outside: Path
    port: int
    victim: int
    env: dict[str, str] = field(default_factory=dict)

    @property
    def canaries(self) -> list[Path]:
        return [self.project / "CANARY", self.outside / "CANARY"]

    @property
    def code(self) -> str:
        """The trap as Python: it writes inside and outside, connects, and signals."""
        return TRAP.format(places=[str(path) for path in self.canaries], port=self.port, victim=self.victim)

    def script(self, name: str = "trap", then: str = "") -> str:
        """The trap as a program of the project; gives its path."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{os.path.realpath(sys.executable)}\n{self.code}{then}\n")
        path.chmod(0o755)
        return str(path)

    def write(self, name: str, text: str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
