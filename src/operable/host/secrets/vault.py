"""Vault: HashiCorp Vault or OpenBao, by its command. `team/key` is the field `value` of `secret/operable/team/key`.

A place is `MOUNT/PATH`, with `#FIELD` where the field is not `value`. The command logs in by itself: with VAULT_TOKEN or
with what `vault login` has left.
"""

import shutil

from operable.host.secret_backend import SecretBackend
from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.spawn import prepare

_FOLDER = "secret/operable"
_TIMEOUT = 15.0
_LIMIT = 64 * 1024
_INHERIT = ("VAULT_*", "BAO_*", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_NOT_THERE = 2  # also for everything else that goes wrong; the message distinguishes them


def _program() -> str | None:
    return shutil.which("vault") or shutil.which("bao")


def _read(location: str) -> str | None:
    path, _, field = location.partition("#")
    program = _program() or "vault"
    words = [program, "kv", "get", f"-field={field or 'value'}", path]
    found = output(prepare(words, inherit=_INHERIT), timeout=_TIMEOUT, limit=_LIMIT)
    if found.status == _NOT_THERE and "No value found" in found.stderr:
        return None
    if found.status:
        raise Fail(
            "authz", "SECRET_BACKEND_FAILED", f"vault cannot read {path} (status {found.status})", target=path
        )
    return found.stdout.decode("utf-8", "replace").removesuffix("\n")


BACKEND = SecretBackend(
    name="vault",
    missing=lambda: None if _program() else "neither vault nor bao is installed",
    locate=lambda slug: f"{_FOLDER}/{slug}",
    read=_read,
)
