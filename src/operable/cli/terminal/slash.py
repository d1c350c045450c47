"""Words behind a slash: what is for the chat itself, and what it runs for the person (`!command`)."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from operable.kernel.errors import Fail
from operable.proc.excerpt import Excerpt
from operable.proc.run import Supervised, supervise
from operable.proc.spawn import prepare
from operable.wire import events as e

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from operable.cli.terminal.checkpoint import WorkspaceCheckpoints
    from operable.cli.terminal.partner import ChatPartner
    from operable.cli.terminal.transcript import ChatTranscript

_COMMANDS = {
    "/help": "what there is",
    "/mode": "another mode, or which one it is",
    "/model": "another model, or which one it is",
    "/clear": "a new conversation; the old one is kept",
    "/undo": "take the file changes of the last turn back",
    "/output": "the last output in full; /output 2 is the one before",
    "/quit": "leave (or Ctrl-D)",
}
_KEYS = """\
!COMMAND  runs it with your rights; the agent gets its output with your next message
@PATH     names a file; an image comes along
Ctrl-C    stops the turn; twice leaves. What you type while a turn runs waits
A line that ends with \\ goes on in the next one; so does Alt-Enter."""
# Those that may be said while a turn runs.
AT_ONCE = ("/help", "/mode", "/output", "/quit", "/exit")
_PLAIN = re.compile(r"[\w./@+-]+")
_HEAD = _TAIL = 64 * 1024  # bytes of what a command prints, for the agent


class SlashCommands:
    """See the module."""

    def __init__(
        self,
        partner: ChatPartner,
        transcript: ChatTranscript,
        checkpoints: WorkspaceCheckpoints | None,
        workspace: str,
    ) -> None:
        self._partner = partner
        self._transcript = transcript
        self._checkpoints = checkpoints
        self._workspace = workspace
        self._run: Supervised | None = None
        self._beside: list[str] = []  # what the agent learns with the next message

    @property
    def names(self) -> Mapping[str, str]:
        return {**self._partner.commands, **_COMMANDS}

    def take_notes(self) -> str:
        """What the agent does not know yet, in front of the next message."""
        notes, self._beside = self._beside, []
        return "".join(f"{note}\n\n" for note in notes)

    def said(self, text: str) -> bool | None:
        """True: it was for the chat. False: it was the last word. None: it is for the agent."""
        word, _, value = text.partition(" ")
        try:
            if word in ("/quit", "/exit"):
                return False
            if word not in _COMMANDS and self._partner.understands(word):
                return None
            return self._carry_out(word, value.strip())
        except Fail as problem:
            self._transcript.say(problem.message, "red")
            if problem.hint:
                self._transcript.say(f"  hint: {problem.hint}", "dim")
            return True

    def _carry_out(self, word: str, value: str) -> bool:
        match word:
            case "/help":
                names = self.names
                for name, meaning in names.items():
                    if meaning:
                        self._transcript.say(f"{name:9} {meaning}", "dim")
                if own := [name for name, meaning in names.items() if not meaning]:
                    self._transcript.say(f"the agent's own: {' '.join(own)}", "dim")
                self._transcript.say(_KEYS, "dim")
            case "/mode":
                if value:
                    self._partner.select(mode=value)
                self._transcript.say(f"mode: {self._partner.status.mode or 'its own'}", "dim")
            case "/model":
                if value:
                    self._partner.select(model=value)
                self._transcript.say(f"model: {self._partner.status.model or 'its own'}", "dim")
            case "/clear":
                self._partner.begin_anew()
                self._transcript.say("A new conversation.", "dim")
            case "/undo":
                self._undo()
            case "/output":
                self._output(value)
            case _:
                self._transcript.say(f"There is no {word}. {', '.join(self.names)}", "yellow")
        return True

    def _undo(self) -> None:
        if self._checkpoints is None:
            raise Fail("config", "NO_CHECKPOINT", "There is nothing to undo: no checkpoints are kept here")
        undone = self._checkpoints.undo()
        for path in undone.restored:
            self._transcript.say(f"  as before: {path}", "dim")
        for path in undone.kept:
            self._transcript.say(f"  left as it is, it was changed since: {path}", "yellow")
        if undone.restored:
            paths = ", ".join(map(in_note, undone.restored))
            self._beside.append(f"[The user has undone the changes of your last turn to: {paths}]")

    def _output(self, value: str) -> None:
        outputs = self._transcript.outputs
        number = int(value) if value.isascii() and value.isdigit() else 1
        if not 1 <= number <= len(outputs):
            self._transcript.say("There is no such output.", "yellow")
            return
        title, text = outputs[-number]
        self._transcript.say(f"● {title}", "bold")
        self._transcript.say(text)

    # --- !command

    def shell(self, line: str, heard: Callable[[str, str], None]) -> Iterator[e.AnyEvent]:
        """Run it as a turn of the person's own: its call, its result, its end."""
        yield e.ToolCall("", "!", "!", {}, "execute", f"$ {line}")
        kept = Excerpt(_HEAD, _TAIL)

        def printed(chunk: bytes) -> None:
            kept.feed(chunk)
            heard("!", chunk.decode("utf-8", "replace"))

        shell = os.environ.get("SHELL") or "/bin/sh"
        try:
            command = prepare([shell, "-c", line], cwd=self._workspace, env=dict(os.environ))
            with supervise(command._replace(tree=True), on_stdout=printed, on_stderr=printed) as self._run:
                end = self._run.wait()
        except Fail as problem:
            yield e.ToolResult("", "!", problem.message, is_error=True)
        else:
            text = kept.text().rstrip("\n")
            failed = f"\nexit status {end.status}" if end.status else ""
            self._beside.append(
                f"[The user ran `{line}`, exit status {end.status}. It printed:]\n{text or '(nothing)'}"
            )
            yield e.ToolResult("", "!", f"{text}{failed}".lstrip("\n"), is_error=bool(end.status))
        finally:
            self._run = None
        yield e.TurnEnd("", e.COMPLETED)

    def stop(self) -> bool:
        """End the command that runs; False: none does."""
        run = self._run
        if run is None:
            return False
        run.reactor.call_soon_threadsafe(run.child.cancel)
        return True


def in_note(path: str) -> str:
    """A path as the agent reads it in words of the user: a name of a file must not go on as a sentence of theirs."""
    return path if _PLAIN.fullmatch(path) else json.dumps(path)
