"""Runs `operable` as whoever uses it does: as a process, with the project's commands on PATH. Every wait has a limit."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli import forks
from tests.tool.drive import LIMIT, Outcome, Running

BIN = Path(sys.executable).parent
PROGRAM = str(BIN / "operable")
SURROUNDINGS = {"PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}", "COLUMNS": "200"}


def command_line(verb: str, *words: str, output: str | None = "jsonl") -> list[str]:
    return [PROGRAM, verb, *(["--output", output] if output else []), *map(str, words)]


def operable(
    verb: str,
    *words: str,
    input: bytes | None = None,
    env: Mapping[str, str] | None = None,
    output: str | None = "jsonl",
    cwd: Path | None = None,
) -> Outcome:
    """Run a command to its end, in a fork (`forks`); `env` is added to the environment of the tests. Without `input`, stdin is empty."""
    done = forks.run(
        command_line(verb, *words, output=output),
        input=b"" if input is None else input,
        env=os.environ | SURROUNDINGS | dict(env or {}),
        cwd=None if cwd is None else str(cwd),
        timeout=LIMIT,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@contextmanager
def running(verb: str, *words: str, output: str | None = "jsonl", **options: Any) -> Iterator[Running]:
    """Start a command; it is killed at the end of the block if it still lives."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    env = os.environ | SURROUNDINGS | options.pop("env", {})
    process: Any = subprocess.Popen(command_line(verb, *words, output=output), env=env, bufsize=0, **options)
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(LIMIT)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


class Notes:
    """A store of `outline` with a few notes."""

    def __init__(self, folder: Path) -> None:
        self.env = {"OUTLINE_HOME": str(folder / "notes")}
        notes = [{"title": f"Agent-operable tools {number}", "body": f"café {number}"} for number in range(5)]
        done = self(
            "import", "--input-jsonl", "-", input="".join(json.dumps(note) + "\n" for note in notes).encode()
        )
        assert done.exit_code == 0, done

    def __call__(self, *words: str, input: bytes = b"") -> Outcome:
        """Call it directly."""
        done = subprocess.run(
            [str(BIN / "outline"), *words, "--output", "jsonl"],
            input=input,
            env=os.environ | SURROUNDINGS | self.env,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)


def processes_with(word: str) -> list[int]:
    """The processes that have this word on their command line, by the ids that this process knows them by.

    For a program in a pid namespace of its own: what it calls itself is the id of another process here.
    """
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if word.encode() in words:
            pids.append(int(path.parent.name))
    return pids


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
