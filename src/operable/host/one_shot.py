"""A connection to an agent that is started for every turn and says everything on its standard output.

What such agents have in common: nothing is written to them once they run, nothing is asked, a cancel ends the process, and
the turn is over when the process is. What a line means is for a `Reading`, which an arm makes for each turn; it says at the
end how the turn went. Whatever it forgets to say, the turn has its end nevertheless.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from operable.host.arm import Answer, Happening, Message, Noise, Opening
from operable.host.conversation import Conversation
from operable.kernel.errors import Fail

# Linux refuses a longer single argument (MAX_ARG_STRLEN); what is longer has to come by standard input.
_ARGUMENT_LIMIT: Final = 128 * 1024 - 1


class Reading(Protocol):
    """One turn of an arm."""

    def line(self, line: bytes) -> list[Happening]: ...
    def end(self, exit_status: int | None) -> list[Happening]:
        """The process is gone; what is still to be said, with the TurnEnd."""
        ...


class OneShot:
    """The connection; `read` makes the reading of a turn."""

    def __init__(self, read: Callable[[Conversation, Opening], Reading]) -> None:
        self._state = Conversation()
        self._opening = Opening(cwd="", session_id="")
        self._read = read
        self._reading: Reading | None = None

    def open(self, opening: Opening) -> None:
        self._opening = opening
        self._state.session_id = opening.session_id

    def receive(self, line: bytes) -> list[Happening]:
        if self._reading is None:
            return [Noise(line, "no turn is running")]
        return self._reading.line(line)

    def send(self, message: Message) -> None:  # noqa: ARG002 - the message went with the command line
        self._state.begin()
        self._reading = self._read(self._state, self._opening)

    def cancel(self) -> list[Happening]:
        """The session ends the process; the turn is then over."""
        self._state.cancelling = self._state.running
        return []

    def answer(self, request_id: str, answer: Answer) -> list[Happening]:  # noqa: ARG002
        return []

    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None:
        """Nothing: these agents ask their host for nothing."""

    def select(
        self,
        *,
        mode: str | None = None,  # noqa: ARG002 - patches of the manifest do it, by arguments
        model: str | None = None,  # noqa: ARG002
        option: tuple[str, Any] | None = None,  # noqa: ARG002
    ) -> bool:
        return False

    def close(self) -> None:
        """Nothing: between turns there is no process."""

    def eof(self, exit_status: int | None) -> list[Happening]:
        reading, self._reading = self._reading, None
        if reading is None or self._state.cancelling:
            return self._state.eof(exit_status)
        happened = reading.end(exit_status)
        return happened + self._state.eof(exit_status)

    def outgoing(self) -> bytes:
        return b""


def refuse_images(message: Message, agent: str) -> None:
    """What an agent cannot take is refused, not dropped."""
    if message.images:
        raise Fail(
            "usage",
            "IMAGES_UNSUPPORTED",
            f"{agent} takes no images in a message.",
            hint="Name image files instead.",
        )


def argument(text: str) -> str:
    """A text as a single word of a command line."""
    if "\0" in text:
        raise Fail(
            "usage", "PROMPT_HAS_NUL", "A message that is passed as an argument cannot have a NUL in it."
        )
    if len(text.encode("utf-8", "replace")) > _ARGUMENT_LIMIT:
        raise Fail(
            "usage",
            "PROMPT_TOO_LONG",
            f"A message that is passed as an argument has at most {_ARGUMENT_LIMIT} bytes.",
            hint="Let the manifest pass it by standard input.",
        )
    # Words that look like options would be taken for some.
    return f" {text}" if text.startswith("-") else text
