"""Vault: HashiCorp Vault or OpenBao, by its command. `team/key` is the field `value` of `secret/operable/team/key`.

A place is `MOUNT/PATH`, with `#FIELD` where the field is not `value`. The command logs in by itself: with VAULT_TOKEN or
with what `vault login` has left.
"""

import shutil

from operable.host.secret_backend import SecretBackend, SecretScope, ask_program

_FOLDER = "secret/operable"
_INHERIT = ("VAULT_*", "BAO_*", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")


def _program() -> str | None:
    return shutil.which("vault") or shutil.which("bao")


def _read(location: str, scope: SecretScope = SecretScope()) -> str | None:  # noqa: B008 - frozen
    path, _, field = location.partition("#")
    words = [_program() or "vault", "kv", "get", f"-field={field or 'value'}", path]
    shown = ask_program(words, scope, inherit=_INHERIT, absent="No value found", target=path)
    return None if shown is None else shown.removesuffix("\n")


BACKEND = SecretBackend(
    name="vault",
    missing=lambda: None if _program() else "neither vault nor bao is installed",
    locate=lambda slug: f"{_FOLDER}/{slug}",
    read=_read,
)
