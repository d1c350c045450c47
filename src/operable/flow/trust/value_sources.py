"""`value_from`: where a secret or a proof comes from, and reading it from there.

A block names exactly one source: a variable of the caller's environment, a file (relative to the caller's folder), a
literal where the schema allows it, or a command, which runs only if the caller has opted in (`flow.run.caller`). It is
fetched as every secret is (`host.secret_backend`). Every failure is a `FlowError` that says which source failed and never
what it held.
"""

import errno
import os
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError, NotAllowed
from operable.flow.manifest.findings import js_trim
from operable.host.secret_backend import SecretScope, fetch
from operable.kernel.errors import Fail

SOURCES = ("env", "file", "literal", "command")
# The largest things read this way are certificate chains and JWKS documents.
LIMIT = 1024 * 1024
_BACKENDS = {"env": "environment", "file": "file", "command": "command"}
_EMPTY = {
    "env": "environment variable {} is not set or empty",
    "file": "file {} is empty",
    "command": "command printed nothing",
}


def read_value(
    block: Any,
    surroundings: Surroundings,
    *,
    code: str,
    what: str,
    variables: Mapping[str, str] | None = None,
) -> str:
    """The value, never empty; FlowError(code). `what` names it in messages, a command gets the further `variables`."""
    if not isinstance(block, Mapping):
        raise FlowError(code, f"{what} has no value_from")
    given = [name for name in SOURCES if name in block]
    if len(given) != 1:
        raise FlowError(code, f"{what} must name exactly one of: env, file, literal, command")
    source, place = given[0], block[given[0]]
    if not isinstance(place, str) or not place:
        raise FlowError(code, f"{what}: {source} must be a non-empty string")
    if source == "literal":
        return place
    return _fetched(source, place, surroundings, code=code, what=what, variables=variables)


def from_file(path: str, surroundings: Surroundings, *, code: str, what: str) -> str:
    """The text of a file without the space around it, never empty."""
    return _fetched("file", path, surroundings, code=code, what=what)


def from_environment(name: str, surroundings: Surroundings) -> str | None:
    """A secret in a variable of the caller's environment. Returns None if it is not set or empty."""
    return (
        fetch(
            "environment", name, SecretScope(environment=surroundings.environment, known=surroundings.known)
        )
        or None
    )


def read_text(path: str, *, code: str, what: str) -> str:
    """A regular file of bounded size, as it is. What it holds is not a secret: a policy, a certificate, a ledger."""
    return _ask("file", path, SecretScope(private=False, limit=LIMIT), code=code, what=what)


def _fetched(
    source: str,
    place: str,
    surroundings: Surroundings,
    *,
    code: str,
    what: str,
    variables: Mapping[str, str] | None = None,
) -> str:
    scope = SecretScope(
        environment=surroundings.environment,
        cwd=surroundings.cwd,
        private=False,
        limit=LIMIT,
        timeout=surroundings.timeout,
        commands=surroundings.commands,
        variables=variables or {},
        trim=str if source == "env" else js_trim,
        known=surroundings.known,
    )
    value = _ask(source, place, scope, code=code, what=what)
    if not value:
        raise FlowError(code, f"{what}: {_EMPTY[source].format(place)}")
    return value


def _ask(source: str, place: str, scope: SecretScope, *, code: str, what: str) -> str:
    if source == "command" and scope.commands is None:
        message = f"{what}: command sources are not allowed here; the manifest names one to run"
        raise NotAllowed("commands_not_allowed", message, allow="allowCommands")
    try:
        value = fetch(_BACKENDS[source], place, scope)
    except FlowError:
        raise  # of the contract of a command
    except Fail as error:
        said = error.message
        raise FlowError(code, f"{what}: {'file ' if source == 'file' else ''}{said}") from None
    if value is None and source == "file":
        path = os.path.join(scope.cwd, place)
        raise FlowError(code, f"{what}: file {path} cannot be read: {os.strerror(errno.ENOENT)}")
    return value or ""
