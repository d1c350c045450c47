"""Wire cassettes: recorded conversations between a host and an agent, for replay and for mutation.

A cassette is a file of JSON lines. The first is its label (agent, protocol, what happens in it); each other line is one
line of the conversation: `{"t": seconds since the start, "dir": "host" | "agent" | "stderr", "line": TEXT}`, with `"hex"`
instead of `"line"` for bytes that are not UTF-8. `dir` says who spoke. Lines are kept as they were, not as parsed
values, so that a replay gives a reader exactly the bytes that the agent gave.

`pieces` cuts what one side said at any size or at random by a seed; `mutate` damages it in one of the ways that pipes,
agents and bad luck damage conversations. The same seed damages in the same way everywhere, so a failure can be repeated.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from operable.state.atomic import write_whole


class CassetteEntry(NamedTuple):
    """One line of a recorded conversation."""

    t: float
    """seconds since the start"""
    dir: str
    """host, agent, stderr"""
    line: bytes
    """without its LF"""


class RecordedExchange(NamedTuple):
    """What the host said in one go, and what the agent said before the host spoke again."""

    host: list[bytes]
    agent: list[bytes]


class AgentCassette(NamedTuple):
    """A recorded conversation between a host and an agent."""

    label: dict[str, Any]
    """agent, protocol, and what happens in it"""
    entries: list[CassetteEntry]
    """every line, in order"""

    def said(self, who: str) -> list[bytes]:
        """The lines of one side, in order."""
        return [entry.line for entry in self.entries if entry.dir == who]

    def stream(self, who: str = "agent") -> bytes:
        """What one side wrote, as bytes."""
        return b"".join(line + b"\n" for line in self.said(who))

    def exchanges(self) -> Iterator[RecordedExchange]:
        """The conversation in turns of host and agent; the agent may speak first."""
        current = RecordedExchange([], [])
        for entry in self.entries:
            if entry.dir == "host":
                if current.agent:
                    yield current
                    current = RecordedExchange([], [])
                current.host.append(entry.line)
            elif entry.dir == "agent":
                current.agent.append(entry.line)
        if current.host or current.agent:
            yield current


def load(path: Path) -> AgentCassette:
    """Read a cassette."""
    first, *rest = path.read_text("utf-8").splitlines()
    return AgentCassette(json.loads(first), [_entry(json.loads(line)) for line in rest])


def save(path: Path, cassette: AgentCassette) -> None:
    """Write a cassette, whole or not at all; its folder is made."""
    lines = [json.dumps(cassette.label, ensure_ascii=False, sort_keys=True)]
    lines += [json.dumps(_document(entry), ensure_ascii=False) for entry in cassette.entries]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(str(path), ("\n".join(lines) + "\n").encode(), private=False)


def _entry(document: dict[str, Any]) -> CassetteEntry:
    data = bytes.fromhex(document["hex"]) if "hex" in document else document["line"].encode()
    return CassetteEntry(document["t"], document["dir"], data)


def _document(entry: CassetteEntry) -> dict[str, Any]:
    try:
        return {"t": entry.t, "dir": entry.dir, "line": entry.line.decode()}
    except UnicodeDecodeError:
        return {"t": entry.t, "dir": entry.dir, "hex": entry.line.hex()}


def pieces(stream: bytes, size: int = 0, seed: int = 0) -> list[bytes]:
    """A stream in chunks of a size, or of random sizes (1 byte to 4 KiB, small ones most often) when it is 0."""
    if size:
        return [stream[start : start + size] for start in range(0, len(stream), size)]
    chance = random.Random(seed)  # noqa: S311 - not for secrets: the same seed must give the same chunks
    cut, start = [], 0
    while start < len(stream):
        end = start + chance.choice([1, 2, 7, 64, 512, 4096])
        cut.append(stream[start:end])
        start = end
    return cut


Mutation = Callable[[list[bytes], random.Random, int], list[bytes]]
OVERSIZE = 1 << 20
"""Bytes by which an oversized line grows, unless the caller has a limit to exceed."""


def mutate(lines: list[bytes], kind: str, seed: int, *, oversize: int = OVERSIZE) -> list[bytes]:
    """The lines, damaged in one way, at a place that the seed picks.

    - `drop`, `duplicate`, `reorder`, `late`: a line that is missing, comes twice, out of order, or after everything else.
    - `truncate`, `shorten`: a line that stops in its middle, and with it the conversation, or only the line.
    - `oversize`, `invalid-utf8`: a line that is too long by `oversize` bytes, or has bytes that are not UTF-8.
    - `noise`: a line that is not part of the protocol.
    """
    if not lines:
        return []
    return MUTATIONS[kind](list(lines), random.Random(f"{kind}:{seed}"), oversize)  # noqa: S311 - see `pieces`


def _drop(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    del lines[chance.randrange(len(lines))]
    return lines


def _duplicate(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    at = chance.randrange(len(lines))
    return [*lines[: at + 1], lines[at], *lines[at + 1 :]]


def _reorder(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return lines


def _truncate(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    """A line that stops in the middle, with everything after it: what a killed process leaves."""
    at = chance.randrange(len(lines))
    return [*lines[:at], lines[at][: chance.randrange(len(lines[at]) + 1)]]


def _shorten(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    """A line that stops in the middle, while the conversation goes on."""
    at = chance.randrange(len(lines))
    lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
    return lines


def _oversize(lines: list[bytes], chance: random.Random, by: int) -> list[bytes]:
    at = chance.randrange(len(lines))
    middle = lines[at].find(b'"') + 1
    lines[at] = lines[at][:middle] + b"x" * by + lines[at][middle:]
    return lines


def _invalid_utf8(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    at = chance.randrange(len(lines))
    middle = chance.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:middle] + chance.choice([b"\xff", b"\xc3", b"\xed\xa0\x80"]) + lines[at][middle:]
    return lines


def _late(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    """A line that comes after everything else: a result that no caller waits for any more."""
    lines.append(lines.pop(chance.randrange(len(lines))))
    return lines


def _noise(lines: list[bytes], chance: random.Random, _: int) -> list[bytes]:
    """A line that is not part of the protocol, as tools that print to the wrong place produce them."""
    at = chance.randrange(len(lines) + 1)
    line = chance.choice(
        [b"npm warn deprecated", b"", b"\x1b[32mready\x1b[0m", b"[]", b"null", b"{}", b'{"type":7}']
    )
    return [*lines[:at], line, *lines[at:]]


MUTATIONS: dict[str, Mutation] = {
    "drop": _drop,
    "duplicate": _duplicate,
    "reorder": _reorder,
    "truncate": _truncate,
    "shorten": _shorten,
    "oversize": _oversize,
    "invalid-utf8": _invalid_utf8,
    "late": _late,
    "noise": _noise,
}
