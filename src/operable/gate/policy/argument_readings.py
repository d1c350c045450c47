"""What the values of a call may be, whatever their names: paths, command lines, addresses.

Each tool invents names for its arguments, and no list has all of them. Rules that deny or ask therefore also look at the
values: every short text may be a path or a command line, and every text may contain an address. Tools also divide one
thing into several arguments (`directory` and `filename`, `command` and `arguments`, `host` and `path`). The texts of one
object, and of the objects around it, are therefore joined in every order, up to three at a time.

Left out is what is content or is shown to people; the latter counts elsewhere (`operable.gate.policy.tool_call`). The work
is bounded: `too_many` names the readings that reached a bound, and what denies then applies.
"""

import re
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from itertools import chain, islice, permutations
from shlex import join
from typing import Any, Final

import msgspec

from operable.gate.policy.patch_files import patched
from operable.gate.policy.tool_arguments import is_decoration, is_text, lines_of, role_of
from operable.kernel.data_class import dataclass

_DEPTH, _VALUES = 8, 2_000
_TEXT: Final = 4_096  # the length of the longest path that Linux takes
_LONG: Final = 100_000  # of a text in which addresses are looked for
_JOINED, _LINES = 1_000, 300
_PARTS: Final = 8  # texts of one object that are joined three at a time; with more it is two
# An address, from the colon behind its scheme on. The parts are looked for one after the other: each character of a text is
# looked at a bounded number of times, whatever the agent writes.
_COLON: Final = re.compile(r"(?<=[A-Za-z0-9+.-]):[\t\r\n]*[/\\]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_SCHEME_LENGTH: Final = 64
_REST: Final = re.compile(r"""[^\s"'<>]*(?:[\t\r\n][^\s"'<>]+)*""")
_HOST: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:[/\\]+)?[^\s/\\]+[.:\u3002\uff0e\uff61][^\s]*")


@dataclass(slots=True)
class _Group:
    """The texts of one object: its single texts, its lists, and the single texts of the objects around it."""

    above: list[str]
    texts: list[tuple[str, str]] = field(default_factory=list)  # the name of the member, the text
    lists: list[tuple[str, list[str]]] = field(default_factory=list)


class ArgumentReadings:
    """Every reading of the values of some arguments, each kind worked out when a rule asks for it."""

    def __init__(self, *, has_contents: bool) -> None:
        self._has_contents = has_contents  # a call that changes no file has no text that is content
        self._groups: list[_Group] = []
        self._long: list[str] = []
        self._patched: list[str] = []  # files of patches, whatever their argument is called
        self._values = 0
        self.too_many: set[str] = set()

    def gather(self, arguments: Any) -> None:
        self._walk("", arguments, _Group([]), 0)

    # --- what they may be

    @cached_property
    def paths(self) -> list[str]:
        single = (text for group in self._groups for text in self._single(group))
        joined = (path for group in self._groups for path in self._joined_paths(group))
        limits = ((single, _VALUES), (joined, _JOINED), (iter(self._patched), _VALUES))
        return list(
            dict.fromkeys(path for found, limit in limits for path in self._bounded("paths", found, limit))
        )

    @cached_property
    def lines(self) -> list[str]:
        joined = (line for group in self._groups for line in _joined_lines(group))
        return list(dict.fromkeys(self._bounded("lines", joined, _LINES)))

    @cached_property
    def addresses(self) -> list[str]:
        if any(len(text) > _LONG for text in self._long):
            self.too_many.add("addresses")
        written = (address for text in self._long for address in _addresses_in(text[:_LONG]))
        single = (text for group in self._groups for text in self._single(group))
        joined = (
            address
            for group in self._groups
            for address in _joined_addresses([*group.above, *self._single(group)])
        )
        limits = ((written, _VALUES), (single, _VALUES), (joined, _JOINED))
        return list(
            dict.fromkeys(
                text for found, limit in limits for text in self._bounded("addresses", found, limit)
            )
        )

    def _bounded(self, what: str, found: Iterator[str], limit: int) -> list[str]:
        kept = list(islice(found, limit + 1))
        if len(kept) > limit:
            self.too_many.add(what)
        return kept

    # --- inside

    def _walk(self, name: str, value: Any, group: _Group, depth: int) -> None:
        self._values += 1
        if depth > _DEPTH or self._values > _VALUES:
            if isinstance(value, (dict, list)):
                self.too_many.update(("paths", "lines", "addresses"))
            return
        if isinstance(value, dict):
            self._walk_object(value, group, depth)
        elif isinstance(value, list):
            words = [item for item in value if isinstance(item, str) and _is_short(item)]
            if words and not _is_left_out(name, words):
                group.lists.append((name, words))
            for item in value:
                self._walk("", item, _Group([]) if isinstance(item, str) else group, depth + 1)
        elif isinstance(value, str):
            self._long.append(value)
            if "\n" in value and not self._is_text(name):
                self._patched += patched(value)
            self._walk_json(name, value, group, depth)
            if name and _is_short(value) and not _is_left_out(name, value):
                group.texts.append((name, value))

    def _walk_json(self, name: str, text: str, group: _Group, depth: int) -> None:
        """Some agents send arguments as the text of an object."""
        if len(text) > _LONG or text.lstrip()[:1] not in ("{", "[", '"'):
            return
        try:
            inner = msgspec.json.decode(text)
        except (msgspec.MsgspecError, UnicodeError):
            return
        self._walk(name, inner, group, depth + 1)

    def _is_text(self, name: str) -> bool:
        return self._has_contents and is_text(name)

    def _walk_object(self, value: dict[Any, Any], around: _Group, depth: int) -> None:
        group = _Group([*around.above, *(text for name, text in around.texts if not self._is_text(name))])
        self._groups.append(group)
        # A key may be the name of a file (`{".env": "new content"}`).
        keys = [
            key for key in value if isinstance(key, str) and _is_short(key) and _may_be_file(key, value[key])
        ]
        group.lists += [("", keys)] if keys else []
        inner = [(name, each) for name, each in value.items() if isinstance(each, (dict, list))]
        for name, each in value.items():
            if not isinstance(each, (dict, list)):
                self._walk(str(name), each, group, depth + 1)
        for name, each in inner:
            self._walk(str(name), each, group, depth + 1)

    def _single(self, group: _Group) -> list[str]:
        """The texts that are not content."""
        listed = [item for name, items in group.lists if not self._is_text(name) for item in items]
        return [*self._named(group), *listed]

    def _named(self, group: _Group) -> list[str]:
        return [text for name, text in group.texts if not self._is_text(name)]

    def _joined_paths(self, group: _Group) -> Iterator[str]:
        bases = [*group.above, *self._named(group)]
        lengths = (1, 2) if len(bases) <= _PARTS else (1,)
        for item in self._single(group):
            if item.startswith(("/", "~")):
                continue
            for length in lengths:
                for parts in permutations(bases, length):
                    if item not in parts:
                        yield "/".join((*parts, item))


