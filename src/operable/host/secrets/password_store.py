"""Password store: `pass`, the standard unix password manager. `team/gh-token` is the entry `operable/team/gh-token`.

The first line of the entry is the value, as `pass` has it. GnuPG must be able to decrypt without asking (an agent that holds
the passphrase); it is not waited for longer than a few seconds.
"""

import shutil

from operable.host.secret_backend import SecretBackend, SecretScope, ask_program

_FOLDER = "operable"
_INHERIT = ("PASSWORD_STORE_*", "GNUPGHOME", "GPG_AGENT_INFO", "GPG_TTY", "XDG_*", "DBUS_SESSION_BUS_ADDRESS")


def _read(entry: str, scope: SecretScope = SecretScope()) -> str | None:  # noqa: B008 - frozen
    shown = ask_program(
        ["pass", "show", "--", entry],
        scope,
        inherit=_INHERIT,
        absent="is not in the password store",
        target=entry,
    )
    return None if shown is None else shown.partition("\n")[0]


BACKEND = SecretBackend(
    name="password-store",
    missing=lambda: None if shutil.which("pass") else "pass is not installed (apt-get install pass)",
    locate=lambda slug: f"{_FOLDER}/{slug}",
    read=_read,
)
