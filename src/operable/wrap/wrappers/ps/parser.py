"""Processes, from /proc. Nothing there is a line of text that a process could forge: the name in `stat` is in brackets
and is cut at the last one, arguments are cut at NUL bytes.
"""

from __future__ import annotations

import os

from operable.wrap.fields import base64, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_SHORT = 4096
_BATCH = 64


def processes(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    user, wanted = inputs.get("user"), set(inputs["pid"])
    numbers = sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())
    rows = []
    for pid in numbers:
        if (upstream.after is not None and pid <= upstream.after) or (wanted and pid not in wanted):
            continue
        event = _process(pid, full=inputs["full"])
        if event is not None and (user is None or event["uid"] == user):
            rows.append(event)
        if len(rows) == _BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def _process(pid: int, *, full: bool) -> dict[str, Any] | None:
    """One process; None when it has ended meanwhile."""
    place = f"/proc/{pid}"
    try:
        stat = _read(f"{place}/stat")
        line = _read(f"{place}/cmdline")
        uid = os.stat(place).st_uid
    except OSError:
        return None
    head, _, tail = stat.rpartition(b") ")
    fields = tail.split()
    event: dict[str, Any] = {"type": "process", "pid": pid, "ppid": int(fields[1]), "pgid": int(fields[2])}
    event |= {"sid": int(fields[3]), "uid": uid, "state": fields[0].decode("ascii")}
    put(event, "name", head.partition(b"(")[2])
    _arguments(event, line, full=full)
    event["threads"] = int(fields[17])
    event["rss_bytes"] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    event["virtual_bytes"] = int(fields[20])
    event["cpu_ms"] = (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")
    event["started_ticks"] = int(fields[19])
    return event


def _arguments(event: dict[str, Any], line: bytes, *, full: bool) -> None:
    shown = line if full else line[:_SHORT]
    event["argv_truncated"] = len(shown) < len(line)
    words = shown.split(b"\0")
    if not words[-1]:
        words.pop()  # the end of the last argument; kernel threads have none at all
    texts = [word.decode("utf-8", "replace") for word in words]
    if any(text.encode("utf-8") != word for text, word in zip(texts, words, strict=True)):
        event["argv_b64"] = [base64(word) for word in words]
    if not full:
        texts = _redacted(event, texts)
    event["argv"] = texts


def _redacted(event: dict[str, Any], texts: list[str]) -> list[str]:
    """Without what looks like a secret; the bytes are then left out too."""
    from operable.kernel.redact import redact_argv

    clean = redact_argv(texts) if texts else texts
    if clean != texts:
        event.pop("argv_b64", None)
    return clean


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        found = b""
        while chunk := file.read(65_536):
            found += chunk
        return found
