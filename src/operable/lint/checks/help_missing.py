"""No help, or no version, where callers look for it.

What it does
    Calls the tool with `--help` (MUST), `-h` and `--version` (SHOULD). Each must succeed and print something; the version
    must be the one in the capabilities.

Why is this bad?
    It is the one thing that works on every command line, and the first that people and models try.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.lint.check import Case, LintCheck, LintFinding
from operable.lint.evidence import Invocation, excerpt
from operable.lint.example import transcript


def _tool(case: Case) -> Iterator[LintFinding]:
    for flag in ("--help", "-h"):
        seen = case.observe(Invocation((flag,)))
        if seen.status != 0 or not seen.stdout.strip():
            text = f"{flag} prints no help on stdout: status {seen.status}"
            yield case.fail(text, seen, excerpt=excerpt(seen.stderr))
    seen = case.observe(Invocation(("--version",)))
    version = (case.plan.capabilities or {}).get("tool_version")
    text = seen.stdout.decode("utf-8", "replace")
    if seen.status != 0 or not text.strip():
        yield case.fail(f"--version prints nothing on stdout: status {seen.status}", seen, level="SHOULD")
    elif isinstance(version, str) and version not in text:
        yield case.fail(
            f"--version does not print {version}, which the capabilities give", seen, level="SHOULD"
        )


CHECK = LintCheck(
    name="help-missing",
    number=None,
    title="there is help, and a version",
    characteristics=("Discoverable",),
    level="MUST",
    section="16.1",
    passing=transcript("--help", "usage: notes COMMAND") + "\n" + transcript("--version", "notes 3.1.4"),
    failing=transcript("--help", "2> unknown option --help", "# exit 2"),
    hint="answer --help, -h and --version before anything else, on stdout, with exit status 0",
    tool=_tool,
    page=__doc__,
)
