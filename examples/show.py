"""Runs commands in a throw-away folder and shows a person what they print. What `demo.py` and `tour.py` share.

Every command line that is shown is the one that is run, by /bin/sh, and what it prints is what is shown, shortened to the
width of the terminal. A step that does not behave as described ends the demonstration with status 1.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

# A step takes a tenth of a second; one that takes this long hangs.
STEP_TIMEOUT = 60
# As much of an answer as fits beside its explanation.
MOST_LINES = 9
LONGEST_VALUE = 44
# Fields of long events that say the same each time; `…` stands for them.
ALWAYS = ("tool_version", "aoi_version", "schema_name", "schema_version", "trace_id", "elapsed_ms")
NOTHING = (None, 0, False, "")


class Answer(NamedTuple):
    """What a command printed on stdout, and the last of its lines as JSON where that is what it is."""

    text: str
    last: dict[str, Any]


class Show:
    """Runs commands in the throw-away directory and shows them to a person. Commands of this Python are on their PATH."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        tools = os.path.dirname(os.path.abspath(sys.executable))
        self.environment = {
            "PATH": os.pathsep.join([tools, os.environ.get("PATH", os.defpath)]),
            "HOME": directory,
            "OUTLINE_HOME": os.path.join(directory, "notes"),
            "OPERABLE_HOME": os.path.join(directory, "state"),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
        }
        terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = terminal and not os.environ.get("NO_COLOR")
        self._width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        self._number = 0

    def chapter(self, title: str, why: str) -> None:
        self._number += 1
        print(f"\n{self._styled(f'{self._number}. {title}', '1')}")
        self._say(why)

    def line(self, mark: str, text: str, style: str = "0") -> None:
        """One thing that happened, at once."""
        for part in shortened(f"{mark} {text}", self._width - 3):
            print(f"   {self._styled(part, style)}", flush=True)

    def why(self, sentence: str) -> None:
        print()
        self._say(sentence)

    def run(self, line: str, *, status: int = 0, shows: str = "") -> Answer:
        """Run one line of shell, show what it prints, and stop unless it ends with `status` and shows this text."""
        print(f"\n   {self._styled(f'$ {line}', '36')}")
        try:
            ended = subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=STEP_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.stop(f"this did not end within {STEP_TIMEOUT} s")
        self._print(ended.stdout + ended.stderr)
        if ended.returncode:
            print(self._styled(f"   (exit status {ended.returncode})", "2"))
        if ended.returncode != status:
            self.stop(f"this ended with {ended.returncode}, not with {status}")
        if shows not in ended.stdout + ended.stderr:
            self.stop(f"this should have shown {shows!r}")
        lines = ended.stdout.splitlines()
        last = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
        return Answer(ended.stdout, last)

    def write(self, name: str, text: str) -> None:
        Path(self.directory, name).write_text(text, "utf-8")

    def stop(self, reason: str) -> NoReturn:
        print(f"\n   This is not what should happen: {reason}.", flush=True)
        sys.exit(1)

    def _say(self, sentence: str) -> None:
        for line in textwrap.wrap(sentence, self._width - 3):
            print(f"   {line}")

    def _print(self, text: str) -> None:
        lines = text.splitlines()
        shown = lines if len(lines) <= MOST_LINES + 1 else lines[:MOST_LINES]
        for line in shown:
            for part in shortened(line, self._width - 3):
                print(f"   {part}")
        if len(lines) > len(shown):
            print(self._styled(f"   … and {len(lines) - len(shown)} lines more", "2"))

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colour else text


def shortened(line: str, room: int) -> list[str]:
    """A line that fits: of an event the main fields, on two lines if need be; of anything else the beginning."""
    if len(line) > room and line.startswith('{"type":'):
        line = _telling(json.loads(line))
        end = line.rfind(",", 0, room) + 1
        if len(line) > room and end:
            return [line[:end], *shortened(f"  {line[end:]}", room)]
    return [line if len(line) <= room else f"{line[: room - 1]}…"]


def _telling(event: dict[str, Any]) -> str:
    parts: list[str] = []
    for name, value in event.items():
        if name in ALWAYS or (name not in ("ok", "count", "truncated") and value in NOTHING):
            if parts[-1] != "…":
                parts.append("…")
            continue
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) > LONGEST_VALUE:
            text = f"{text[:LONGEST_VALUE]}…" + ('"' if isinstance(value, str) else "")
        parts.append(f'"{name}":{text}')
    return "{" + ",".join(parts) + "}"
