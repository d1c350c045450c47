"""docs/reference/flow-lints.md: every rule of `operable flow lint`, from its own page and descriptor."""

import sys

from operable.flow.manifest.lint import rule, rules
from operable.kernel.catalogue import to_module
from tools.markdown import table

PATH = "docs/reference/flow-lints.md"


def render() -> str:
    found = {name: rule(name) for name in rules()}
    lines = [
        "# Rules of operable flow lint",
        "",
        "Generated from `src/operable/flow/lints/` by `./dev fix`.",
        "",
        *table(
            ["rule", "level", "makes sure that"],
            [[f"[{name}](#{name})", entry.level, entry.summary] for name, entry in found.items()],
        ),
    ]
    for name in found:
        page = sys.modules[f"operable.flow.lints.{to_module(name)}"].__doc__ or ""
        lines += [
            "",
            f"## {name}",
            "",
            *(" ".join(part.split()) + "\n" for part in page.strip().split("\n\n")),
        ]
    return "\n".join(lines).rstrip() + "\n"
