"""Where the agent keeps its sessions, and new names for them; loaded before `ready`."""

import os

from operable.kernel.errors import Fail
from operable.state.paths import make_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LONGEST = 200


def state_folder() -> str:
    """Of the agent: its sessions, and what else it keeps."""
    return make_state("agent")


def sessions_folder() -> str:
    return os.path.join(state_folder(), "sessions")


def session_folder(root: str, session_id: str) -> str:
    """The folder of a session. An id may contain any characters; each other character is percent-encoded."""
    plain = "".join(_encoded(character) for character in session_id)
    if not plain or len(plain) > _LONGEST:
        raise Fail("usage", "SESSION_ID_INVALID", f"A session id has 1 to {_LONGEST} characters")
    return os.path.join(root, plain)


def _encoded(character: str) -> str:
    # Not `urllib`: it costs more to load than everything else before `ready`. No dot is kept, so no name is `.` or `..`.
    if character.isascii() and (character.isalnum() or character in "-_"):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def new_session(options: "Mapping[str, Any]", *, root: "str | None" = None) -> "str | None":
    """Make the folder of a new session; its id. None when sessions are off."""
    if options.get("no_session"):
        return None
    root = root or sessions_folder()
    session_id: str = options.get("session_id") or new_session_id()
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        os.mkdir(session_folder(root, session_id), 0o700)
    except FileExistsError:
        raise session_exists(session_id) from None
    except OSError as problem:
        raise session_unwritable(problem) from problem
    return session_id


def session_unwritable(problem: OSError) -> Fail:
    return Fail(
        "config",
        "SESSION_UNWRITABLE",
        f"The session cannot be kept: {problem.strerror or problem}",
        hint="--no-session",
    )


def session_exists(session_id: str) -> Fail:
    return Fail(
        "conflict",
        "SESSION_EXISTS",
        f"Session {session_id} already exists",
        hint=f"--resume {session_id}",
        exit_code=78,
    )


def new_session_id() -> str:
    """A UUID of version 7: its beginning is the time, so that ids sort by age."""
    from time import time

    milliseconds = int(time() * 1000)
    random = bytearray(os.urandom(10))
    random[0] = random[0] & 0x0F | 0x70
    random[2] = random[2] & 0x3F | 0x80
    text = milliseconds.to_bytes(6, "big").hex() + bytes(random).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
