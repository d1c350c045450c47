"""A report with one finding of every kind, and with everything in it that a file format may choke on."""

from dataclasses import replace

from operable.lint.check import LintFinding
from operable.lint.engine import Report

PASSED = LintFinding("unverifiable-end", 3, ("Verifiable",), "list", "MUST", "pass", "fine", "4.1")
FAILED = replace(
    PASSED,
    command="create <&>",
    result="fail",
    message='a "name" & <tag>\x1b[31m \x00 \ud800 ]]>',
    reproduce="tool 'a\nb' < /dev/null",
    excerpt="{\x07}",
)


def report() -> Report:
    """One tool: of `create` two checks fail, one of them twice; advice, what is untested and what does not apply."""
    return Report(
        "notes",
        "/opt/my tools/notes",
        findings=[
            PASSED,
            FAILED,
            replace(FAILED, message="again"),
            replace(FAILED, check="unclean-stop", number=10),
            replace(FAILED, check="help-missing", number=None, command=None, level="SHOULD"),
            replace(PASSED, check="unclean-stop", number=10, result="untested", message="no \x00 signal"),
            replace(PASSED, check="repeated-effect", number=7, result="not_applicable"),
        ],
        elapsed=1.5,
        durations={("list", "3"): 0.25},
        began=1_800_000_000.0,
        commands=["list", "create <&>"],
    )
