"""One call of an agent-operable command: from arguments to a command line, from a judged stream to an outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from operable.agent.ability import Outcome, Scene
from operable.kernel.errors import Fail
from operable.proc.ladder import Graces
from operable.run.client import Call, call
from operable.wire.framework import Error, Meta, Progress, Summary, encode

_TIMEOUT = 300.0
_EVENTS = 2_000  # more does not fit into what the model gets
_STDERR = 2_000  # characters; what a tool says that cannot say it in its stream
_GRACES = Graces(interrupt=0.2, terminate=0.2)


class _ArgumentError(ValueError):
    """The model gave something that cannot be said on this command line."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a command is called."""

    words: tuple[str, ...]
    command: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cli: Mapping[str, str]  # argument -> "--option", or the name of an operand
    takes_items: bool = False
    needs_confirm: bool = False


def run_command(spelling: Spelling, given: Mapping[str, Any], scene: Scene) -> Outcome:
    """Run it and wait. A call that would need a confirmation and has none is a dry run."""
    planned = spelling.needs_confirm and not given.get("confirm") and not given.get("dry-run")
    if planned:
        given = {**given, "dry-run": True}
    try:
        argv, stdin = _argv(spelling, given)
        running = call(
            argv,
            stdin=stdin,
            env=spelling.env,
            cwd=scene.workspace,
            timeout=_TIMEOUT,
            tool=spelling.words,
            graces=_GRACES,
        )
        lines = _collected(running, scene)
    except (_ArgumentError, Fail) as problem:
        return Outcome(str(problem), ok=False)
    verdict = running.verdict
    heading = [] if verdict.ok else [f"{verdict.outcome}: {verdict.reason}"]
    if planned and verdict.ok and verdict.summary is not None:
        digest = verdict.summary.plan_digest or "true"
        heading.append(f"Nothing was done yet. This is the plan; to do it, call again with confirm={digest}")
    if not verdict.ok and verdict.last_error is None and running.stderr:
        lines.append(running.stderr[-_STDERR:])
    return Outcome("\n".join([*heading, *lines]), ok=verdict.ok)


def _collected(running: Call, scene: Scene) -> list[str]:
    lines: list[str] = []
    left_out = 0
    with running, scene.cancellation.waking(running.cancel):
        for event in running:
            if isinstance(event, Meta | Progress):
                continue
            if len(lines) < _EVENTS or isinstance(event, Summary | Error):
                lines.append(encode(event).decode().strip())
            else:
                left_out += 1
    if left_out:
        lines.append(f"({left_out} more events were left out; use limit and cursor)")
    return lines


def _argv(spelling: Spelling, given: Mapping[str, Any]) -> tuple[list[str], bytes | None]:
    options, operands = [], []
    stdin = _items(given["items"]) if spelling.takes_items and "items" in given else None
    if stdin is not None:
        options += ["--input-jsonl", "-"]
    unknown = sorted(set(given) - set(spelling.cli) - ({"items"} if spelling.takes_items else set()))
    if unknown:
        raise _ArgumentError(f"unknown argument {unknown[0]} (known: {', '.join(spelling.cli)})")
    # In the order of the tool's own schema, because that is the order of its operands.
    for name, cli in spelling.cli.items():
        values = given.get(name)
        for value in values if isinstance(values, list) else [values]:
            if not cli.startswith("--"):
                operands += [] if value is None else [_word(name, value)]
            elif value is True:
                options.append(cli)
            elif value is not None and value is not False:
                options.append(f"{cli}={_word(name, value)}")
    return [*spelling.words, *spelling.command, *options, "--output", "jsonl", "--", *operands], stdin


def _word(name: str, value: Any) -> str:
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if "\0" in text:
        raise _ArgumentError(f"{name} has a NUL in it")
    return text


def _items(items: Any) -> bytes:
    if not isinstance(items, list):
        raise _ArgumentError("items is a list")
    return b"".join(msgspec.json.encode(item) + b"\n" for item in items)
