"""A bounded memory of an unbounded stream of bytes: its beginning, its end, and how much is between.

The first lines of a diagnostic stream say what went wrong first, the last ones what ended the run; the middle is
repetition. Feeding costs amortised O(1) per byte, memory stays below head + 2 * tail, whatever the child writes.
"""

# A long Python traceback is about 8 KB and the tail of a build log about 30: both fit, and a thousand concurrent
# children that flood still cost the host no more than about 80 MB.
HEAD = 16 * 1024
TAIL = 32 * 1024


class Excerpt:
    """`feed` bytes of any amount; `text()` at any time."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= self._tail_limit:
            self._tail[:] = data[len(data) - self._tail_limit :]
            return
        self._tail += data
        # Cut only at twice the limit, so that small writes do not move the whole tail each time.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def omitted(self) -> int:
        """How many bytes between head and tail are not kept."""
        return max(0, self.total - len(self._head) - min(len(self._tail), self._tail_limit))

    def text(self) -> str:
        """What was kept, as text; a gap is one line that says its size. Bytes that are not UTF-8 show as U+FFFD."""
        kept = self._tail[max(0, len(self._tail) - self._tail_limit) :]
        if not self.omitted:
            return (self._head + kept).decode("utf-8", "replace")
        return (
            f"{self._head.decode('utf-8', 'replace')}\n[... {self.omitted} bytes left out ...]\n"
            + kept.decode("utf-8", "replace")
        )
