"""Lines out of chunks: the one place where bytes become lines, for every protocol that is framed by LF.

Theory of operation. A chunk is searched once: what precedes its first LF completes the line whose beginning was kept,
what follows its last LF is kept for the next chunk. Kept pieces are joined only when their line ends, so a line that
arrives in many chunks costs one copy of its bytes; `rest + chunk` would copy everything again for each chunk (measured:
700 times the cost for 16 MiB in 64 KiB chunks). What was kept never exceeds the limit by more than the chunk in hand.

What is peculiar about a line has exactly one outcome here:

- longer than the limit (LF not counted): splitting ends. The lines before it are returned, `error` says which line it
  was, nothing of it or of what follows is delivered or kept, and `eof` raises `error` so that nobody can miss it. A
  protocol that has lost a line cannot trust the next one.
- CR before LF, NUL, a byte order mark, bytes that are no UTF-8: delivered as they are. Whether they are an offence is
  for the codec to say; `operable.wire.aoi` shows how.
- no LF at the end of the input: not a line; `eof` gives it back.
"""

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
