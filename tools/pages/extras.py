"""docs/reference/extras.md: what each extra adds, and which commands need one. Made of what a run of the wheel kept."""

import json
from pathlib import Path

from tools.markdown import table

PATH = "docs/reference/extras.md"
_KEPT = Path(__file__).parents[2] / "tests" / "package" / "matrix.json"


def render() -> str:
    kept = json.loads(_KEPT.read_text("utf-8"))
    base = kept["environments"][""]
    needing = [(name, word.split()[1]) for name, word in kept["bare"].items() if word != "works"]
    lines = [
        "# Extras",
        "",
        "Generated from `tests/package/matrix.json` by `./dev fix`. `python -m tests.package` builds the wheel, installs it",
        "bare and with each extra, runs every command, and keeps what it saw; each test run compares. Sizes are those of",
        f"installed files on Linux with Python {kept['python']}, without bytecode.",
        "",
        "## Sizes",
        "",
        *table(
            ("extra", "packages", "MB", "MB above the base"),
            [_row(extra, facts, base) for extra, facts in kept["environments"].items()],
        ),
        "",
        "Clouds (`e2b`, `modal`, `daytona`, `blaxel`) bring 30 to 110 MB each.",
        "",
        f"`import operable.tool` took {kept['import_ms']} ms in the bare environment, and loads the standard library only.",
        "",
        "## Commands that need an extra",
        "",
        f"Of {len(kept['bare'])} calls, which are at least one of every command, {len(kept['bare']) - len(needing)} work",
        "in the bare install. These end with `EXTRA_MISSING` and status 78 until the extra is installed:",
        "",
        *table(("call", "extra"), [(f"`operable {name}`", f"`{extra}`") for name, extra in needing]),
    ]
    return "\n".join(lines) + "\n"


def _row(extra: str, facts: dict[str, int], base: dict[str, int]) -> tuple[str, ...]:
    above = facts["megabytes"] - base["megabytes"]
    return f"`{extra}`" if extra else "none", str(facts["packages"]), str(facts["megabytes"]), str(above)
