"""Run a command of a manifest to its end: bounded in time and memory, stoppable from another thread, alone or on a terminal.

`CommandSurroundings` say in what: the folder, the variables, the program of the manifest (whose own name means the installed
file, whatever else is on PATH), the confinement that the caller wants, and the event that stops everything.
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from operable.host.launch.words import CommandLine, line
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.reactor import SelectorReactor
from operable.proc.run import CommandOutput, require_in_time, supervise
from operable.proc.sandbox.restriction import without_changes
from operable.proc.spawn import prepare
from operable.proc.terminal import Feed, Terminal, converse

# What a step may print as its value, a version check as its answer, a list of choices: a megabyte is generous.
LIMIT = 1024 * 1024
# How soon a stop from another thread is noticed.
_STOP_INTERVAL = 0.1


@dataclass(frozen=True, slots=True)
class CommandSurroundings:
    """In what the commands of one manifest run."""

    cwd: str
    bin: str = ""  # as the manifest calls its program
    binary: str | None = None  # the installed file
    env: Mapping[str, str] = field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    confine: Callable[[PreparedCommand], PreparedCommand] | None = None
    stop: threading.Event | None = None

    def command(self, text: str, values: Mapping[str, str] | None = None) -> PreparedCommand:
        """The command that a `cmd` of the manifest means."""
        return self.prepare(line(text, values))

    def prepare(self, what: CommandLine) -> PreparedCommand:
        argv = list(what.argv)
        env = {**self.env, **what.variables}
        if self.binary is not None:
            env["PATH"] = search_path(self.binary, env.get("PATH", os.environ.get("PATH", os.defpath)))
            if argv[0] in (self.bin, os.path.basename(self.bin)):
                argv[0] = self.binary
        command = prepare(argv, env=env, inherit=self.inherit, cwd=self.cwd)
        return command if self.confine is None else self.confine(command)

    def run(self, text: str, *, timeout: float, values: Mapping[str, str] | None = None) -> CommandOutput:
        return run(self.command(text, values), timeout=timeout, stop=self.stop)

    def ask(self, text: str, *, timeout: float, values: Mapping[str, str] | None = None) -> CommandOutput:
        """Like `run`, for a command that only says its state: it changes no file and signals no process."""
        asked = self if self.confine is not None else replace(self, confine=without_changes)
        return asked.run(text, timeout=timeout, values=values)

    def converse(
        self, command: PreparedCommand, terminal: Terminal, *, timeout: float, feed: Feed | None = None
    ) -> ChildEnd:
        """Run on a terminal of its own, joined to a person's."""
        return converse(command, terminal, timeout=timeout, stop=self.stop, feed=feed)

    def with_env(self, env: Mapping[str, str]) -> "CommandSurroundings":
        return replace(self, env={**self.env, **env})


def search_path(binary: str, path: str) -> str:
    """PATH with the folder of the program in front, so that its companions are found."""
    folder = os.path.dirname(binary)
    return path if folder in path.split(os.pathsep)[:1] else f"{folder}{os.pathsep}{path}"


def run(
    command: PreparedCommand,
    *,
    timeout: float,
    stop: threading.Event | None = None,
    on_output: Callable[[bytes], object] | None = None,
    limit: int = LIMIT,
    stdin: bytes | None = None,
    feed: Feed | None = None,
) -> CommandOutput:
    """Wait for the end. Fail timeout/DEADLINE_EXCEEDED or cancelled/STOPPED; the status is for the caller to judge.

    `feed` is asked regularly for what the command is to read, until it has something.
    """
    kept = bytearray()
    total = 0

    def read(chunk: bytes) -> None:
        nonlocal total
        total += len(chunk)
        kept.extend(chunk[: max(0, limit - len(kept))])
        if on_output is not None:
            on_output(chunk)

    given = stdin if feed is None else OPEN
    with supervise(command, on_stdout=read, on_stderr=on_output, stdin=given, timeout=timeout) as running:
        _watch(running.reactor, running.child, stop, feed)
        end = running.wait()
    judge(end, command, timeout)
    return CommandOutput(bytes(kept), end.stderr.text(), end, cut=total > limit, env=command.env)


def judge(end: ChildEnd, command: PreparedCommand, timeout: float) -> None:
    """Fail when the command did not end by itself."""
    name = os.path.basename(command.argv[0])
    require_in_time(end, name, timeout)
    if end.cause is not None:
        raise Fail("cancelled", "STOPPED", f"{name} was stopped", target=name)


def _watch(reactor: SelectorReactor, child: Child, stop: threading.Event | None, feed: Feed | None) -> None:
    def look() -> None:
        nonlocal feed
        given = feed() if feed is not None else None
        if given is not None and child.stdin is not None:
            child.stdin.write(given)
            child.stdin.finish()
            feed = None
        if stop is not None and stop.is_set():
            child.cancel("stopped")
        else:
            reactor.call_later(_STOP_INTERVAL, look)

    if stop is not None or feed is not None:
        look()
