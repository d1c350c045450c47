"""`operable app sign`: sign a package, so that others know that it is yours.

The signature is an SSH signature of exactly these files, in PACKAGE.sig. Who lists your public key in `allowed_signers`
sees your name when the package is added.
"""

from __future__ import annotations

from operable.cli.app.events import AppSigned
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=["app sign ./todo-app --key ~/.ssh/id_ed25519 --dry-run"],
)
def sign(path: str, *, key: str) -> Iterator[Change]:
    """Sign a package.

    path: the folder of the package
    key FILE: the file of an SSH private key without a passphrase
    """
    from operable.cli.app.packages import planned_signature

    yield planned_signature(path, key)


@sign.apply
def keep(changes: list[Change]) -> Iterator[AppSigned]:
    from operable.cli.app.packages import signed

    yield from map(signed, changes)


COMMAND = sign
