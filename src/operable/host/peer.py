"""Values as peers send them: lines that may not be JSON, fields that may be of any type or absent.

An arm reads a vendor's JSON through these and so never trusts its shape: what is not as documented counts as empty, and a
line that is none becomes Noise. And the few ways in which what the host has (files, MCP servers) is put for a peer.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from operable.host.arm import Noise
from operable.kernel.errors import Fail
from operable.wire.events import Usage

_QUOTED: Final = 200  # characters of an error of the parser
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError)
_decode: Final = msgspec.json.Decoder().decode


def parse(line: bytes) -> dict[str, Any] | Noise:
    """The JSON object of a line, or why it is not one."""
    try:
        value = _decode(line)
    except _FAULTS as error:
        return Noise(line, "blank line" if not line.strip() else f"not JSON: {str(error)[:_QUOTED]}")
    return value if isinstance(value, dict) else Noise(line, "not a JSON object")


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one: peers send null, text or nothing where an object belongs."""
    return value if isinstance(value, dict) else {}


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A number of tokens; what is not a sensible number counts as 0."""
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else 0


def with_files(text: str, files: Sequence[str]) -> str:
    """The text of a message for agents that take no attachments: the paths follow it."""
    return "\n".join([text.strip(), "", "[Attached files]", *files]) if files else text


def session_word(session_id: str) -> str:
    """An agent's session id as a word of its command line: what it reported must not become an option there."""
    if not session_id or session_id.startswith("-") or not session_id.isprintable():
        raise Fail(
            "validation",
            "BAD_SESSION_ID",
            "The agent's session id cannot be a word of a command line.",
            target=session_id[:80],
        )
    return session_id


def pairs(given: Any) -> dict[str, str]:
    """Environment or headers, from the lists of name and value that ACP has, or from a plain object."""
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    if not isinstance(given, Sequence) or isinstance(given, str):
        return {}
    entries = (entry for entry in given if isinstance(entry, Mapping) and "name" in entry)
    return {str(entry["name"]): str(entry.get("value", "")) for entry in entries}


def transport(server: Mapping[str, Any]) -> str:
    """How an MCP server is reached: stdio, http or sse."""
    transport = str(
        server.get("type") or server.get("transport") or ("http" if server.get("url") else "stdio")
    )
    return "http" if transport.startswith("streamable") else transport


def plain_content(content: Any) -> Any:
    """The content of a tool's result, in the blocks of MCP or Anthropic: text where it is nothing else, else plain parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) or content is None else mapping(content)
    blocks = [mapping(block) for block in content]
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(string(block.get("text")) for block in blocks)
    return [_plain_block(block) for block in blocks]


def _plain_block(block: dict[str, Any]) -> dict[str, Any]:
    source = mapping(block.get("source"))
    if block.get("type") == "image" and source.get("type") == "base64":
        return {
            "type": "image",
            "mimeType": string(source.get("media_type")),
            "data": string(source.get("data")),
        }
    return block


class Odometer:
    """Counters that run on through a session, read as what one turn took."""

    def __init__(self) -> None:
        self._last = Usage()

    def start(self, used: Usage) -> None:
        """The counters are at this when the session begins."""
        self._last = used

    def turn(self, total: Usage) -> Usage:
        """What was used since the total before; all zeros are not a reading (agents say that after an error)."""
        if total == Usage():
            return total
        last, self._last = self._last, total
        cost = None if total.cost_usd is None else max(0.0, total.cost_usd - (last.cost_usd or 0.0))
        return Usage(
            max(0, total.input_tokens - last.input_tokens),
            max(0, total.output_tokens - last.output_tokens),
            max(0, total.cache_read_tokens - last.cache_read_tokens),
            max(0, total.cache_write_tokens - last.cache_write_tokens),
            cost,
        )
