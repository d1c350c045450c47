"""docs/learn/pictures/: pictures of the terminal, drawn of the screens that tests/cli/test_screens.py keeps and compares."""

from html import escape
from pathlib import Path

PATH = "docs/learn/pictures/"
ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "tests/cli/screens/80.txt"
# name of the picture -> the words behind `operable`
SHOWN = {
    "start": "",
    "agents": "agent list",
    "wrappers": "wrap list",
    "check": "check stream.jsonl broken.jsonl",
    "flow": "flow apply workflow.json",
}
_MOST = 34  # lines of one picture; the last of more is an ellipsis
_COLUMN, _LINE, _MARGIN, _BAR = 8.43, 19, 16, 30
_STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6deeb;white-space:pre}"
    ".typed{fill:#7fdbca;font-weight:bold}.bad{fill:#ff8b8b}"
)


def render() -> dict[str, str]:
    kept = _screens()
    return {f"{name}.svg": _picture(words, kept[words]) for name, words in SHOWN.items()}


def _screens() -> dict[str, list[str]]:
    """What each command shows, without the line that says its status."""
    found = {}
    for page in ("\n\n" + SCREENS.read_text("utf-8")).split("\n\n$ operable")[1:]:
        head, _, text = page.partition("\n")
        found[head.strip()] = [line for line in text.splitlines() if not line.startswith("[status ")]
    return found


def _picture(words: str, lines: list[str]) -> str:
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], "…"]
    shown = [f"$ operable {words}".rstrip(), *lines]
    height = _BAR + _LINE * len(shown) + _MARGIN
    width = round(_COLUMN * 80 + 2 * _MARGIN)
    rows = [
        f'<text x="{_MARGIN}" y="{_BAR + _LINE * number}"{_kind(line, number)}>{escape(line)}</text>'
        for number, line in enumerate(shown, 1)
    ]
    title = escape(f"The terminal after: operable {words}".rstrip())
    circles = [f'<circle cx="{18 + 18 * place}" cy="16" r="5" fill="#4b5b70"/>' for place in range(3)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="{width}" height="{height}" role="img">',
            f"<title>{title}</title><style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0f1b2a"/>{"".join(circles)}',
            *rows,
            "</svg>\n",
        ]
    )


def _kind(line: str, number: int) -> str:
    if number == 1:
        return ' class="typed"'
    return ' class="bad"' if line.startswith(("operable: ", "  hint: ")) else ""
