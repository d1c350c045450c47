"""Keyring: the keyring of the operating system (Secret Service, KWallet, macOS Keychain, Windows Credential Locker).

Entries are under the service `operable`, by their slug; a place `SERVICE/USER` names another one. Needs the package
`keyring` and a session with an unlocked keyring: a server without one says so instead of asking forever.
"""

from operable.host.secret_backend import SecretBackend, SecretScope
from operable.kernel.errors import Fail
from operable.kernel.extras import install_hint

_SERVICE = "operable"


def _missing() -> str | None:
    try:
        import keyring
        from keyring.backends import fail
    except ImportError:
        return f"the package keyring is not installed ({install_hint('keyring')})"
    if isinstance(keyring.get_keyring(), fail.Keyring):
        return "this session has no keyring"
    return None


def _read(location: str, _scope: SecretScope = SecretScope()) -> str | None:  # noqa: B008 - frozen
    import keyring
    from keyring.errors import KeyringError

    service, _, user = location.rpartition("/")
    try:
        return keyring.get_password(service, user)
    except KeyringError as error:
        raise _failure(error) from error


def _write(location: str, value: str) -> None:
    import keyring
    from keyring.errors import KeyringError

    service, _, user = location.rpartition("/")
    try:
        keyring.set_password(service, user, value)
    except KeyringError as error:
        raise _failure(error) from error


def _failure(error: Exception) -> Fail:
    # Only the kind: what a foreign library puts into its messages is not known.
    return Fail(
        "authz", "SECRET_BACKEND_FAILED", f"keyring: {type(error).__name__}", hint="unlock the keyring"
    )


def _locate(slug: str) -> str:
    # The last slash separates service and user; a namespace of the slug belongs to the service.
    return f"{_SERVICE}/{slug}"


BACKEND = SecretBackend(name="keyring", missing=_missing, locate=_locate, read=_read, write=_write)
