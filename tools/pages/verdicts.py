"""docs/reference/verdicts.md: every code that a verdict can have, and every note."""

import ast
from collections.abc import Iterator
from pathlib import Path

from operable.run.judge import CODES as HOST_CODES
from operable.wire.verdict import CODES
from tools.markdown import code, table

PATH = "docs/reference/verdicts.md"
SOURCE = Path(__file__).parents[2] / "src" / "operable"

NOTES = {
    "META_MISSING": "There is no `aoi:meta`.",
    "META_NOT_FIRST": "`aoi:meta` is not the first event.",
    "META_INCOMPLETE": "`aoi:meta` lacks a recommended field.",
    "META_ECHOES_ARGUMENTS": "`aoi:meta` seems to repeat arguments or environment, which may be secret.",
    "ERROR_INCOMPLETE": "An `aoi:error` lacks category, code, message or retryable.",
    "CATEGORY_UNKNOWN": "An error has a category that is not among the fourteen.",
    "CODE_NOT_UPPER_SNAKE": "An error code is not in upper snake case.",
    "CHECK_INCOMPLETE": "An `aoi:check` lacks name or ok.",
    "FRAMEWORK_NAME_UNPREFIXED": "A domain event has the name of a framework event.",
    "FRAMEWORK_TYPE_UNKNOWN": "An `aoi:` type that this version does not know.",
    "AOI_VERSION_UNKNOWN": "`aoi:meta` names an AOI version that this reader does not know. A doubt.",
    "COUNT_DIFFERS": "The summary of a success counts other results, warnings or errors than came. A doubt.",
    "ERRORS_BESIDE_OK": "The summary says ok and not partial, and the stream has errors. A doubt.",
    "DUPLICATE_KEYS": "An object has a key twice; the last value counts. A doubt.",
    "ENVIRONMENT_WITHHELD": "The tool was not given variables that say where its data or settings are.",
    "CRLF": "Lines end with CR LF.",
    "LAST_LINE_UNTERMINATED": "The last line has no line end, but is a complete object.",
    "NOT_VALIDATED": "The events were not checked against the tool's schema, and why.",
    "PROCESSES_LEFT": "Descendants outlived the tool and were ended with its process group.",
    "PROCESSES_ENDED": "Processes had left the tool's process group; `operable run`, `pipe` or `record` ended them.",
    "PROCESSES_SURVIVED": "Processes that the tool started could not be ended: of another user, or not interruptible.",
    "OUTPUT_HELD_OPEN": "A process outside the group kept the output open; the call did not wait for it.",
    "UNKILLABLE": "SIGKILL did not end the process in time; it was left behind.",
    "STDIN_UNREAD": "The tool did not read all of its input.",
}


def render() -> str:
    rows = [(code(name), outcome, reason) for name, (outcome, reason) in CODES.items()]
    host = [(code(name), outcome, reason) for name, (outcome, reason) in HOST_CODES.items()]
    return "\n".join(
        [
            "# Verdicts",
            "",
            "Generated from the source by `./dev fix`. How a verdict comes about:",
            "[how a stream is judged](../explain/how-a-stream-is-judged.md).",
            "",
            "## Codes",
            "",
            *table(("code", "outcome", "reason"), rows),
            "",
            "What only a caller that runs the process can say (`operable.run`):",
            "",
            *table(("code", "outcome", "reason"), host),
            "",
            "## Notes",
            "",
            "There is at most one note of each kind, at the first line that gave cause for it. A note changes no verdict,",
            "except where strict reading was asked for (`--strict`): there a doubt is `DOUBTFUL`, and so is",
            "`FRAMEWORK_NAME_UNPREFIXED`.",
            "",
            *table(("code", "meaning"), [(code(name), text) for name, text in NOTES.items()]),
            "",
        ]
    )


def missing() -> list[str]:
    """Notes of the source that this page does not have, and the other way round."""
    return sorted(set(_notes()) ^ NOTES.keys())


def _notes() -> Iterator[str]:
    """First arguments of what makes a note, and what the remarks of `wire.notes` begin with."""
    for path in [*SOURCE.glob("wire/*.py"), *SOURCE.glob("run/*.py"), SOURCE / "cli/call/relay.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Name(id="Note" | "_about_missing") | ast.Attribute(attr="_note" | "_remark"),
                    args=[ast.Constant(value=str(name)), *_],
                ):
                    yield name
                case ast.Yield(value=ast.Tuple(elts=[ast.Constant(value=str(name)), *_])) if (
                    path.stem == "notes"
                ):
                    yield name
