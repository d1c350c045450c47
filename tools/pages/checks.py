"""docs/reference/checks.md: every check of the linter, from its own page, descriptor and examples."""

import textwrap

from operable.lint.check import LintCheck
from operable.lint.engine import checks
from tools.markdown import block, table

PATH = "docs/reference/checks.md"


def render() -> str:
    known = checks()
    lines = [
        "# Checks of aoi-lint",
        "",
        "Generated from `src/operable/lint/checks/` by `./dev fix`. `aoi-lint explain N` shows the same.",
        "Numbers are those of section 18.2 of the specification; checks without a number look for what it does not number.",
        "",
        *table(
            ["check", "name", "finds out whether", "characteristics", "level", "section"],
            [
                [
                    check.label if check.number is not None else "",
                    f"[{check.name}](#{check.name})",
                    check.title,
                    ", ".join(check.characteristics),
                    check.level,
                    check.section,
                ]
                for check in known
            ],
        ),
    ]
    for check in known:
        lines += _entry(check)
    return "\n".join(lines) + "\n"


def _entry(check: LintCheck) -> list[str]:
    first, *parts = check.page.strip().split("\n\n")
    number = f"Check {check.number}" if check.number is not None else "A further check"
    head = f"{number}, {check.level}, section {check.section}: {', '.join(check.characteristics)}."
    lines = ["", f"## {check.name}", "", f"{first.strip()} {head}", ""]
    for part in parts:
        heading, _, text = part.partition("\n")
        lines += [f"**{heading.strip()}** {' '.join(textwrap.dedent(text).split())}", ""]
    lines += [
        "Passes:",
        "",
        *block("text", check.passing),
        "",
        "Fails:",
        "",
        *block("text", check.failing),
        "",
    ]
    return [*lines, f"To fix it: {check.hint}."]
