"""File: one file per secret, readable by its owner only. `team/gh-token` is `secrets/team/gh-token` in the state folder.

A file that another user could read or change, or that belongs to another user, or that is a link, is
refused: a user who can change it chooses what the agent logs in with. One newline at the end is not part of the value.
The caller of a workflow names its files itself: they need only be regular files.
"""

import os
import stat

from operable.host.secret_backend import SecretBackend, SecretScope
from operable.kernel.errors import Fail
from operable.state.atomic import advise, make_folder, write_whole
from operable.state.lock import EXCLUSIVE, held
from operable.state.paths import make_state


def _locate(slug: str) -> str:
    return os.path.join(make_state("secrets"), *slug.split("/"))


def _read(path: str, scope: SecretScope = SecretScope()) -> str | None:  # noqa: B008 - frozen
    place = os.path.join(scope.cwd, os.path.expanduser(path) if scope.private else path)
    link = os.O_NOFOLLOW if scope.private else 0
    try:
        # Non-blocking: opening a FIFO without a writer would wait forever.
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | link)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise _unsafe(place, f"cannot be read: {reason}") from error
    try:
        _check(place, os.fstat(handle), private=scope.private)
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(scope.limit + 1)
    finally:
        os.close(handle)
    if len(data) > scope.limit:
        raise _unsafe(place, f"is larger than {scope.limit} bytes")
    try:
        text = data.decode("utf-8")
        return text.removesuffix("\n") if scope.private else text
    except UnicodeDecodeError as error:
        raise _unsafe(place, "is not UTF-8 text") from error


def _check(path: str, found: os.stat_result, *, private: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _unsafe(path, "is not a regular file")
    if not private:
        return
    if found.st_uid != os.geteuid():
        raise _unsafe(path, f"belongs to user {found.st_uid}, not to user {os.geteuid()}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise _unsafe(path, f"has mode {stat.S_IMODE(found.st_mode):04o}", hint=f"chmod 600 {path}")


def _unsafe(path: str, why: str, hint: str | None = None) -> Fail:
    return Fail(
        "config",
        "SECRET_FILE_UNSAFE",
        f"{path} {why}",
        target=path,
        hint=hint or "a secret's file is 0600 and your own",
    )


def _write(path: str, value: str) -> None:
    try:
        make_folder(os.path.dirname(path))
        # One name for the draft, under a lock: what a killed process left of a secret does not outlive the next write.
        with held(os.path.join(make_state("secrets"), ".lock"), EXCLUSIVE):
            write_whole(path, value.encode(), draft=f"{path}.new")
    except OSError as error:
        raise Fail(
            "io",
            "STATE_UNWRITABLE",
            f"the secret cannot be kept: {error.strerror}",
            target=path,
            hint=advise(error),
        ) from error


BACKEND = SecretBackend(name="file", missing=lambda: None, locate=_locate, read=_read, write=_write)
