"""The secret values that one session or one run knows: one registry, shared by all that shows or keeps what happened in it.

Theory of operation. Code that hands out or reads a secret adds it here first: vault, environment, key of a provider, login.
Log, audit, recorder and errors share the same object, so a value that becomes known late is masked from then on. All
spellings of `forms` are searched, and what `encodings` hide; where two overlap, everything that either covers is masked.
`StreamMask` does the same for a text that comes in pieces: it keeps back the end of a piece as long as that can be the
beginning of a secret.

Nothing is judged by its look here, so data without a known value is never changed. Values below four characters are
ignored: they would shred every text, and hide nothing from a guesser.
"""

from operable.kernel.redact.encodings import (
    LEVELS,
    LONGEST_UNIT,
    Views,
    as_bytes,
    begun,
    characters,
    decoded,
    is_encoded,
    may_continue,
)
from operable.kernel.redact.forms import forms, plain_forms
from operable.kernel.redact.names import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_ESCAPED_SIZE = (
    12  # of one character when it is escaped: `\\\\u007a`; longer ones are found in one piece only
)
_SHORTEST_DECODED = 6  # of a value without its escapes: a shorter one would be found in any encoded text
_NAMES = 1000  # names of members that are remembered as harmless; a program may print any number of them


class Known:
    """The registry. `add` may be called from any thread; it never shows its values."""

    __slots__ = (
        "_beginnings",
        "_forms",
        "_harmless",
        "_plain",
        "_plain_beginnings",
        "_shortest",
        "_values",
    )

    def __init__(self, values: "Iterable[str]" = ()) -> None:
        self._values: frozenset[str] = frozenset()
        self._forms: list[str] = []
        self._beginnings = _Beginnings()
        self._plain: list[str] = []  # byte texts, to look for behind encodings
        self._plain_beginnings = _Beginnings()
        self._harmless: frozenset[str] = frozenset()
        self._shortest = (
            0  # of all spellings: most texts of an event (kinds, ids) are shorter, and contain none
        )
        self.add(*values)

    def add(self, *values: str) -> None:
        """From now on these are masked. What is empty or known already changes nothing."""
        fresh = frozenset(value for value in values if value) - self._values
        if not fresh:
            return
        found = sorted({*self._forms, *forms(fresh)}, key=lambda form: (-len(form), form))
        plain = sorted({*self._plain, *_behind_encodings(fresh)})
        # Each is replaced whole: a reader in another thread sees the old list or the new one.
        self._values |= fresh
        self._harmless = frozenset()
        self._beginnings = _Beginnings(found)
        self._plain_beginnings = _Beginnings(plain)
        self._plain = plain
        self._shortest = min(map(len, (*found, *plain)), default=0)
        self._forms = found

    def __bool__(self) -> bool:
        return bool(self._forms)

    def __contains__(self, value: str) -> bool:
        return value in self._values

    def __repr__(self) -> str:
        return f"<Known {len(self._values)}>"

    def text(self, text: str) -> str:
        if len(text) < self._shortest:
            return text
        for form in self._forms:
            if form in text:
                break
        else:
            if not self._forms or not is_encoded(text) or not self._hidden(as_bytes(text)):
                return text
        return _covered(text, self._spans(text))

    def data(self, data: bytes) -> bytes:
        """The same for bytes of UTF-8, such as encoded JSON."""
        if len(data) < self._shortest or not self._forms:
            return data
        text = data.decode("utf-8", "surrogateescape")
        masked = self.text(text)
        return data if masked is text else masked.encode("utf-8", "surrogateescape")

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
        """Where known values are, in order, those that overlap joined."""
        found: list[tuple[int, int]] = []
        for form in self._forms:
            if form in text:
                found += _places(form, text)
        if is_encoded(text):
            hidden = _joined(self._hidden(as_bytes(text)))
            found += hidden if text.isascii() else characters(text, hidden)
        return _joined(found)

    def _hidden(self, text: str) -> list[tuple[int, int]]:
        """Where known values are behind the encodings of a byte text."""
        found: list[tuple[int, int]] = []
        for level, plain in enumerate(decoded(text), 1):
            places = [place for form in self._plain if form in plain for place in _places(form, plain)]
            if places:
                views = Views(text, level)
                found += [views.origin(*place) for place in places]
        return found

    def unfinished(self, text: str) -> int:
        """The start of the end of `text` that may begin a known value; the length of `text` if nothing does."""
        cut = self._beginnings.cut(text)
        window = max(0, len(text) - self._plain_beginnings.longest * _ESCAPED_SIZE - LONGEST_UNIT)
        end = text[window:]
        if not may_continue(end):
            return cut
        place = self._unfinished_hidden(as_bytes(end))
        return min(cut, window + characters(end, [(place, place)])[0][0])

    def _unfinished_hidden(self, text: str) -> int:
        """The same behind the encodings of a byte text."""
        views, cut = Views(text), len(text)
        for _ in range(LEVELS + 1):
            cut = min(cut, views.drop(begun(views.plain)))
            start = self._plain_beginnings.cut(views.plain)
            if start < len(views.plain):
                cut = min(cut, views.origin(start, start)[0])
            if not views.descend():
                break
        return cut


class _Beginnings:
    """The spellings by their first character."""

    __slots__ = ("_forms", "longest")

    def __init__(self, forms: "Iterable[str]" = ()) -> None:
        self._forms: dict[str, list[str]] = {}
        self.longest = 0
        for form in forms:
            self._forms.setdefault(form[0], []).append(form)
            self.longest = max(self.longest, len(form))

    def cut(self, text: str) -> int:
        """The start of the longest end of the text that begins a spelling; the length of the text if none does."""
        length = len(text)
        for start in range(max(0, length - self.longest + 1), length):
            for form in self._forms.get(text[start], ()):
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


def _behind_encodings(values: "Iterable[str]") -> "Iterator[str]":
    """What a decoded text has of these values; a value such as `a%41b` is then decoded with what is around it."""
    for form in map(as_bytes, plain_forms(values)):
        yield form
        if is_encoded(form):
            yield from (plain for plain in decoded(form) if len(plain) >= _SHORTEST_DECODED)


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


def _places(form: str, text: str) -> "Iterator[tuple[int, int]]":
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + 1)


def _joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, those that overlap joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
