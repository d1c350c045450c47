"""What the operator decides about every sealed log of this machine, by environment variables.

    OPERABLE_AUDIT_KEY       a file with an Ed25519 private key: every head is signed with it
    OPERABLE_AUDIT_KEEP      how many full files stay beside the newest one; without it, all do
    OPERABLE_AUDIT_DAMAGED   `continue` (the default) or `refuse`: whether a log that was changed is written on

A setting that cannot be followed is an error of every write: a log that should be signed is not written unsigned.
"""

import errno
import functools
import os
from collections.abc import Mapping

from operable.state.lock import WAIT
from operable.state.sealed_head import Signer, load_signer
from operable.state.sealed_log import ROTATE_AT, SealedLog
from operable.state.sealed_record import RecordFormat

KEY, KEEP, DAMAGED = "OPERABLE_AUDIT_KEY", "OPERABLE_AUDIT_KEEP", "OPERABLE_AUDIT_DAMAGED"


def operator_log(
    path: str,
    format: RecordFormat,
    *,
    rotate_at: int = ROTATE_AT,
    wait: float = WAIT,
    environment: Mapping[str, str] = os.environ,
) -> SealedLog:
    """A log with the operator's settings. Raises OSError if one of them cannot be followed."""
    key, keep, damaged = (environment.get(name, "") for name in (KEY, KEEP, DAMAGED))
    if keep and not (keep.isascii() and keep.isdigit()):
        raise OSError(errno.EINVAL, f"{KEEP} is not a number")
    if damaged not in ("", "continue", "refuse"):
        raise OSError(errno.EINVAL, f"{DAMAGED} is neither continue nor refuse")
    return SealedLog(
        path,
        format,
        rotate_at=rotate_at,
        keep=int(keep) if keep else None,
        refuses_damage=damaged == "refuse",
        signer=_signer(key) if key else None,
        wait=wait,
    )


@functools.cache
def _signer(path: str) -> Signer:
    try:
        return load_signer(path)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from None
    except ImportError:
        raise OSError(errno.EINVAL, f"{KEY} needs operable[host] or operable[flow]") from None
