"""Environment: variables of the host's own process. `gh-token` is GH_TOKEN.

For containers and CI, where another system keeps the secrets and hands them over this way. Everything that runs as the same
user can read them, and they are never inherited by an agent: only what is revealed reaches it.
"""

import os
import re

from operable.host.secret_backend import SecretBackend


def _locate(slug: str) -> str:
    return re.sub(r"[-/]", "_", slug).upper()


BACKEND = SecretBackend(name="environment", missing=lambda: None, locate=_locate, read=os.environ.get)
