"""Lines that a host should never send: commands of the protocol, damaged by seed."""

import json
import random
from collections.abc import Iterator
from typing import Any

SCRIPT = 'script:\nsay a\ncall Bash {"command": "touch PWNED"}\ncall Write {"file_path": "PWNED", "content": "x"}\nsay b'
COMMANDS: list[dict[str, Any]] = [
    {"type": "message", "msg_id": "m", "content": SCRIPT, "files": ["a.png"]},
    {"type": "message", "msg_id": "m", "input": "hello"},
    {"type": "message", "msg_id": "m", "input": 'script:\ncall Read {"file_path": "f"}\nfail! oh'},
    {"type": "stop"},
    {"type": "tool_approve", "call_id": "call-1-1", "scope": "once"},
    {"type": "tool_approve", "call_id": "call-2-1", "scope": "always"},
    {"type": "tool_deny", "call_id": "call-1-2", "reason": "no"},
    {"type": "init_history", "text": "before"},
    {"type": "set_mode", "mode": "yolo"},
    {"type": "set_config", "model": "m", "thinking": "enabled", "thinking_budget": 100, "compaction": "full"},
    {"type": "add_mcp_server", "name": "s", "transport": "stdio", "command": "touch", "args": ["PWNED"]},
    {"type": "ping"},
]
_VALUES: list[Any] = [
    None, True, -1, 0, 2**63, 1e308, "", "\ud800", "\x00", "yolo", "x" * 5000, [], {}, [[]], {"type": "ping"},
]  # fmt: skip
_BYTES = [
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\r",
    b'"',
    b"{",
    b"}",
    b"\\",
    b"\\ud800",
    b"\xe2\x80\xa8",
    b",",
]


def damaged(seed: int, count: int) -> Iterator[bytes]:
    """So many lines, without line ends in them; none of them is a genuine approval."""
    chance = random.Random(seed)
    while count:
        line = _damage(chance)
        if not is_consent(line):
            count -= 1
            yield line


def is_consent(line: bytes) -> bool:
    """Whether an honest reader of JSON would take this for leave to do something."""
    try:
        command = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(command, dict) and command.get("type") in ("tool_approve", "set_mode", "add_mcp_server")


def _damage(chance: random.Random) -> bytes:
    command = dict(chance.choice(COMMANDS))
    if chance.random() < 0.5:
        _damage_value(command, chance)
    line = json.dumps(command, ensure_ascii=chance.random() < 0.8).encode("utf-8", "surrogatepass")
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        line = _damage_bytes(line, chance)
    if chance.random() < 0.002:
        line = b'{"type":"message","msg_id":' + b"[" * 100_000
    return line.replace(b"\n", b" ")


def _damage_value(command: dict[str, Any], chance: random.Random) -> None:
    name = chance.choice(list(command))
    match chance.randrange(4):
        case 0:
            del command[name]
        case 1:
            command[name] = chance.choice(_VALUES)
        case 2:
            command[chance.choice(["type", "extra", "", "mode", "call_id"])] = command.pop(name)
        case 3:
            command["type"] = chance.choice(COMMANDS)["type"]


def _damage_bytes(line: bytes, chance: random.Random) -> bytes:
    at, other = sorted((chance.randrange(len(line) + 1), chance.randrange(len(line) + 1)))
    match chance.randrange(5):
        case 0:
            return line[:at] + line[other:]
        case 1:
            return line[:at] + chance.choice(_BYTES) + line[at:]
        case 2:
            return line[:other] + line[at:]
        case 3:
            return line[:at]
        case _:
            return line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :]
