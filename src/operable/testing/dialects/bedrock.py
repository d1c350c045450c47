"""Anthropic's models on Amazon Bedrock: `/model/NAME/invoke` and `/model/NAME/invoke-with-response-stream`.

The stream is `application/vnd.amazon.eventstream`: each event of the Messages API, as JSON, in base64, in a `chunk` message
with a prelude, typed headers and two CRCs.
"""

import base64
import json
import re
import struct
import zlib
from typing import Any

from operable.testing import vendor_rules
from operable.testing.anthropic_reply import AnthropicRendering, read_messages
from operable.testing.dialect import Asked, Dialect
from operable.testing.http_edge import EdgeRequest

_MODEL = re.compile(r"^/model/(.+)/(invoke|invoke-with-response-stream)$")
_STRING = 7
"""The type of a header whose value is a string."""


class BedrockRendering(AnthropicRendering):
    content_type = "application/vnd.amazon.eventstream"

    def event(self, data: dict[str, Any]) -> bytes:
        payload = {"bytes": base64.b64encode(json.dumps(data).encode()).decode()}
        return _message({":message-type": "event", ":event-type": "chunk"}, payload)

    def fail(self, kind: str, message: str) -> bytes:
        headers = {":message-type": "exception", ":exception-type": kind}
        return _message(headers, {"message": message})


def _message(headers: dict[str, str], payload: Any) -> bytes:
    head = b""
    for name, value in {**headers, ":content-type": "application/json"}.items():
        head += struct.pack(">B", len(name)) + name.encode()
        head += struct.pack(">BH", _STRING, len(value)) + value.encode()
    data = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(head) + len(data), len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + data
    return message + struct.pack(">I", zlib.crc32(message))


def _matches(request: EdgeRequest) -> bool:
    return request.method == "POST" and _MODEL.match(request.path) is not None


def _read(request: EdgeRequest) -> Asked:
    found = _MODEL.match(request.path)
    assert found is not None  # noqa: S101 - `_matches` comes first
    return read_messages(request.json(), found[1], streamed=found[2] != "invoke")


def _failure(_: int, message: str) -> Any:
    return {"message": message}


def _other(_: EdgeRequest) -> Any:
    return None


DIALECT = Dialect(_matches, _read, BedrockRendering, _failure, _other, vendor_rules.anthropic)
