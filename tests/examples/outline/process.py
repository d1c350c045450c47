"""Runs `outline` as whoever uses it does: as a process, on a store of its own, judged by the reader that hosts use."""

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path

from operable.wire.aoi import Reader

PROGRAM = str(Path(sys.executable).with_name("outline"))
PATIENCE = 30.0  # seconds until a test gives up on a process


class Result:
    """What one call said and how it ended."""

    def __init__(self, exit_code, stdout, stderr, *, unbounded=False):
        self.exit_code = exit_code
        self.stderr = stderr
        self.events = [json.loads(line) for line in stdout.splitlines()]
        reader = Reader(unbounded=unbounded)
        reader.feed(stdout)
        self.verdict = reader.eof(exit_code)
        assert self.verdict.outcome != "violation", self.verdict

    def of(self, *types):
        return [event for event in self.events if event["type"] in types]

    @property
    def domain(self):
        return [event for event in self.events if not event["type"].startswith("aoi:")]

    @property
    def meta(self):
        return self.events[0]

    @property
    def summary(self):
        return self.events[-1]

    @property
    def error(self):
        (error,) = self.of("aoi:error")
        return error


class Outline:
    """`outline(...)` runs a command in machine mode on the store in `home`."""

    def __init__(self, home):
        self.home = home
        self.environment = {
            "OUTLINE_HOME": str(home / "notes"),
            "OPERABLE_HOME": str(home / "operable"),
            "HOME": str(home),
        }

    @property
    def directory(self):
        return self.home / "notes"

    @property
    def database(self):
        return self.directory / "outline.sqlite"

    def command(self, *args):
        return [PROGRAM, "--output", "jsonl", *map(str, args)]

    def __call__(self, *args, input="", env=None):
        data = input if isinstance(input, bytes) else input.encode()
        done = subprocess.run(
            self.command(*args), input=data, capture_output=True, env={**self.environment, **(env or {})}, timeout=PATIENCE, check=False
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr.decode())

    def ok(self, *args, **options):
        result = self(*args, **options)
        assert result.verdict.ok, (result.events[-2:], result.stderr)
        assert result.exit_code == 0
        return result

    def start(self, *args, **options):
        return Running(
            subprocess.Popen(
                self.command(*args),
                stdin=options.pop("stdin", subprocess.DEVNULL),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment,
                **options,
            )
        )

    def fill(self, *notes):
        """Import these notes and return their ids."""
        return [event["id"] for event in self.ok("import", "--input-jsonl", "-", input=jsonl(notes)).domain]

    def note(self, note_id):
        (note,) = self.ok("get", note_id).domain
        return note


class Running:
    """A process that has not ended yet; every wait is bounded."""

    def __init__(self, process):
        self.process = process
        self._seen = b""

    def next_event(self):
        """The next line of the stream."""
        deadline = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._seen:
                assert selector.select(max(deadline - time.monotonic(), 0)), "no event in time"
                chunk = os.read(self.process.stdout.fileno(), 65536)
                assert chunk, "the stream ended"
                self._seen += chunk
        line, _, self._seen = self._seen.partition(b"\n")
        return json.loads(line)

    def stop(self, signal_number):
        self.process.send_signal(signal_number)
        return self.finish()

    def finish(self):
        stdout, stderr = self.process.communicate(timeout=PATIENCE)
        return (
            self.process.returncode,
            [json.loads(line) for line in (self._seen + stdout).splitlines()],
            stderr,
        )


def jsonl(notes):
    return "".join(json.dumps(note) + "\n" for note in notes)
