"""Environment: variables of the host's own process, or of the caller of a workflow. `gh-token` is GH_TOKEN.

For containers and CI, where another system keeps the secrets and hands them over this way. Everything that runs as the same
user can read them, and they are never inherited by an agent: only what is revealed reaches it.
"""

import re

from operable.host.secret_backend import SecretBackend, SecretScope


def _locate(slug: str) -> str:
    return re.sub(r"[-/]", "_", slug).upper()


def _read(name: str, scope: SecretScope = SecretScope()) -> str | None:  # noqa: B008 - frozen
    return scope.environment.get(name)


BACKEND = SecretBackend(name="environment", missing=lambda: None, locate=_locate, read=_read)
