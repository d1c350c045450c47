"""Command: what a shell line prints. For workflows, whose caller has allowed commands; a host runs none.

A manifest names the line, so it runs only under the contract of its task (`flow.run.caller`), and only if the
caller has opted in. Its output is not repeated in an error: it may contain the secret.
"""

from operable.host.secret_backend import SecretBackend, SecretScope
from operable.kernel.errors import Fail


def _read(line: str, scope: SecretScope = SecretScope()) -> str | None:  # noqa: B008 - frozen
    if scope.commands is None:
        raise Fail("authz", "SECRET_COMMAND_REFUSED", "a command that prints a secret is not allowed here")
    try:
        return scope.commands(line, scope.variables, scope.timeout)
    except ValueError as error:
        raise Fail("authz", "SECRET_BACKEND_FAILED", f"command failed ({error})") from None


BACKEND = SecretBackend(name="command", missing=lambda: None, locate=lambda slug: slug, read=_read)
