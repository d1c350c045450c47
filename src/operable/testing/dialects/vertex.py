"""Anthropic's models on Google Vertex AI: the Messages API below `…/publishers/anthropic/models/NAME:streamRawPredict`."""

import re
from typing import Any

from operable.testing import vendor_rules
from operable.testing.anthropic_reply import AnthropicRendering, count_tokens, failure, read_messages
from operable.testing.dialect import Asked, Dialect
from operable.testing.http_edge import EdgeRequest

_MODEL = re.compile(r"/publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)$")


def _matches(request: EdgeRequest) -> bool:
    found = _MODEL.search(request.path)
    return found is not None and found[1] != "count-tokens"


def _read(request: EdgeRequest) -> Asked:
    found = _MODEL.search(request.path)
    assert found is not None  # noqa: S101 - `_matches` comes first
    return read_messages(request.json(), found[1], streamed=found[2] == "streamRawPredict")


def _other(request: EdgeRequest) -> Any:
    return count_tokens(request.json()) if "/models/count-tokens:" in request.path else None


DIALECT = Dialect(_matches, _read, AnthropicRendering, failure, _other, vendor_rules.anthropic)
