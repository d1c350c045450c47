"""Password store: `pass`, the standard unix password manager. `team/gh-token` is the entry `operable/team/gh-token`.

The first line of the entry is the value, as `pass` has it. GnuPG must be able to decrypt without asking (an agent that holds
the passphrase); it is not waited for longer than a few seconds.
"""

import shutil

from operable.host.secret_backend import SecretBackend
from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.spawn import prepare

_FOLDER = "operable"
_TIMEOUT = 15.0
_LIMIT = 64 * 1024
_INHERIT = ("PASSWORD_STORE_*", "GNUPGHOME", "GPG_AGENT_INFO", "GPG_TTY", "XDG_*", "DBUS_SESSION_BUS_ADDRESS")


def _read(entry: str) -> str | None:
    found = output(prepare(["pass", "show", "--", entry], inherit=_INHERIT), timeout=_TIMEOUT, limit=_LIMIT)
    if found.status:
        if "is not in the password store" in found.stderr:
            return None
        raise Fail(
            "authz",
            "SECRET_BACKEND_FAILED",
            f"pass cannot show {entry} (status {found.status})",
            target=entry,
        )
    return found.stdout.decode("utf-8", "replace").partition("\n")[0]


BACKEND = SecretBackend(
    name="password-store",
    missing=lambda: None if shutil.which("pass") else "pass is not installed (apt-get install pass)",
    locate=lambda slug: f"{_FOLDER}/{slug}",
    read=_read,
)
