"""The person in a chat: messages are typed, questions answered, and Ctrl-C stops the turn instead of the program.

Lines are edited with prompt_toolkit where it is installed, and read plainly otherwise. `/help` lists what is for the
chat itself; everything else goes to the agent.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from operable.agent.chat.conversation import Chat
from operable.agent.chat.screen import ChatScreen
from operable.agent.tool.permissions import MODES
from operable.kernel.errors import Fail
from operable.tool.run.context import discard_input
from operable.wire import events as e
from operable.wire.json_stream import SetConfigFrame

HELP = """\
/mode [default|auto-edit|yolo]   what needs no question: nothing, reading and editing, everything
/model [NAME]                    the model that answers
/clear                           begin a new conversation
/quit                            leave (or Ctrl-D)
Ctrl-C stops what is being done. A line that ends with \\ goes on in the next."""
COMMANDS = ("/help", "/mode", "/model", "/clear", "/quit")
_REFUSED = "The user denied it"
_NOBODY = "No user can be asked"
Line = Callable[[str], str]


class Dialogue:
    """Turn after turn with the person at the terminal."""

    def __init__(self, chat: Chat, screen: ChatScreen) -> None:
        self._chat = chat
        self._screen = screen
        self._reader: Line | None = None
        self._reading = False  # a line is being typed

    def hold(self) -> None:
        """Until the person leaves."""
        chat = self._chat
        self._screen.aside(
            f"{chat.conversation.tuning.model} in {chat.conversation.workspace}; /help says what else there is.",
            "dim",
        )
        with _interrupts(self._interrupted):
            while (text := self._typed()) is not None:
                if text.startswith("/"):
                    if not self._command(text):
                        return
                elif text:
                    self.turn(text)

    def turn(self, text: str) -> None:
        """One message, shown, with its questions asked."""
        self._screen.wait()
        try:
            for event in self._chat.turn(text):
                self._screen.show(event)
                if isinstance(event, e.AgentPrompt):
                    self.ask(event)
                elif not isinstance(event, e.TurnEnd):
                    self._screen.wait()
        finally:
            self._screen.rest()

    def ask(self, prompt: e.AgentPrompt) -> None:
        """y, n, a or q; `n WHY` gives the model the reason."""
        chat, call_id = self._chat, prompt.tool_call_id
        lasting = any(choice.id == "always" for choice in prompt.options)
        offered = "[y]es, [n]o, [a]lways, [q]uit" if lasting else "[y]es, [n]o, [q]uit"
        discard_input()
        while True:
            try:
                word, _, reason = self._line(f"  Allow it? {offered}: ").strip().partition(" ")
            except (KeyboardInterrupt, EOFError):
                word, reason = "q", ""
            match word.lower():
                case "y" | "yes":
                    return chat.allow(call_id)
                case "a" | "always" if lasting:
                    return chat.allow(call_id, always=True)
                case "n" | "no":
                    return chat.deny(call_id, reason or _REFUSED)
                case "q" | "quit":
                    return chat.stop()
            self._screen.aside("That is not one of the answers.", "yellow")

    def _line(self, question: str) -> str:
        self._reader = self._reader or _line_reader()
        self._reading = True
        try:
            return self._reader(question)
        finally:
            self._reading = False

    def _typed(self) -> str | None:
        """The next message; None at the end."""
        lines: list[str] = []
        while True:
            try:
                line = self._line("  " if lines else "> ")
            except KeyboardInterrupt:
                self._screen.aside("Ctrl-D leaves.", "dim")
                lines.clear()
                continue
            except EOFError:
                return None
            lines.append(line.removesuffix("\\"))
            if not line.endswith("\\"):
                return "\n".join(lines).strip()

    def _command(self, text: str) -> bool:
        """Something for the chat itself; False: it was the last."""
        word, _, value = text.partition(" ")
        try:
            match word:
                case "/quit" | "/exit":
                    return False
                case "/clear":
                    self._chat.begin_anew()
                    self._screen.aside("A new conversation.", "dim")
                case "/mode":
                    self._mode(value.strip())
                case "/model":
                    self._model(value.strip())
                case "/help":
                    self._screen.aside(HELP, "dim")
                case _:
                    self._screen.aside(f"There is no {word}. {', '.join(COMMANDS)}", "yellow")
        except Fail as problem:
            self._screen.aside(problem.message, "red")
        return True

    def _mode(self, mode: str) -> None:
        permissions = self._chat.conversation.desk.permissions
        mode = mode.replace("-", "_")  # as the modes of other agents are spelled
        if mode and mode not in MODES:
            raise Fail("usage", "UNKNOWN_MODE", f"A mode is one of {', '.join(MODES)}")
        permissions.mode = mode or permissions.mode
        self._screen.aside(f"mode: {permissions.mode}", "dim")

    def _model(self, model: str) -> None:
        if model:
            self._chat.conversation.configure(SetConfigFrame(model=model))
        self._screen.aside(f"model: {self._chat.conversation.tuning.model}", "dim")

    def _interrupted(self) -> None:
        """Ctrl-C as a signal; where lines are edited, it is a key and does not come here."""
        if self._reading:
            raise KeyboardInterrupt
        if self._chat.running:
            self._chat.stop()


def unattended(chat: Chat, prompt: e.AgentPrompt) -> None:
    """The answer to a question if no user can be asked."""
    chat.deny(prompt.tool_call_id, _NOBODY)


@contextmanager
def _interrupts(interrupted: Callable[[], None]) -> Iterator[None]:
    """Take Ctrl-C over while the body runs; an ignored one (nohup) stays ignored."""

    def received(_number: int, _frame: FrameType | None) -> None:
        interrupted()

    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, received)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _line_reader() -> Line:
    try:
        return _editor()
    except ImportError:  # the extra `people` is not installed
        return _plain_line


def _plain_line(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return input()


def _editor() -> Line:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.output import create_output

    words: Any = WordCompleter(list(COMMANDS), sentence=True)
    # On stderr, so that a redirected stdout contains the answers and nothing else.
    session: PromptSession[str] = PromptSession(output=create_output(stdout=sys.stderr))

    def line(question: str) -> str:
        # Ctrl-C is a key here and no signal: ours stays in place.
        completer = words if question == "> " else None
        return session.prompt(question, completer=completer, handle_sigint=False, reserve_space_for_menu=0)

    return line
