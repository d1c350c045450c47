"""docs/reference/run.md: calling tools and judging them, from the signatures and docstrings of operable.run."""

from operable import run as package
from tools.api import section, undocumented

PATH = "docs/reference/run.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "Calling": ("call", "collect", "pages", "pipe", "CallOptions", "Call", "Collected", "Stage"),
    "Calling from asyncio": ("acall", "acollect", "apages", "apipe", "AsyncCall"),
    "Judging": ("check", "Verdict"),
    "Recording and playing back": ("record", "load", "replay", "exit_like"),
    "Comparing two releases": ("compare", "compare_tools", "Comparison"),
    "Further": ("Description", "Graces", "Fail"),
}
_OK = "Whether all stages are ok; a stage whose reader went away first counts as ok."
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "Call": {"": "with call(…) as running: …", "ok": _OK, "session": ""},
    "AsyncCall": {"": "async with acall(…) as running: …", "ok": _OK, "session": ""},
    "CallOptions": {
        "cwd": "The working directory of the tool; that of the caller when left out.",
        "accept_partial": "Whether partial results are good enough for `ok`.",
    },
    "Collected": {
        "ok": _OK,
        "stderr": "What the (last) tool wrote to its stderr: bounded, redacted.",
        "events": "All events, framework events included, in order.",
        "verdict": "The verdict on the whole.",
        "stages": "One result per process.",
    },
    "Stage": {
        "ok": "Whether the verdict is ok, or the stage is excused.",
        "argv": "The command line, with secrets masked.",
        "verdict": "The verdict on its stream.",
        "stderr": "What it wrote to stderr: bounded, redacted.",
        "elapsed": "Seconds from start to end.",
    },
    "Verdict": {
        "ok": "Whether the results can be used: success, or partial where that was accepted.",
        "outcome": "`success`, `partial`, `failed`, `interrupted`, `incomplete` or `violation`.",
        "code": "Why, as a [stable name](verdicts.md).",
        "reason": "Why, as a sentence.",
        "exit_status": "What the process ended with: negative for a signal, None when it is not known.",
        "meta": "The meta event, if there was one.",
        "summary": "The summary event, if there was one.",
        "last_error": "The last error event, if there was one.",
        "counts": "How many events, domain events, warnings and errors were read.",
        "notes": "Remarks that do not change the verdict.",
        "partial_accepted": "Whether the caller said that partial results are good enough.",
    },
    "Comparison": {
        "level": "`compatible`, `minor` or `breaking`.",
        "findings": "The reasons, worst first: `level`, `code`, `where`, `message`.",
        "old_version": "The schema version of the old one.",
        "new_version": "The schema version of the new one.",
    },
    "Description": {
        "schema": "The event schema.",
        "capabilities": "The capability manifest.",
        "notes": "Why one of them is missing.",
    },
    "Graces": {
        "interrupt": "After SIGINT.",
        "terminate": "After SIGTERM.",
        "kill": "After SIGKILL.",
        "drain": "For reading what is left in the pipes after the exit.",
    },
}


def render() -> str:
    lines = [
        "# operable.run",
        "",
        "Generated from the source by `./dev fix`. A path through it: [calling tools](../learn/calling-tools.md).",
        "",
        "Every name here is imported from `operable.run`.",
    ]
    for title, names in PARTS.items():
        lines += ["", f"## {title}", ""]
        for name in names:
            if name == "Fail":
                lines += ["### Fail", "", "The one structured error: see [operable.tool](tool.md#fail)."]
            else:
                lines += section("operable.run", name, TEXTS, level="###")
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


def missing() -> list[str]:
    """What this page does not explain."""
    documented = [name for names in PARTS.values() for name in names]
    found = [f"operable.run.{name}" for name in package.__all__ if name not in documented]
    return [*found, *undocumented("operable.run", [name for name in documented if name != "Fail"], TEXTS)]
