"""What the operator decides about every sealed log of this machine, by environment variables.

    OPERABLE_AUDIT_KEY       a file with an Ed25519 private key: every head is signed with it, from the next write on
    OPERABLE_AUDIT_KEEP      how many full files stay beside the newest one; without it, all do
    OPERABLE_AUDIT_DAMAGED   `continue` (the default) or `refuse`: whether a log that was changed is written on

A setting that cannot be followed is an error of every write: a log that should be signed is not written unsigned. With
`refuse`, a log is checked as a whole when it is opened for writing, once; later writes compare its end with its head.
"""

import errno
import functools
import os
from collections.abc import Callable, Mapping

from operable.state.lock import WAIT
from operable.state.sealed_end import DamagedError
from operable.state.sealed_head import (
    Signer,
    UnreadableHeadError,
    load_public_key,
    load_signer,
    read_head,
)
from operable.state.sealed_log import ROTATE_AT, SealedLog
from operable.state.sealed_record import Json, RecordFormat
from operable.state.sealed_verdict import check

KEY, KEEP, DAMAGED = "OPERABLE_AUDIT_KEY", "OPERABLE_AUDIT_KEEP", "OPERABLE_AUDIT_DAMAGED"

_HINTS = {
    KEY: "ssh-keygen -t ed25519 -N '' -f FILE makes a key; name that file in OPERABLE_AUDIT_KEY",
    KEEP: "set OPERABLE_AUDIT_KEEP to a number of files, or unset it",
    DAMAGED: "set OPERABLE_AUDIT_DAMAGED to continue or refuse",
}


class SettingError(OSError):
    """A setting that cannot be followed. `filename` is the variable."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(errno.EINVAL, message, name)
        self.hint = _HINTS[name]


def operator_log(
    path: str,
    format: RecordFormat,
    *,
    rotate_at: int = ROTATE_AT,
    wait: float = WAIT,
    name: str | None = None,
    earlier: Callable[[], Json | None] = lambda: None,
    environment: Mapping[str, str] = os.environ,
) -> SealedLog:
    """A log with the operator's settings. Raises SettingError if one cannot be followed, DamagedError if one forbids it."""
    key, keep, damaged = (environment.get(name, "") for name in (KEY, KEEP, DAMAGED))
    if keep and not (keep.isascii() and keep.isdigit()):
        raise SettingError(KEEP, f"{KEEP} is not a number")
    if damaged not in ("", "continue", "refuse"):
        raise SettingError(DAMAGED, f"{DAMAGED} is neither continue nor refuse")
    signer = _signer(key) if key else None
    if damaged == "refuse":
        _refuse_changed(path, format, load_public_key(key) if key else None, wait, name)
    return SealedLog(
        path,
        format,
        rotate_at=rotate_at,
        keep=int(keep) if keep else None,
        refuses_damage=damaged == "refuse",
        signer=signer,
        wait=wait,
        name=name,
        earlier=earlier,
    )


def _refuse_changed(
    path: str, format: RecordFormat, public_key: bytes | None, wait: float, name: str | None
) -> None:
    found = check(path, format, public_key=public_key if _is_signed(path) else None, name=name, wait=wait)
    if found.problems:
        raise DamagedError(found.problems[0].message)


def _is_signed(path: str) -> bool:
    """Whether the head must have a signature. A log that never was signed is signed from now on."""
    try:
        stated = read_head(path)
    except UnreadableHeadError:
        return True
    return stated is not None and (stated.is_marked or stated.signature is not None)


@functools.cache
def _signer(path: str) -> Signer:
    try:
        return load_signer(path)
    except ValueError as error:
        raise SettingError(KEY, f"{KEY}: {error}") from None
