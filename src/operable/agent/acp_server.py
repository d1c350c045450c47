"""The agent as an ACP server."""

from collections.abc import Mapping
from typing import Any

from operable.kernel.errors import Fail


def serve_acp(_options: Mapping[str, Any], _environment: Mapping[str, str], _stdout: int) -> int:
    raise Fail("config", "ACP_UNAVAILABLE", "This build does not speak ACP yet", hint="--json-stream")
