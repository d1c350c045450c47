"""The secret values that one session or one run knows: one registry, shared by all that shows or keeps what happened in it.

Theory of operation. Whoever hands out or reads a secret adds it here first: vault, environment, key of a provider, login.
Log, audit, recorder and errors hold the same object, so a value that becomes known late is masked from then on. All
spellings of `forms` are searched; where two overlap, everything that either covers is masked. `StreamMask` does the same
for a text that comes in pieces: it keeps back the end of a piece as long as that can be the beginning of a secret.

Nothing is judged by its look here, so data without a known value is never changed. Values below four characters are
ignored: they would shred every text, and hide nothing from a guesser.
"""

from operable.kernel.redact.forms import forms
from operable.kernel.redact.names import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_NAMES = 1000  # names of members that are remembered as harmless; a program may print any number of them


class Known:
    """The registry. `add` may be called from any thread; it never shows its values."""

    __slots__ = ("_bytes", "_forms", "_harmless", "_longest", "_starts", "_values")

    def __init__(self, values: "Iterable[str]" = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._forms: list[str] = []
        self._bytes: list[bytes] = []
        self._starts: dict[str, list[str]] = {}
        self._longest = 0
        self._harmless: frozenset[str] = frozenset()
        self.add(*values)

    def add(self, *values: str) -> None:
        """From now on these are masked. What is empty or known already changes nothing."""
        fresh = frozenset(value for value in values if value) - self._values
        if not fresh:
            return
        found = sorted({*self._forms, *forms(fresh)}, key=lambda form: (-len(form), form))
        starts: dict[str, list[str]] = {}
        for form in found:
            starts.setdefault(form[0], []).append(form)
        # Each is replaced whole: a reader in another thread sees the old list or the new one.
        self._values |= fresh
        self._harmless = frozenset()
        self._starts = starts
        self._bytes = [form.encode("utf-8", "surrogatepass") for form in found]
        self._longest = len(found[0]) if found else 0
        self._forms = found

    def __bool__(self) -> bool:
        return bool(self._forms)

    def __contains__(self, value: str) -> bool:
        return value in self._values

    def __repr__(self) -> str:
        return f"<Known {len(self._values)}>"

    def text(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                return _covered(text, self._spans(text))
        return text

    def data(self, data: bytes) -> bytes:
        """The same for bytes of UTF-8, such as encoded JSON."""
        for form in self._bytes:
            if form in data:
                break
        else:
            return data
        text = data.decode("utf-8", "surrogateescape")
        return _covered(text, self._spans(text)).encode("utf-8", "surrogateescape")

    def value(self, value: "Any") -> "Any":
        """A copy of JSON data, names of members included. Without recursion: data may be deep."""
        if not self._forms:
            return value
        root = [value]
        waiting: list[Any] = [root]
        while waiting:
            holder = waiting.pop()
            for place, item in holder.items() if holder.__class__ is dict else enumerate(holder):
                if isinstance(item, str):
                    holder[place] = self.text(item)
                elif isinstance(item, dict):
                    holder[place] = self._renamed(item)
                    waiting.append(holder[place])
                elif isinstance(item, (list, tuple)):
                    holder[place] = list(item)
                    waiting.append(holder[place])
        return root[0]

    def stream(self) -> "StreamMask":
        return StreamMask(self)

    def _renamed(self, members: "dict[Any, Any]") -> "dict[Any, Any]":
        if self._harmless.issuperset(members):
            return dict(members)
        found: dict[Any, Any] = {}
        for name, item in members.items():
            shown = self.text(name) if isinstance(name, str) else name
            while shown in found:  # two secrets are two members still
                shown = f"{shown}'"
            found[shown] = item
        if found.keys() == members.keys() and len(self._harmless) + len(members) < _NAMES:
            self._harmless |= frozenset(members)
        return found

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where known values stand, in order, those that touch or overlap joined."""
        found: list[tuple[int, int]] = []
        for form in self._forms:
            start = text.find(form)
            while start >= 0:
                found.append((start, start + len(form)))
                start = text.find(form, start + 1)
        found.sort()
        joined: list[tuple[int, int]] = []
        for start, end in found:
            if joined and start < joined[-1][1]:
                if end > joined[-1][1]:
                    joined[-1] = joined[-1][0], end
            else:
                joined.append((start, end))
        return joined

    def unfinished(self, text: str) -> int:
        """Where the end of `text` begins that may be the beginning of a known value; its length when there is none."""
        length = len(text)
        for start in range(max(0, length - self._longest + 1), length):
            for form in self._starts.get(text[start], ()):
                if len(form) > length - start and form.startswith(text[start:]):
                    return start
        return length


class StreamMask:
    """Masks a text that comes in pieces, at whatever places it is cut."""

    __slots__ = ("_held", "_known")

    def __init__(self, known: Known) -> None:
        self._known = known
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown by now; the rest is kept until it is certain."""
        known = self._known
        if not known:
            return piece
        text = self._held + piece
        cut = known.unfinished(text)
        spans = known._spans(text)  # noqa: SLF001 - one mechanism in two classes
        for start, end in reversed(spans):
            if start < cut < end:
                cut = start
        self._held = text[cut:]
        return _covered(text[:cut], [span for span in spans if span[1] <= cut])

    def flush(self) -> str:
        """The rest: the text has ended here."""
        held, self._held = self._held, ""
        return self._known.text(held)

    @property
    def holds(self) -> bool:
        return bool(self._held)


def as_known(secrets: "Known | Iterable[str]") -> Known:
    """The registry itself, or a new one of these values."""
    return secrets if isinstance(secrets, Known) else Known(secrets)


def _covered(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += text[done:start], MASK
        done = end
    return "".join([*pieces, text[done:]])
