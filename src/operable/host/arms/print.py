"""Any program that prints an answer: one process per turn, its standard output is the text.

`metadata.operable` of the manifest says how it is run, after `bin` and `bin_args`:

- `prompt`: `stdin` (nothing said: this), or `argument`;
- `turn_args`: words for every turn; `{prompt}` in one of them is the message, which then comes by no other way. With
  `prompt: argument` and no such word, the message is the last word. A message that begins with a dash gets a space before
  it, so that it is not taken for an option;
- `resume_args`: words for a turn that continues an earlier one, with `{resume}` for its id. Such programs do not report
  the id: it is the one that the caller has.

Output that is not UTF-8 is shown with replacement characters, colours and other terminal sequences are taken out. An exit
status of 0 is a completed turn, any other an error.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from operable.host.arm import Arm, Happening, Message, TurnCommand
from operable.host.conversation import Conversation
from operable.host.one_shot import OneShot, argument, refuse_images
from operable.host.peer import session_word, with_files
from operable.kernel.errors import Fail
from operable.wire.events import COMPLETED

# CSI and OSC sequences, single escapes, and the control characters that move a cursor or ring.
_TERMINAL: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]|[\x00-\x08\x0b-\x1f\x7f]"
)


class PrintTurn:
    def __init__(self, state: Conversation) -> None:
        self._state = state
        self._is_first = True

    def line(self, line: bytes) -> list[Happening]:
        # The line end belongs to the text only when another line follows.
        text = ("" if self._is_first else "\n") + _TERMINAL.sub("", line.decode("utf-8", "replace"))
        self._is_first = False
        return self._state.text(text)

    def end(self, exit_status: int | None) -> list[Happening]:
        if exit_status == 0:
            return self._state.end(COMPLETED)
        return self._state.eof(
            exit_status, f"The program failed with status {exit_status}." if exit_status else ""
        )


def turn_command(message: Message, resume: str | None, quirks: Mapping[str, Any]) -> TurnCommand:
    refuse_images(message, "This program")
    text = with_files(message.text, message.files)
    words = _words(quirks, "turn_args")
    if resume is not None:
        words += [word.replace("{resume}", session_word(resume)) for word in _resuming(quirks)]
    if quirks.get("prompt", "stdin") == "argument" and not any("{prompt}" in word for word in words):
        words.append("{prompt}")
    if not any("{prompt}" in word for word in words):
        return TurnCommand(tuple(words), text.encode("utf-8", "replace"))
    put = argument(text)
    return TurnCommand(tuple(put if word == "{prompt}" else word.replace("{prompt}", text) for word in words))


def _resuming(quirks: Mapping[str, Any]) -> list[str]:
    words = _words(quirks, "resume_args")
    if not words:
        raise Fail(
            "usage",
            "RESUME_UNSUPPORTED",
            "The manifest does not say how this program continues an earlier turn.",
            hint="Add metadata.operable.resume_args.",
        )
    return words


def _words(quirks: Mapping[str, Any], name: str) -> list[str]:
    words = quirks.get(name, ())
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise Fail("config", "BAD_QUIRK", f"metadata.operable.{name} must be a list of words.", target=name)
    return [str(word) for word in words]


ARM = Arm(
    name="print",
    title="A program that prints its answer",
    connect=lambda: OneShot(lambda state, _: PrintTurn(state)),
    per_turn=True,
    turn_command=turn_command,
    adapters=("print",),
    can_ask=False,
)
