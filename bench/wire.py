r"""The cost of reading an AOI stream: prints each measured ratio beside its target.

Contestants take turns in rounds; a figure is the median over the rounds of the ratio within one round, in CPU time, so
that a busy machine disturbs all of them alike. `python bench/wire.py --quick` does a tenth of the work, which flatters
whatever starts fast.

- reading: decode + validate + judge a stream of 200-byte events, against `data.split(b"\n")` of the same bytes. Also
  against splitting the same 64 KiB chunks, which is dearer for us to be compared with: lines that are dropped at once
  are cheaper to make than lines that are kept.
- pipes: the same as whole processes that read a file on stdin, start of the interpreter included, against `jq -c .`.
- one long line: 16 MiB in 64 KiB chunks through the splitter, against joining the chunks.
- memory: the resident size of a process that reads 10 million events, after the first million and at the end.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from typing import NamedTuple

import msgspec

from operable.wire.aoi import Reader
from operable.wire.framework import Hit
from operable.wire.lines import LineSplitter

CHUNK = 64 * 1024  # what a pipe delivers in one read
BATCH = 320  # events in a generated chunk, about 64 KiB
ROUNDS = 9
TIMES = 10  # one pass over a long line is too short for the clock
MIB = 1024 * 1024


class Found(msgspec.Struct, tag_field="type", tag="hit", gc=False):
    """The event type of a caller who knows what to expect."""

    rank: int
    id: str
    title: str
    snippet: str = ""


class Row(NamedTuple):
    """One line of the table: a ratio, and the target it must not exceed if there is one."""

    what: str
    ratio: float
    target: float | None = None


def main() -> int:
    """Print the table; 1 when a target is missed."""
    scale = 10 if "--quick" in sys.argv[1:] else 1
    # First, in a small process: memory that something else has used and freed would hide growth.
    memory = _memory(10_000_000 // scale)
    events = 160_000 // scale
    data = b"".join(_stream(events))
    print(f"{len(data) / MIB:.0f} MiB of events, {len(data) // events} bytes each, {ROUNDS} rounds")
    rows = [*_reading(data), *_pipes(data), *_long_line(), *memory]
    width = max(len(row.what) for row in rows)
    print(f"{'':{width}}  measured    target")
    for row in rows:
        target = "-" if row.target is None else f"<= {row.target:g} x"
        print(f"{row.what:{width}}  {row.ratio:6.2f} x  {target:>8}")
    return int(any(row.target is not None and row.ratio > row.target for row in rows))


def _stream(count: int) -> Iterator[bytes]:
    """The chunks of a stream with this many events, made as they are asked for."""
    yield b'{"type":"aoi:meta","tool":"outline","aoi_version":"0.2","command":"search"}\n'
    for start in range(0, count, BATCH):
        yield b"".join(map(_event, range(start, min(start + BATCH, count))))
    yield b'{"type":"aoi:summary","ok":true,"count":%d}\n' % count


def _event(number: int) -> bytes:
    return (
        b'{"type":"hit","rank":%d,"id":"doc_%07d","title":"Agent-Operable Tools, page %05d",'
        b'"snippet":"A conforming tool exposes a stable machine mode that emits newline-delimited '
        b'JSON, and a summary."}\n'
    ) % (number, number, number % 100_000)


def _chunks(data: bytes) -> list[bytes]:
    return [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]


def _read(reader: Reader, chunks: list[bytes]) -> None:
    for chunk in chunks:
        reader.feed(chunk)
    verdict = reader.eof(0)
    if not verdict.ok:
        raise AssertionError(verdict.reason)


def _split(chunks: list[bytes]) -> None:
    splitter = LineSplitter()
    for chunk in chunks:
        splitter.feed(chunk)


def _compare(contestants: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """CPU seconds of each, round by round."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, run in contestants.items():
            before = time.process_time()
            run()
            times[name].append(time.process_time() - before)
    return times


def _ratio(times: dict[str, list[float]], name: str, reference: str) -> float:
    return median(a / b for a, b in zip(times[name], times[reference], strict=True))


def _reading(data: bytes) -> list[Row]:
    chunks = _chunks(data)
    times = _compare(
        {
            "split": lambda: data.split(b"\n"),
            "chunks": lambda: _split(chunks),
            "own": lambda: _read(Reader(types=(Found,)), chunks),
            "shape": lambda: _read(Reader(types=(Hit,)), chunks),
            "plain": lambda: _read(Reader(), chunks),
        }
    )
    return [
        Row("read, caller's type / split", _ratio(times, "own", "split"), 4),
        Row("read, framework's Hit / split", _ratio(times, "shape", "split"), 4),
        Row("read, untyped / split", _ratio(times, "plain", "split"), 4),
        Row("read, caller's type / split chunk by chunk", _ratio(times, "own", "chunks")),
        Row("read, untyped / split chunk by chunk", _ratio(times, "plain", "chunks")),
    ]


def _pipes(data: bytes) -> list[Row]:
    if shutil.which("jq") is None:
        print("jq is not installed: no comparison of processes")
        return []
    child = [sys.executable, "-I", __file__, "--child"]
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        times = _compare_processes(
            {"jq": ["jq", "-c", "."], "own": [*child, "own"], "plain": [*child, "plain"]}, file.name
        )
    return [
        Row("read, caller's type, process / `jq -c .`", _ratio(times, "own", "jq"), 0.2),
        Row("read, untyped, process / `jq -c .`", _ratio(times, "plain", "jq"), 0.2),
    ]


def _compare_processes(commands: dict[str, list[str]], path: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            with open(path, "rb") as stdin:
                subprocess.run(command, stdin=stdin, stdout=subprocess.DEVNULL, check=True, timeout=600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return times


def _child(kind: str) -> int:
    """What the compared process does: judge stdin."""
    reader = Reader(types=(Found,)) if kind == "own" else Reader()
    while chunk := os.read(0, CHUNK):
        reader.feed(chunk)
    return reader.eof(None).exit_code


def _long_line() -> list[Row]:
    chunks = _chunks(b"x" * (16 * MIB - 1) + b"\n")

    def join() -> None:
        for _ in range(TIMES):
            b"".join(chunks)

    def split() -> None:
        for _ in range(TIMES):
            _split(chunks)

    times = _compare({"join": join, "split": split})
    return [Row("one 16 MiB line in 64 KiB chunks / joining them", _ratio(times, "split", "join"), 2)]


def _memory(count: int) -> list[Row]:
    rows = []
    for name, reader in (("caller's type", Reader(types=(Found,))), ("untyped", Reader())):
        chunks = _stream(count)
        for chunk in islice(chunks, count // 10 // BATCH):
            reader.feed(chunk)
        early = _resident()
        for chunk in chunks:
            reader.feed(chunk)
        late = _resident()
        if reader.eof(0).counts.domain != count:
            raise AssertionError("events were lost")
        what = f"memory, {name}, after {count / 1e6:g} M events ({late} KiB) / after {count / 1e7:g} M"
        rows.append(Row(what, late / early, 1.05))
    return rows


def _resident() -> int:
    """KiB in memory now, not the highest ever."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


if __name__ == "__main__":
    sys.exit(_child(sys.argv[2]) if sys.argv[1:2] == ["--child"] else main())
