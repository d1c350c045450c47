"""Prompts that wait for the end of a turn: in a file of the session, so that nothing that was accepted is lost.

The file is the queue: each change is on disk before the caller gets its answer. It is bounded; what does not fit is
refused, never dropped. A session that ends keeps its queue: the prompts were not sent, its view says how many they are, a
session that resumes it takes them over, and forgetting the session forgets them.
"""

import os
from contextlib import suppress
from typing import Final

import msgspec

from operable.host.session.registry import timestamp
from operable.kernel.errors import Fail
from operable.state.atomic import advise, write_whole

# A person who has written this many messages ahead of an agent wants another way of working.
AT_MOST: Final = 32
# Bytes of all of them: one prompt of the largest size that the daemon takes, or 32 long ones.
ROOM: Final = 1024 * 1024
_FILE = "queue.json"


class QueuedPrompt(msgspec.Struct, frozen=True, rename="camel"):
    """A prompt that waits. `by` is who sent it."""

    id: str
    text: str
    at: str
    by: str = ""


_DECODER = msgspec.json.Decoder(list[QueuedPrompt])


class PromptQueue:
    """The prompts that wait in one session, oldest first."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, _FILE)
        self.prompts = queued_prompts(folder)

    def __len__(self) -> int:
        return len(self.prompts)

    def put(self, text: str, by: str = "") -> QueuedPrompt:
        """Add one at the end. Fail conflict/QUEUE_FULL, io/STATE_UNWRITABLE: then it is not queued."""
        size = sum(len(each.text.encode()) for each in self.prompts) + len(text.encode())
        if len(self.prompts) >= AT_MOST or size > ROOM:
            raise Fail(
                "conflict",
                "QUEUE_FULL",
                f"the queue has room for {AT_MOST} prompts and {ROOM} bytes",
                hint="wait for the end of the turn, or remove a prompt that waits",
            )
        prompt = QueuedPrompt(f"prm_{os.urandom(8).hex()}", text, timestamp(), by)
        self._keep([*self.prompts, prompt])
        return prompt

    @property
    def first(self) -> QueuedPrompt | None:
        """The next one. It is removed after it was sent: a crash in between sends it twice rather than never."""
        return self.prompts[0] if self.prompts else None

    def sent(self, prompt: QueuedPrompt) -> None:
        """It was sent, and is not sent again, also if that cannot be written: the log of the session cannot be either."""
        self.prompts = [each for each in self.prompts if each is not prompt]
        with suppress(Fail):
            self._keep(self.prompts)

    def remove(self, prompt_id: str) -> QueuedPrompt:
        """Take one out. Fail not_found/NO_SUCH_PROMPT: it was sent, or never waited."""
        for prompt in self.prompts:
            if prompt.id == prompt_id:
                self._keep([each for each in self.prompts if each is not prompt])
                return prompt
        raise Fail("not_found", "NO_SUCH_PROMPT", "no such prompt waits", target=prompt_id)

    def clear(self) -> None:
        """Another session has them now."""
        self._keep([])

    def _keep(self, prompts: list[QueuedPrompt]) -> None:
        try:
            write_whole(self._path, msgspec.json.encode(prompts))
        except OSError as error:
            message = f"the queue cannot be kept: {error.strerror}"
            raise Fail("io", "STATE_UNWRITABLE", message, target=self._path, hint=advise(error)) from error
        self.prompts = prompts


def queued_prompts(folder: str) -> list[QueuedPrompt]:
    """What waits in a session, from any process. A file that is not a queue holds nothing that could be sent."""
    try:
        with open(os.path.join(folder, _FILE), "rb") as file:
            return _DECODER.decode(file.read(8 * ROOM))
    except (OSError, msgspec.MsgspecError):
        return []
