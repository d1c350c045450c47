"""docs/reference/limits.md: every bound with its value from the source, and what happens when it is reached."""

import importlib

from tools.markdown import code, table

PATH = "docs/reference/limits.md"

# module -> constant -> (unit, what it bounds, how a caller or author changes it, what happens when it is reached)
LIMITS: dict[str, dict[str, tuple[str, str, str, str]]] = {
    "operable.tool.signature": {
        "DEFAULT_LIMIT": (
            "results",
            "a command that reads",
            "`--limit`; `limit=`",
            "`truncated`, with a cursor",
        ),
        "DEFAULT_TIMEOUT": ("s", "a finite command", "`--timeout`; `timeout=`", "error `TIMEOUT`, exit 124"),
        "MAX_PLAN": (
            "changes",
            "the plan of a mutation, and its input items",
            "`max_plan=`",
            "error `PLAN_TOO_LARGE`",
        ),
    },
    "operable.tool.run.intake": {
        "MAX_INPUT": ("bytes", "input that is held in memory", "", "error `INPUT_TOO_LARGE`, nothing done"),
    },
    "operable.tool.run.cursor": {
        "MAX_LENGTH": ("characters", "a cursor", "", "error `INVALID_CURSOR`"),
    },
    "operable.tool.run.idempotency": {
        "MAX_KEY": ("characters", "an idempotency key", "", "error `INVALID_VALUE`"),
        "KEEP_SECONDS": ("s", "how long a result is kept under its key", "", "it is forgotten"),
    },
    "operable.tool.interrupt": {
        "GRACE": ("s", "how long a stop may take to unwind", "", "the process ends regardless"),
        "APPLY_GRACE": (
            "s",
            "how long an effect in progress may take after a stop",
            "",
            "it is stopped like the rest",
        ),
    },
    "operable.tool.writer": {
        "BLOCK": ("bytes", "what is collected before a write", "", "it is written"),
        "LATEST": ("s", "how long a line may wait", "", "it is written"),
    },
    "operable.tool.supervision": {
        "GLANCE": ("s", "how often a quiet stream looks for a reader that left", "", ""),
    },
    "operable.wire.lines": {
        "LINE_LIMIT": (
            "bytes",
            "one line of a stream",
            "`limit=`",
            "violation `LINE_TOO_LONG`; nothing after it is read",
        ),
    },
    "operable.host.session.transport": {
        "INPUT_LIMIT": (
            "bytes",
            "what waits for an agent that does not read its input",
            "",
            "the agent is ended; error `input_not_read`",
        ),
    },
    "operable.host.session.answers": {
        "OPEN_CALLS": (
            "calls",
            "the calls of an agent that have begun and not ended",
            "",
            "the agent is ended; error `too_many_calls`",
        ),
        "OPEN_QUESTIONS": (
            "questions",
            "the questions of a session that wait for an answer",
            "",
            "the next one is denied, with the reason",
        ),
    },
    "operable.run.options": {
        "TIMEOUT": ("s", "a call", "`timeout=`", "the group is ended; `DEADLINE_EXCEEDED`"),
    },
    "operable.run.client": {
        "MAX_EVENTS": (
            "events",
            "what `collect` keeps",
            "`max_events=`",
            "the tool is ended; `EVENT_LIMIT_REACHED`",
        ),
    },
    "operable.run.chain": {
        "HIGH_WATER": (
            "bytes",
            "what waits between two stages, or for a slow consumer",
            "",
            "the producer is paused",
        ),
        "DOWNSTREAM_GRACE": ("s", "how long a stage without a reader may go on", "", "it is ended"),
    },
    "operable.run.cassette": {
        "LIMIT": (
            "bytes",
            "the output in a recording",
            "",
            "it is marked as truncated, and cannot be replayed",
        ),
    },
    "operable.proc.tree.escalation": {
        "INTERRUPT_GRACE": ("s", "from SIGINT to SIGTERM", "`graces=`", "SIGTERM"),
        "TERMINATE_GRACE": ("s", "from SIGTERM to SIGKILL", "`graces=`", "SIGKILL"),
        "KILL_GRACE": ("s", "after SIGKILL", "`graces=`", "it is left behind; note `UNKILLABLE`"),
        "DRAIN_GRACE": ("s", "reading what is left after the exit", "`graces=`", "note `OUTPUT_HELD_OPEN`"),
    },
    "operable.proc.excerpt": {
        "HEAD": ("bytes", "the beginning of stderr that is kept", "", "the middle is left out, and counted"),
        "TAIL": ("bytes", "the end of stderr that is kept", "", "the middle is left out, and counted"),
    },
    "operable.proc.run": {
        "TIMEOUT": ("s", "asking a tool for its schema or capabilities", "", "it counts as having none"),
        "LIMIT": ("bytes", "such an answer", "", "it counts as having none"),
    },
}
_BINARY = {1024**2: "MiB", 1024: "KiB"}


def render() -> str:
    rows = [
        (
            _amount(getattr(importlib.import_module(module), name), unit),
            what,
            change,
            reached,
            code(f"{module}.{name}"),
        )
        for module, constants in LIMITS.items()
        for name, (unit, what, change, reached) in constants.items()
    ]
    return "\n".join(
        [
            "# Limits",
            "",
            "Generated from the source by `./dev fix`. Every line, buffer, queue and wait has an end. Why, and why these",
            "values: [decision 0008](../decisions/0008-limits-and-their-defaults.md).",
            "",
            *table(("value", "bounds", "changed by", "when it is reached", "constant"), rows),
            "",
        ]
    )


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        for size, name in _BINARY.items():
            if value % size == 0:
                return f"{value // size} {name}"
    if unit == "s" and value >= 24 * 3600:
        return f"{value / 24 / 3600:g} days"
    return f"{value:,} {unit}" if isinstance(value, int) else f"{value:g} {unit}"
