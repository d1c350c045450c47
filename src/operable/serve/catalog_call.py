"""A call of one command of the catalog: found by its name, checked against its schema, ready for the gate.

HTTP, JSON-RPC and `operable call` make theirs here, so that a call means the same from each, and gives the same result.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from operable.gate.call import CallerId, GatedCall, SessionBounds
from operable.gate.call_gate import CallGate
from operable.kernel.errors import Fail
from operable.offer.action import Action, Adapter, Progress, check_arguments
from operable.offer.gate_call import call_gated, gated_call
from operable.offer.words import described
from operable.serve.catalog import Operable


class CallResult(msgspec.Struct, frozen=True):
    """What a call gave. `code` is its verdict; `truncated`: there is more than is here."""

    ok: bool
    code: str
    entries: list[Any]
    summary: dict[str, Any]
    warnings: list[Any]
    errors: list[Any]
    truncated: bool


class CatalogCall(NamedTuple):
    """A call that the gate may admit."""

    gated: GatedCall
    action: Action
    adapter: Adapter

    async def run(self, gate: CallGate, progress: Progress) -> CallResult:
        """Call it, if the gate lets it. Fails as `CallGate.admit` does."""
        result = await call_gated(gate, self.gated, self.action, self.adapter, progress=progress)
        return CallResult(
            result.ok,
            result.code,
            result.entries,
            result.summary,
            result.warnings,
            result.errors,
            result.truncated,
        )


def find_operable(found: Iterable[Operable], kind: str, name: str) -> Operable:
    """The one of this name. Raises Fail not_found/NO_SUCH_OPERABLE."""
    for each in found:
        if each.name == name:
            return each
    raise Fail(
        "not_found",
        "NO_SUCH_OPERABLE",
        f"there is no such {kind}",
        target=name[:100],
        hint="operable catalog, or GET /catalog",
    )


def find_command(found: Sequence[Operable], kind: str, rest: str) -> tuple[Operable, str]:
    """What `NAME/COMMAND` means; the words of a command may be divided by `/`, as rules have them.

    Raises Fail not_found/NO_SUCH_OPERABLE. That the thing has such a command is for `catalog_call` to check.
    """
    for each in found:
        command = rest.removeprefix(f"{each.name}/").replace("/", " ")
        if rest.startswith(f"{each.name}/") and any(action.name == command for action in each.actions):
            return each, command
    name, _, command = rest.rpartition("/")
    return find_operable(found, kind, name), command


async def catalog_call(
    operable: Operable,
    name: str,
    arguments: Mapping[str, Any],
    caller: CallerId,
    *,
    workspace: str,
    bounds: SessionBounds | None = None,
) -> CatalogCall:
    """The call of a command. Raises Fail NO_SUCH_ACTION, NOT_CALLABLE or INVALID_ARGUMENTS."""
    action = next((each for each in operable.actions if each.name == name), None)
    adapter = operable.adapter
    if action is None:
        reason = f"{operable.name} has no such command"
        raise Fail("not_found", "NO_SUCH_ACTION", reason, target=name[:100])
    if adapter is None:
        why = operable.problem or operable.health
        raise Fail(
            "conflict", "NOT_CALLABLE", f"{operable.name} cannot be called: {why}", target=operable.name
        )
    action, schema = await described(adapter, action, operable.actions)
    check_arguments(f"{operable.name} {action.name}", schema, arguments)
    gated = gated_call(
        caller,
        kind=operable.kind,
        name=operable.name,
        action=action,
        adapter=adapter,
        arguments=arguments,
        workspace=workspace,
        bounds=bounds,
    )
    return CatalogCall(gated, action, adapter)
