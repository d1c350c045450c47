"""The few forms of Markdown that the generated pages are made of."""

import re
from collections.abc import Iterable, Sequence

# A signature that is longer than this is written with one parameter a line.
_WIDTH = 96


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table; cells may contain any text, line breaks become `<br>`."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return lines


def cell(text: str) -> str:
    return text.strip().replace("|", "\\|").replace("\n", "<br>")


def code(text: str) -> str:
    """Inline code; inside a table too."""
    return f"`{text}`" if text else ""


def block(language: str, text: str) -> list[str]:
    return [f"```{language}", *text.strip("\n").splitlines(), "```"]


def paragraph(text: str) -> str:
    """A docstring's paragraph on one line."""
    return " ".join(text.split())


def sentences(text: str) -> str:
    """A docstring or a comment for a table cell: one line, from a capital (unless it begins with code) to a full stop."""
    text = paragraph(text)
    if re.match(r"[a-z]+[ ,]", text):
        text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?", ":")) else f"{text}."


def signature(name: str, parameters: Sequence[str], result: str) -> str:
    arrow = f" -> {result}" if result else ""
    short = f"{name}({', '.join(parameters)}){arrow}"
    if len(short) <= _WIDTH:
        return short
    inner = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{name}(\n{inner}){arrow}"
