"""Lines out of chunks: the one place where bytes become lines, for every protocol that is framed by LF.

Theory of operation. A chunk is searched once: what precedes its first LF completes the line whose beginning was kept,
what follows its last LF is kept for the next chunk. Kept pieces are joined only when their line ends, so a line that
arrives in many chunks costs one copy of its bytes; `rest + chunk` would copy everything again for each chunk (measured:
700 times the cost for 16 MiB in 64 KiB chunks). What was kept never exceeds the limit by more than the chunk in hand.

What is peculiar about a line has exactly one outcome here:

- longer than the limit (LF not counted): splitting ends. The lines before it are returned, and `error` says which
  line it was. Nothing of it or after it is delivered or kept, and `eof` raises `error`, so that no caller can miss it. A
  protocol that has lost a line cannot trust the next one.
- CR before LF, NUL, a byte order mark, bytes that are not UTF-8: delivered as they are. Whether they are an offence is
  for the codec to say; `operable.wire.aoi` shows how.
- no LF at the end of the input: not a line; `eof` gives it back.

`SkippingSplitter` is for servers, whose peers go on after a line that is too long and wait for an answer to it.
`BlockSplitter` is for callers that pass lines on without looking at each. `split_lines` and `first_line` are
for bytes that are all there. Lines of a file that are found by their place are `operable.state.line_file`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes. Far above any sensible event, far below what would hurt the host; what is larger belongs in a file."""

_MERGE_AT = 1024
"""Kept pieces are merged by this many, so that a line that arrives byte by byte is not kept as millions of objects."""

_join = b"".join


class LineTooLong(ValueError):  # noqa: N818 - says what is wrong, like the built-in exceptions of its kind
    """The peer's fault: a line is longer than the limit."""

    def __init__(self, line: int, limit: int) -> None:
        super().__init__(f"line {line} is longer than {limit} bytes")
        self.line = line
        self.limit = limit


class LineSplitter:
    """Feed it chunks, get complete lines without their LF."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        if limit < 1:
            raise ValueError("the limit of a line is at least one byte")
        self.limit = limit
        self.lines = 0
        """How many lines were delivered; the next one has the number `lines + 1`."""
        self.error: LineTooLong | None = None
        self._merged: list[bytes] = []
        self._pieces: list[bytes] = []
        self._kept = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, in order."""
        if self.error is not None:
            return []
        # `find` is a vectorised search and `split` is not: in the middle of a long line this alone keeps the cost near
        # that of joining it. Where there are lines, it stops at the first one and costs nothing.
        if chunk.find(b"\n") < 0:
            self._keep(chunk)
            return []
        lines = chunk.split(b"\n")
        rest = lines.pop()
        may_exceed = self._kept + len(chunk) > self.limit
        if self._kept:
            self._pieces.append(lines[0])
            lines[0] = self._take()
        if may_exceed:
            lines = self._within_limit(lines)
        self.lines += len(lines)
        if self.error is None:
            self._keep(rest)
        return lines

    def fits(self, chunk: bytes) -> bool:
        """Whether no line can be too long after this chunk."""
        return self._kept + len(chunk) <= self.limit

    def eof(self) -> bytes | None:
        """What follows the last LF, if anything. Raises `LineTooLong` if there was such a line."""
        if self.error is not None:
            raise self.error
        return self._take() if self._kept else None

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._kept += len(piece)
        if self._kept > self.limit:
            self._forget()
            self.error = LineTooLong(self.lines + 1, self.limit)
            return
        self._pieces.append(piece)
        if len(self._pieces) == _MERGE_AT:
            self._merged.append(_join(self._pieces))
            self._pieces.clear()

    def _take(self) -> bytes:
        line = _join([*self._merged, *self._pieces])
        self._forget()
        return line

    def _forget(self) -> None:
        self._merged.clear()
        self._pieces.clear()
        self._kept = 0

    def _within_limit(self, lines: list[bytes]) -> list[bytes]:
        for index, line in enumerate(lines):
            if len(line) > self.limit:
                self.error = LineTooLong(self.lines + index + 1, self.limit)
                return lines[:index]
        return lines


class SkippingSplitter:
    """Feed it chunks, get complete lines without their LF. A line that is too long is its error; the next lines follow."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.limit = limit
        self._splitter = LineSplitter(limit)
        self._skipping = False  # inside the rest of a line that was too long

    def feed(self, chunk: bytes) -> Iterator[bytes | LineTooLong]:
        """The lines that this chunk completes, and the error of a line as soon as it is too long."""
        if not self._skipping and self._splitter.fits(chunk):
            yield from self._splitter.feed(chunk)
            return
        start = 0
        while start < len(chunk):  # at most one line each, so that it is known what to skip
            end = chunk.find(b"\n", start) + 1 or len(chunk)
            piece, start = chunk[start:end], end
            if not self._skipping:
                yield from self._splitter.feed(piece)
                if self._splitter.error is None:
                    continue
                yield self._splitter.error
                before, self._splitter = self._splitter, LineSplitter(self.limit)
                self._splitter.lines = before.lines + 1
            self._skipping = not piece.endswith(b"\n")

    def eof(self) -> bytes | None:
        """What follows the last LF, if anything that is not too long."""
        return self._splitter.eof()


class BlockSplitter:
    """Feed it chunks, get blocks of complete lines with their LF. `too_long` is set if a line is too long."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.limit = limit
        self.too_long = False
        """Nothing is kept of that line. Which one it is has to be counted by a caller who wants to know."""
        self._pieces: list[bytes | memoryview] = []
        self._kept = 0

    def feed(self, chunk: bytes) -> bytes:
        """Everything up to the last LF of this chunk, b"" if it has none."""
        end = chunk.rfind(b"\n") + 1
        block = b""
        if end and self._kept:
            self._pieces.append(memoryview(chunk)[:end])
            block = self.eof()
        elif end:
            block = chunk[:end]
        self._kept += len(chunk) - end
        if self._kept > self.limit:
            self.too_long = True
            self._pieces = []
        elif self._kept and not self.too_long:
            self._pieces.append(chunk[end:])
        return block

    def eof(self) -> bytes:
        """What follows the last LF."""
        rest = _join(self._pieces)
        self._pieces, self._kept = [], 0
        return rest


def split_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """The complete lines without their LF, and what follows the last one."""
    *lines, rest = data.split(b"\n")
    return lines, rest


def first_line(data: bytes) -> bytes:
    """Everything before the first LF, or all of it."""
    return data.partition(b"\n")[0]
