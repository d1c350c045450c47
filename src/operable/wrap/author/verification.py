"""The tests of a wrapper: the examples of its TOOL.md files, run for real and judged like any call of a tool.

Every command needs one. An example of a command that changes things is run as a dry run, so nothing is changed by looking.
What comes out is held to the schema of the command. A draft whose tests pass is one no longer: `mark` says so in its CLI.md.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from typing import NamedTuple

from operable.kernel.errors import EX_CANTCREAT, Fail
from operable.state.atomic import advise, write_whole
from operable.state.paths import VARIABLES
from operable.wrap.places import MARKER, invalid
from operable.wrap.tools import WrappedTool

_MAIN = "import sys; from operable.wrap.front import main; main(sys.argv[1], sys.argv[2:])"
_TIMEOUT = 120.0
_MARK = re.compile(r"(?P<key>\bunverified:[ \t]*)true\b")


class Tried(NamedTuple):
    """One example. `code` is that of the verdict; `reason` says what was wrong."""

    command: str
    example: str
    ok: bool
    code: str
    reason: str


def tried(tool: WrappedTool) -> Iterator[Tried]:
    """Run every example in the current directory."""
    for command in tool.plan.commands.values():
        if not command.examples:
            yield Tried(command.name, "", ok=False, code="NO_EXAMPLE", reason="it has no example with a note")
        for example in command.examples:
            yield _run(tool, command.name, example, changes=command.mutates)


def _run(tool: WrappedTool, command: str, example: str, *, changes: bool) -> Tried:
    from operable.proc.run import output
    from operable.proc.spawn import prepare
    from operable.run import check
    from operable.tool.discovery.commands import schema_document

    words = [word for word in shlex.split(example) if word != "--confirm"]
    words += (
        ["--output=jsonl"] if not any(word.startswith(("--output", "--format")) for word in words) else []
    )
    words += ["--dry-run"] if changes and "--dry-run" not in words else []
    inherit = ("OPERABLE_*", *VARIABLES, *tool.plan.env_pass)
    prepared = prepare([sys.executable, "-P", "-c", _MAIN, tool.name, *words], inherit=inherit)
    try:
        done = output(prepared, timeout=_TIMEOUT)
    except Fail as failure:
        return Tried(command, example, ok=False, code=failure.code, reason=failure.message)
    verdict = check([done.stdout], exit_status=done.status, schema=schema_document(tool, tool.schema_version))
    # The tool's own message helps the author more than a bare failure.
    reported = None if verdict.ok or verdict.last_error is None else verdict.last_error.message
    reason = f"{verdict.reason} {reported}" if reported else verdict.reason
    return Tried(command, example, ok=verdict.ok, code=verdict.code, reason=reason)


def mark(tool: WrappedTool) -> str:
    """Take the mark of a draft out of its CLI.md; the path of that."""
    path = os.path.join(tool.plan.folder, MARKER)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changed, count = _MARK.subn(r"\g<key>false", text, count=1)
        if not count:
            raise invalid(path, "it has no mark of a draft")
        write_whole(path, changed.encode(), private=False)
    except OSError as problem:
        raise Fail(
            "io",
            "CANNOT_WRITE",
            f"cannot write {path}: {problem.strerror}",
            target=path,
            hint=advise(problem, "move the wrapper to another disk"),
            exit_code=EX_CANTCREAT,
        ) from problem
    return path
