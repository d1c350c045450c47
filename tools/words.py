"""The words that our texts avoid: `python -m tools.words`, part of `./dev check`.

It reads docstrings, comments and string literals of the sources, and all of the documentation, without importing a module.
`tools/words.toml` lists each word or pattern with what to write instead, and the few paths that it does not read. Names in
code are `tools.shape`'s part. A literal without a space is a name, a wire field or an event, and is not read either.

Generated pages are not read: their sentences are in the sources that they come from.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tools" / "words.toml"
PLACES = (
    "src",
    "tools",
    "examples",
    "docs",
    "dev",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
# A name of the code, or a word that a program reads.
NAME = re.compile(r"`[^`\s]+`")
# A comment has two spaces or nothing but spaces before it, and a space behind it: so no colour and no URL is one.
COMMENT = re.compile(r"(?:^|  )[ \t]*#:? (.*)$")


@dataclass(frozen=True, slots=True)
class Avoided:
    """One word or pattern, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a word is used that the list names."""

    path: str
    line: int
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: “{self.word}”: write {self.instead}"


@dataclass(frozen=True)
class WordList:
    """What `tools/words.toml` says."""

    avoided: tuple[Avoided, ...]
    exempt: tuple[str, ...]
    quoted: tuple[str, ...]

    @classmethod
    def read(cls, path: Path = LIST) -> "WordList":
        document = tomllib.loads(path.read_text("utf-8"))
        return cls(
            tuple(Avoided(compiled(each["find"]), each["write"]) for each in document["avoid"]),
            tuple(each["path"] for each in document.get("exempt", ())),
            tuple(each["text"] for each in document.get("quoted", ())),
        )

    @cached_property
    def any_word(self) -> re.Pattern[str]:
        """Any of the patterns: most texts contain none, and are then searched once."""
        return re.compile("|".join(each.pattern.pattern for each in self.avoided), re.IGNORECASE)

    def hits(self, root: Path = ROOT) -> Iterator[Hit]:
        for path in files(root):
            name = path.relative_to(root).as_posix()
            if not name.startswith(self.exempt):
                yield from self.hits_in(name, path.read_text("utf-8"))

    def hits_in(self, name: str, source: str) -> Iterator[Hit]:
        """Each hit of one file, in the order of its lines."""
        whole = [(1, source)] if name.endswith(".md") else [*strings(source), *comments(source)]
        texts = [(line, self.own_words(text)) for line, text in whole]
        found = [
            Hit(name, line + text[: match.start()].count("\n"), " ".join(match[0].split()), each.instead)
            for line, text in texts
            if self.any_word.search(text)
            for each in self.avoided
            for match in each.pattern.finditer(text)
        ]
        yield from sorted(found, key=lambda hit: hit.line)

    def own_words(self, text: str) -> str:
        """The text without names and quotations, every line in its place."""
        for quotation in self.quoted:
            text = text.replace(quotation, "_")
        return NAME.sub("_", text)


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern between word boundaries, in any case, where a space also stands for the end of a line."""
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)".replace(" ", r"\s+"), re.IGNORECASE)


def files(root: Path = ROOT) -> Iterator[Path]:
    """Every file that is read, except what tests of an example contain and what is generated."""
    written = generated(root)
    for place in PLACES:
        below = root / place
        found: Iterable[Path] = sorted(below.rglob("*")) if below.is_dir() else [below]
        for path in found:
            inside = path.relative_to(root)
            if path.suffix not in {".py", ".md"} and inside.name != "dev":
                continue
            if path.is_file() and "tests" not in inside.parts and inside not in written:
                yield path


def generated(root: Path = ROOT) -> set[Path]:
    """The pages that `tools.generate` writes: each module of `tools/pages` names its own."""
    named = re.compile(r'^PATH = "(.+)"$', re.MULTILINE)
    pages = (root / "tools" / "pages").glob("*.py")
    return {Path(match[1]) for page in pages if (match := named.search(page.read_text("utf-8")))}


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings and other literals that contain a space, each with its line; what is filled in is `{}`."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        text = ""
        match node:
            case ast.Constant(value=str() as text):
                pass
            case ast.JoinedStr(values=values):
                text = "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in values)
                waiting += [each for each in values if not isinstance(each, ast.Constant)]
            case _:
                waiting += ast.iter_child_nodes(node)
        if " " in text and isinstance(node, ast.Constant | ast.JoinedStr):
            yield node.lineno, text


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments, each with its line: lines of comments below each other are one text."""
    block: list[str] = []
    lines = source.split("\n")
    for number, line in enumerate([*lines, ""], 1):
        match = COMMENT.search(line)
        whole = match is not None and line.lstrip().startswith("#")
        if block and not whole:
            yield number - len(block), "\n".join(block)
            block = []
        if match and whole:
            block.append(match[1])
        elif match:
            yield number, match[1]


def main() -> int:
    hits = list(WordList.read().hits())
    print(*hits, sep="\n", end="\n" if hits else "")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
