"""`operable call`: from a name and a JSON object to a call of the catalog, and from what it gave to events.

The plan finds the command and checks the arguments; nothing of the thing itself runs but its description. The call is the
second phase: free without a policy file, judged and recorded with one, as every call of a person at the command line.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from operable.cli.catalog.events import CallEntry
from operable.gate.call import DESTROY, person
from operable.kernel.errors import Fail
from operable.offer.result import remove
from operable.serve.catalog import catalog
from operable.serve.catalog_call import CatalogCall, catalog_call, find_command
from operable.state.paths import policy_path
from operable.tool import Change, Context, Warn
from operable.tool.run.context import foreign_error

if TYPE_CHECKING:
    from operable.offer.action import Result

_INPUT_LIMIT = 10 * 1024 * 1024  # bytes; the schema of the command bounds what it takes far earlier
Work = Callable[[Context], "Result"]


def planned_call(name: str, given: str | None, workspace: str) -> Change[Work]:
    """What would be called, with what, and what that may do. Raises Fail for what cannot be called like this."""
    kind, _, rest = name.partition("/")
    if "/" not in rest:
        message = f"{name[:100]!r} is not KIND/NAME/COMMAND"
        raise Fail("usage", "CALL_NAME_INVALID", message, target=name[:100], hint="operable catalog")
    folder = os.path.realpath(workspace)
    arguments = _object(given)

    async def made() -> CatalogCall:
        found = await asyncio.to_thread(lambda: list(catalog(folder, only=(kind,))))
        operable, command = find_command(found, kind, rest)
        return await catalog_call(operable, command, arguments, person(), workspace=folder)

    call = asyncio.run(made())
    shown = call.gated.shown()
    return Change(
        "call",
        call.gated.tool,
        command=shown["command"],
        arguments=shown["arguments"],
        effect=call.gated.effect,
        needs_confirm=call.gated.effect == DESTROY,
        digest=call.gated.digest,
    ).carry(lambda context: asyncio.run(_called(call, context)))


def told(result: Result, context: Context) -> Iterator[CallEntry | Warn]:
    """The results, all of them, and what was wrong; a call that failed is a failure of the command."""
    try:
        context.applied()
        yield from _told(result, context)
    finally:
        if result.spool is not None:
            remove(result.spool)


def _told(result: Result, context: Context) -> Iterator[CallEntry | Warn]:
    for warning in result.warnings:
        yield Warn(str(warning.get("code") or "WARNING"), str(warning.get("message") or ""))
    for entry in _entries(result):
        yield CallEntry(value=entry)
    context.conclude(
        code=result.code, answer=result.summary, truncated=result.truncated and result.spool is None
    )
    if not result.ok:
        raise foreign_error({"code": result.code, **(result.errors[-1] if result.errors else {})}, "the call")


async def _called(call: CatalogCall, context: Context) -> Result:
    confirmed = _confirmed(call, context)
    try:
        async with asyncio.timeout(context.timeout):
            if policy_path() is None:
                arguments = call.gated.arguments
                return await call.adapter.call(call.action, arguments, confirmed=confirmed, progress=_silent)
            return await _judged(call, context, confirmed)
    except TimeoutError as error:
        message = f"{call.gated.tool} did not end within {context.timeout:g} s, and was ended"
        raise Fail("timeout", "DEADLINE_EXCEEDED", message, target=call.gated.tool) from error


async def _judged(call: CatalogCall, context: Context, confirmed: bool) -> Result:
    from operable.cli.gate.command_line import terminal
    from operable.gate.call_gate import CallGate
    from operable.offer.gate_call import call_gated

    gate = CallGate()
    try:
        return await call_gated(
            gate,
            call.gated,
            call.action,
            call.adapter,
            progress=_silent,
            on_ask=terminal(context),
            confirmed=confirmed,
        )
    finally:
        await gate.aclose()


def _confirmed(call: CatalogCall, context: Context) -> bool:
    """Whether the person confirmed what cannot be undone. Raises Fail usage/CONFIRMATION_REQUIRED if not."""
    if call.gated.effect != DESTROY or context.confirmed:
        return context.confirmed
    if context.person:
        question = f"{call.gated.line}: it cannot be undone, or its owner wants it confirmed. Run it? [y/N]"
        if context.ask(question, hint="--confirm", fresh=True).strip().lower() in ("y", "yes"):
            return True
    raise Fail(
        "usage",
        "CONFIRMATION_REQUIRED",
        f"{call.gated.tool} needs --confirm; nothing was done",
        target=call.gated.tool,
        hint="look with --dry-run, then add --confirm",
    )


def _object(given: str | None) -> dict[str, Any]:
    """The arguments. Raises Fail usage/INPUT_INVALID; what is wrong is not repeated, since it may be a secret."""
    if given is None:
        return {}
    text = _read(given) if given == "-" or given.startswith("@") else given
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    raise Fail("usage", "INPUT_INVALID", "--input is not a JSON object", target="--input")


def _read(source: str) -> bytes:
    path = source if source == "-" else source[1:]
    try:
        with open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(_INPUT_LIMIT + 1)
    except OSError as problem:
        message = f"{path} cannot be read: {problem.strerror}"
        raise Fail("not_found", "INPUT_NOT_READABLE", message, target=path) from problem
    if len(data) > _INPUT_LIMIT:
        raise Fail("validation", "INPUT_TOO_LARGE", f"{path} has more than {_INPUT_LIMIT} bytes", target=path)
    return data


def _entries(result: Result) -> Iterator[Any]:
    """All results; where they are too many for a model, the file has them, and notices and a summary among them."""
    if result.spool is None:
        yield from result.entries
        return
    with open(result.spool, encoding="utf-8", errors="replace") as file:
        for line in file:
            entry = json.loads(line)
            is_result = not isinstance(entry, dict) or not (
                str(entry.get("type", "")).startswith("aoi:") or list(entry) == ["summary"]
            )
            if is_result:
                yield entry


async def _silent(_done: float, _total: float | None, _message: str | None) -> None:
    """Progress has no place in a plan that is carried out."""
