"""A person at a real terminal: `operable` in tmux, what is typed, and the screen as text. Every wait has a limit."""

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cli.drive import PROGRAM, SURROUNDINGS
from tests.tool.drive import LIMIT

ROWS = 50


class Tmux:
    """One terminal with one program on it."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def start(self, words: tuple[str, ...], columns: int, env: Mapping[str, str], cwd: Path) -> None:
        term = f"TERM={env['TERM']} " if env["TERM"] == "dumb" else ""  # tmux gives its programs its own
        # Something is above it, as in life: tmux keeps what is erased from the top on as past.
        line = f"echo start; {term}{shlex.join([PROGRAM, *words])}; echo exit status $?; exec sleep 600"
        self.call(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            str(columns),
            "-y",
            str(ROWS),
            line,
            env=env,
            cwd=cwd,
        )

    def call(self, *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            env=None if env is None else dict(env),
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return done.stdout

    def screen(self, *, past: bool = False) -> str:
        """What is on the screen; `past`: and what was."""
        return self.call("capture-pane", "-p", *(["-S", "-2000"] if past else []))

    def wait(self, text: str, times: int = 1) -> str:
        """The screen, with what was on it, once this is there so many times."""
        deadline = time.monotonic() + LIMIT
        while (shown := self.screen(past=True)).count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{shown}"
            time.sleep(0.02)
        return shown

    def idle(self) -> str:
        """The screen once no turn runs, its files were looked at, and the line to type in is drawn."""
        deadline = time.monotonic() + LIMIT
        while not self._is_idle():
            assert time.monotonic() < deadline, f"the turn did not end:\n{self.screen()}"
            time.sleep(0.02)
        return self.screen(past=True)

    def _is_idle(self) -> bool:
        lines = [line for line in self.screen().split("\n") if line.strip()]
        return len(lines) > 1 and lines[-2].startswith(">") and " stop" not in lines[-1]

    def type(self, text: str, *, enter: bool = True) -> None:
        self.call("send-keys", "-l", "--", text)
        if enter:
            self.press("Enter")

    def paste(self, text: str) -> None:
        """As a terminal pastes: line ends do not send it."""
        self.call("set-buffer", "--", text)
        self.call("paste-buffer", "-p", "-d")

    def press(self, *keys: str) -> None:
        self.call("send-keys", *keys)


@contextmanager
def at_terminal(*words: str, folder: Path, columns: int = 100, **env: str) -> Iterator[Tmux]:
    """Start `operable WORDS` in this folder, with nothing of this user's surroundings."""
    place = tempfile.mkdtemp(prefix="tmux")  # the path of a socket has to be short
    terminal = Tmux(os.path.join(place, "socket"))
    surroundings = {
        "PATH": SURROUNDINGS["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SHELL": "/bin/sh",
        "TZ": "UTC",
        **env,
    }
    try:
        terminal.start(words, columns, surroundings, folder)
        yield terminal
    finally:
        terminal.call("kill-server")
        shutil.rmtree(place, ignore_errors=True)
