"""`value_from`: where a secret or a proof comes from, and reading it from there.

A block names exactly one source: a variable of the caller's environment, a file (relative to the caller's folder), a
literal where the schema allows it, or a command, which runs only if the caller has opted in (`value_commands`). Every
failure is a `FlowError` that says which source failed and never what it held.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.manifest.findings import js_trim

SOURCES = ("env", "file", "literal", "command")
# The largest things read this way are certificate chains and JWKS documents.
LIMIT = 1024 * 1024


def read_value(
    block: Any,
    surroundings: Surroundings,
    *,
    code: str,
    what: str,
    variables: Mapping[str, str] | None = None,
) -> str:
    """The value, never empty; FlowError(code). `what` names it in messages, a command gets the further `variables`."""
    if not isinstance(block, Mapping):
        raise FlowError(code, f"{what} has no value_from")
    given = [name for name in SOURCES if name in block]
    if len(given) != 1:
        raise FlowError(code, f"{what} must name exactly one of: env, file, literal, command")
    source, place = given[0], block[given[0]]
    if not isinstance(place, str) or not place:
        raise FlowError(code, f"{what}: {source} must be a non-empty string")
    if source == "literal":
        return place
    if source == "env":
        value = from_environment(place, surroundings, code=code, what=what)
    elif source == "file":
        value = from_file(place, surroundings, code=code, what=what)
    else:
        value = from_command(place, surroundings, code=code, what=what, variables=variables)
    surroundings.known.add(value)
    return value


def from_environment(name: str, surroundings: Surroundings, *, code: str, what: str) -> str:
    value = surroundings.environment.get(name)
    if not value:
        raise FlowError(code, f"{what}: environment variable {name} is not set or empty")
    return value


def from_file(path: str, surroundings: Surroundings, *, code: str, what: str) -> str:
    text = read_text(os.path.join(surroundings.cwd, path), code=code, what=what)
    value = js_trim(text)
    if not value:
        raise FlowError(code, f"{what}: file {path} is empty")
    surroundings.known.add(value)
    return value


def read_text(path: str, *, code: str, what: str) -> str:
    """A regular file of bounded size. A FIFO or a device would block or never end, so it is refused unread."""
    try:
        # Non-blocking: opening a FIFO without a writer would wait forever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise FlowError(code, f"{what}: {path} is not a regular file")
            with os.fdopen(os.dup(handle), "rb") as file:
                data = file.read(LIMIT + 1)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise FlowError(code, f"{what}: file {path} cannot be read: {reason}") from None
    if len(data) > LIMIT:
        raise FlowError(code, f"{what}: file {path} is larger than {LIMIT} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FlowError(code, f"{what}: file {path} is not UTF-8 text") from None


def from_command(
    line: str,
    surroundings: Surroundings,
    *,
    code: str,
    what: str,
    variables: Mapping[str, str] | None = None,
) -> str:
    """What a shell line prints, trimmed. Its output and its errors are not repeated: either may contain the secret."""
    if surroundings.commands is None:
        message = f"{what}: command sources are not allowed here; the manifest names one to run"
        raise NotAllowed("commands_not_allowed", message, allow="allowCommands")
    try:
        printed = surroundings.commands(line, variables or {}, surroundings.timeout)
    except ValueError as problem:
        raise FlowError(code, f"{what}: command failed ({problem})") from None
    value = js_trim(printed)
    if not value:
        raise FlowError(code, f"{what}: command printed nothing")
    return value
