"""`operable.call`, the method of `operable rpc` beyond workflow manifests: it calls a command of the catalog.

The call passes the gate with the caller `rpc:USER`, as the same call over HTTP or MCP does. What the rules leave to people
waits in `operable inbox`. The answer has the verdict, also of what was denied or failed; only a request that cannot be meant
is an error.
"""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, required
from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.gate.call_gate import CallGate

_FORM = "call must be KIND/NAME/COMMAND, as `operable catalog` lists it"


def _call(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    import asyncio

    kind, _, rest = _text(params).partition("/")
    arguments = params.get("arguments", {})
    if "/" not in rest or not isinstance(arguments, dict):
        raise invalid_argument(_FORM if "/" not in rest else "arguments must be an object")
    gate = _gate()
    try:
        return asyncio.run(_called(gate, kind, rest, arguments, defaults.cwd))
    finally:
        gate.flush()  # its loop has ended, and with it what would have written the end of the call


async def _called(
    gate: CallGate, kind: str, rest: str, arguments: dict[str, Any], workspace: str
) -> dict[str, Any]:
    import asyncio

    import msgspec

    from operable.gate.call import CallerId, person
    from operable.serve.catalog import catalog
    from operable.serve.catalog_call import catalog_call, find_command

    try:
        found = await asyncio.to_thread(lambda: list(catalog(workspace, only=(kind,))))
        operable, command = find_command(found, kind, rest)
        caller = CallerId("rpc", person().name)
        made = await catalog_call(operable, command, arguments, caller, workspace=workspace)
    except Fail as failure:
        raise invalid_argument(failure.message) from failure
    try:
        result = await made.run(gate, _silent)
    except Fail as failure:
        error = {name: value for name, value in _error(failure).items() if value is not None}
        return {"ok": False, "code": failure.code, "entries": [], "errors": [error]}
    answer: dict[str, Any] = msgspec.to_builtins(result)
    return answer


def _text(params: dict[str, Any]) -> str:
    value = required(params, "call")
    if not isinstance(value, str):
        raise invalid_argument(_FORM)
    return value


def _error(failure: Fail) -> dict[str, Any]:
    return {
        "code": failure.code,
        "category": failure.category,
        "message": failure.message,
        "target": failure.target,
        "hint": failure.hint,
    }


@functools.cache
def _gate() -> CallGate:
    """One for all calls of the process: its questions are in one folder."""
    from operable.gate.call_gate import CallGate

    return CallGate()


async def _silent(_done: float, _total: float | None, _message: str | None) -> None:
    """An answer is one line: there is no place for progress."""


METHODS = MappingProxyType(
    {
        "operable.call": Operation(
            method="operable.call",
            summary="Call a command of the catalog, if the rules and a person allow it",
            run=_call,
            params=(Parameter("call"), Parameter("arguments", "json")),
            slow=True,
            changes=True,
        )
    }
)