def _addresses_in(text: str) -> Iterator[str]:
    at = 0
    while (colon := _COLON.search(text, at)) is not None:
        at = colon.end()
        scheme = _SCHEME.search(text, max(0, colon.start() - _SCHEME_LENGTH), colon.start())
        if scheme is not None and (rest := _REST.match(text, at)) is not None:
            at = rest.end()
            yield text[scheme.start() : at]


def _may_be_file(key: str, value: Any) -> bool:
    """Whether the name of a member may be that of a file: it looks so, or no list has it and a content is behind it."""
    if re.search(r"[/.~]", key):
        return True
    return isinstance(value, (str, dict, list)) and not (
        role_of(key) or is_text(key) or is_decoration(key, 0)
    )


def _is_short(text: str) -> bool:
    return 0 < len(text) <= _TEXT and bool(text.strip())


def _is_left_out(name: str, value: Any) -> bool:
    is_word = not isinstance(value, str) or re.fullmatch(r"[\w:|-]*", value) is not None
    return role_of(name) == "shown" or (is_word and is_decoration(name, value))


def _joined_addresses(texts: list[str]) -> Iterator[str]:
    """Every text that may be a host, before each of the others. Thousands of texts without a host cost one look each."""
    for place, base in enumerate(texts):
        if _HOST.match(base):
            rests = islice(texts, place), islice(texts, place + 1, None)
            yield from (f"{base.rstrip('/')}/{rest.lstrip('/')}" for rest in chain(*rests))


def _joined_lines(group: _Group) -> Iterator[str]:
    """Each text and each list of words as a command line, then a text with others behind it."""
    named = [(role_of(name), text) for name, text in group.texts]
    heads = [
        *group.above,
        *(text for role, text in named if role != "folder" or re.search(r"[;&|`$\n]", text)),
    ]
    # Some tools quote the words of a list, others give them to a shell as they are.
    listed = (line for _, items in group.lists for line in (join(items), " ".join(items)))
    rests = list(dict.fromkeys((*heads, *listed)))
    yield from (line for text in rests for line in lines_of(text))
    lengths = (1, 2) if len(rests) <= _PARTS else (1,)
    for head in heads:
        others = [rest for rest in rests if rest is not head]
        for length in lengths:
            for parts in permutations(others, length):
                yield " ".join((head, *parts))
