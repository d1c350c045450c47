"""The words of `--env`: `NAME=VALUE`, and `NAME=@FILE` for what must not be on a command line.

Every process of the same user can read a command line while it runs, and a shell keeps it in its history. So a value may be
read from a file, or from what a shell makes of `<(pass show key)`. A first `@@` is one `@` of the value itself. A plain
value under the name of a secret is accepted and warned about. A word that is not understood is not repeated: it may be a
secret.
"""

from __future__ import annotations

import os
import stat

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from operable.tool import Context

# Private keys and service accounts are below 10 KB; a variable of more than 128 KiB cannot be handed to a program.
LIMIT = 64 * 1024
EXPOSED = "SECRET_ON_COMMAND_LINE"


def variables(given: Sequence[str]) -> dict[str, str]:
    """Name -> value. Fail usage/INVALID_VALUE, not_found/ENV_FILE_NOT_FOUND or config/ENV_FILE_UNUSABLE."""
    found = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise Fail(
                "usage",
                "INVALID_VALUE",
                "--env takes NAME=VALUE or NAME=@FILE",
                target="--env",
                hint="--env NAME=VALUE, or --env NAME=@FILE for a secret",
            )
        if value.startswith("@@"):
            value = value[1:]
        elif value.startswith("@"):
            value = _content(name, value[1:])
        found[name] = value
    return found


def exposed(given: Sequence[str]) -> list[str]:
    """The names of secrets whose values are on the command line."""
    from operable.kernel.redact.names import is_secret_name
    from operable.kernel.redact.shapes import has_shape

    found = []
    for word in given:
        name, _, value = word.partition("=")
        if value and (not value.startswith("@") or value.startswith("@@")):
            found += [name] if is_secret_name(name) or has_shape(value) else []
    return found


def warn_of_exposed(given: Sequence[str], context: Context) -> None:
    """One warning per secret that any user of this machine can read while we run."""
    for name in exposed(given):
        message = f"the value of {name} is on the command line, where other processes can read it"
        context.warn(EXPOSED, message, hint=f"write it to a file and say --env {name}=@FILE")


def _content(name: str, path: str) -> str:
    """The text of a file or a pipe, without one newline at its end."""
    if path in ("", "-"):
        raise Fail(
            "usage",
            "INVALID_VALUE",
            f"--env {name}=@ needs a file",
            target="--env",
            hint=f"--env {name}=@/run/secrets/key, or --env {name}=@<(pass show key)",
        )
    try:
        with open(os.path.expanduser(path), "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(0, "it is a folder")
            data = file.read(LIMIT + 1)
    except FileNotFoundError as error:
        raise Fail(
            "not_found", "ENV_FILE_NOT_FOUND", f"the file for {name} does not exist: {path}", target=path
        ) from error
    except OSError as error:
        raise _unusable(name, path, f"cannot be read: {error.strerror}") from error
    if len(data) > LIMIT:
        raise _unusable(name, path, f"is larger than {LIMIT} bytes")
    try:
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise _unusable(name, path, "is not UTF-8 text") from error
    if not text or "\0" in text:
        raise _unusable(name, path, "is empty" if not text else "has a NUL byte")
    return text


def _unusable(name: str, path: str, why: str) -> Fail:
    return Fail("config", "ENV_FILE_UNUSABLE", f"the file for {name}, {path}, {why}", target=path)
