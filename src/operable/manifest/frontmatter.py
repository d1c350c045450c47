"""A Markdown file in two: the YAML between the first two lines `---`, and the text below. Bytes in, parts and problems out.
`render` is the way back, for tools that write manifests (imports, drafts, scaffolds).

What is refused, each with its line: bytes that are not UTF-8, a file or a frontmatter over its limit, no frontmatter, a
fence that is never closed. A byte order mark and Windows line ends are read past and noted. `yaml_tree` reads the YAML
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from operable.manifest.part import DocumentSource, FieldPosition, Path
from operable.manifest.problem import ManifestError, Problem
from operable.manifest.yaml_tree import read
from operable.wire.lines import split_lines

if TYPE_CHECKING:
    from operable.manifest.blocks import Block

# A manifest is written by people and read whole into memory; the largest known one has 40 kB.
FILE_LIMIT = 1_048_576
# Reading YAML with line numbers costs about 6 µs a byte: more than this is an attack, not a manifest.
FRONTMATTER_LIMIT = 262_144
_FENCE = "---"
_MARK = "\ufeff"


class Document(NamedTuple):
    """A Markdown file, read: its data, where each field is, and its text."""

    data: dict[str, object]
    lines: dict[Path, FieldPosition]
    body: str
    body_line: int
    """The line on which the body begins."""
    problems: tuple[Problem, ...]
    """Warnings; errors are raised."""


class Halves(NamedTuple):
    """The two parts of a text, not read yet."""

    yaml: str
    body: str
    body_line: int


def decode(raw: bytes, path: str, limit: int = FILE_LIMIT) -> str:
    """The text of a file; a ManifestError when it is too long or no UTF-8."""
    if len(raw) > limit:
        message = f"the file is longer than {limit} bytes"
        raise ManifestError(
            [Problem(path, 1, 1, "FILE_TOO_LARGE", message, "keep a manifest to what a host must know")]
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        lines, rest = split_lines(raw[: error.start])
        hint = (
            "it looks like UTF-16; save it as UTF-8"
            if raw[:2] in (b"\xff\xfe", b"\xfe\xff")
            else "save it as UTF-8"
        )
        raise ManifestError(
            [Problem(path, len(lines) + 1, len(rest) + 1, "NOT_UTF8", "this byte is not valid UTF-8", hint)]
        ) from error


def parse_document(text: str, path: str = "<text>", limit: int = FRONTMATTER_LIMIT) -> Document:
    """Read a whole text; a ManifestError has everything that is wrong with its form."""
    plain, notes = _tidied(text, path)
    halves = split(plain, path)
    if len(halves.yaml) > limit:
        message = f"the frontmatter is longer than {limit} characters"
        raise ManifestError([*notes, Problem(path, 1, 1, "FRONTMATTER_TOO_LARGE", message)])
    data, lines, problems = read(halves.yaml, DocumentSource(path, {}, FieldPosition(2, 1)))
    if any(problem.level == "error" for problem in problems):
        raise ManifestError([*notes, *problems])
    if not isinstance(data, dict):
        what = "is empty" if data is None else "is not a mapping of keys to values"
        problem = Problem(
            path, 2, 1, "FRONTMATTER_NOT_MAPPING", f"the frontmatter {what}", "write `key: value` lines"
        )
        raise ManifestError([*notes, problem])
    return Document(data, lines, halves.body, halves.body_line, (*notes, *problems))


def split(text: str, path: str = "<text>") -> Halves:
    """The frontmatter and the body of a text with plain line ends."""
    first, _, rest = text.partition("\n")
    if first.rstrip(" \t") != _FENCE:
        message = "the file has no frontmatter: its first line is not `---`"
        raise ManifestError([Problem(path, 1, 1, "FRONTMATTER_MISSING", message, "begin with a line `---`")])
    offset = 0
    for count, line in enumerate(rest.split("\n")):
        if line.rstrip(" \t") == _FENCE:
            return Halves(rest[:offset], rest[offset + len(line) + 1 :], count + 3)
        offset += len(line) + 1
    message = "the frontmatter that begins here is never closed"
    raise ManifestError([Problem(path, 1, 1, "FENCE_OPEN", message, "add a line `---` after it")])


def _tidied(text: str, path: str) -> tuple[str, list[Problem]]:
    notes = []
    if text.startswith(_MARK):
        text = text.removeprefix(_MARK)
        notes.append(
            Problem(path, 1, 1, "BYTE_ORDER_MARK", "the file begins with a byte order mark", level="warning")
        )
    if "\r\n" in text:
        line = text.count("\n", 0, text.index("\r\n")) + 1
        text = text.replace("\r\n", "\n")
        notes.append(Problem(path, line, 1, "LINE_ENDS", "lines end as on Windows (CRLF)", level="warning"))
    return text, notes


def render(value: Block | dict[str, Any], body: str = "") -> str:
    """The text of a manifest; `parse(render(value))` is the value. Fields that have their default are left out.

    `value` is a model, or plain values in the order to be written.
    """
    from io import StringIO

    import msgspec
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.default_flow_style = False
    # Never fold: a line of YAML is a line of the author.
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(msgspec.to_builtins(value, str_keys=True), text)
    return f"---\n{text.getvalue()}---\n{body}"
