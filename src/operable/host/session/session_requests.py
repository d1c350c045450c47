"""Requests of other processes to a running session: to end its turn, or to end it.

A session belongs to the process that runs it, and to no other. Another process of the same user asks by a file in the
folder of the session; its owner looks there once in a while, takes the file away and does what it says. Any other
file there is taken away as well. Nothing waits here: the one who asked watches the file, and the state of the session.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, get_args

from operable.kernel.errors import Fail
from operable.state.atomic import advise, write_whole

# A person does not notice; two looks a second cost 200 sessions less than a thousandth of a processor.
INTERVAL: Final = 0.5
SessionRequest = Literal["interrupt", "kill"]
_NAME: Final = "request"
_LONGEST: Final = 64


class RequestWatch:
    """Looks for requests to one session, until it is closed."""

    def __init__(self, folder: str, on_request: Callable[[SessionRequest], object]) -> None:
        self._path = os.path.join(folder, _NAME)
        self._on_request = on_request
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with suppress(OSError):
            os.unlink(self._path)

    def _look(self) -> None:
        self.start()
        if os.path.lexists(self._path):
            request = _taken(self._path)
            if request is not None:
                self._on_request(request)


def put_request(folder: str, request: SessionRequest) -> None:
    """Ask the owner of the session in this folder. Fail io/STATE_UNWRITABLE."""
    try:
        write_whole(os.path.join(folder, _NAME), request.encode(), durable=False)
    except OSError as error:
        text = f"the session cannot be asked: {error.strerror}"
        raise Fail("io", "STATE_UNWRITABLE", text, target=folder, hint=advise(error)) from error


def is_taken(folder: str) -> bool:
    """Whether the owner has taken the last request."""
    return not os.path.lexists(os.path.join(folder, _NAME))


def _taken(path: str) -> SessionRequest | None:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = file.read(_LONGEST).decode("ascii", "replace")
        os.unlink(path)
    except OSError:
        return None
    return next((each for each in get_args(SessionRequest) if each == text), None)
