"""An offered command behind the gate: from an action and its arguments to a call that is judged, recorded and run.

Every side that calls operable things for others uses this: MCP, HTTP, the built-in agent, flows. What a call would do
(`effect_of`) is what its owner declares of it, and a dry run that runs no code of the project only reads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from operable.gate.approvals import Decision, OnAsk
from operable.gate.call import CHANGE, DESTROY, READ, UNKNOWN, CallerId, GatedCall, SessionBounds
from operable.gate.call_gate import CallAdmission, CallGate
from operable.offer.action import Action, Adapter, ChangingAdapter, Progress, Result
from operable.offer.words import INPUT, PLAN

_EFFECTS = {"read-only": READ, "changes": CHANGE, "destructive": DESTROY, "unknown": UNKNOWN}


def effect_of(action: Action, arguments: Mapping[str, Any], *, runs_code: bool = False) -> str:
    """What a call does to the world. `runs_code`: the caller lets a dry run run code of the project."""
    consent = action.plan_consent
    # An argument that only has the name of a plan does not make one.
    if (
        action.dry_run
        and arguments.get(PLAN) is True
        and consent != "required"
        and not (consent == "optional" and runs_code)
    ):
        return READ
    return _EFFECTS[action.risk]


def gated_call(
    caller: CallerId,
    *,
    kind: str,
    name: str,
    action: Action,
    adapter: Adapter,
    arguments: Mapping[str, Any],
    workspace: str,
    effect: str | None = None,
    bounds: SessionBounds | None = None,
) -> GatedCall:
    """The call of a command, for the gate."""
    consequence = f"It runs code of the project: {action.project_code}." if action.project_code else ""
    effect = effect_of(action, arguments) if effect is None else effect
    if effect == DESTROY and arguments.get(PLAN) is not True:
        consequence = f"It cannot be undone. {consequence}".strip()
    given = arguments.get(INPUT)
    words = [str(each) for each in arguments.get("arguments") or ()] if action.below else []
    return GatedCall(
        caller,
        kind,
        name,
        action.name,
        arguments,
        effect,
        workspace,
        adapter.program_line(action, arguments),
        json.dumps(given, ensure_ascii=False) if isinstance(given, list) and given else "",
        consequence,
        _reached(action, words),
        bounds,
        _definition(adapter),
    )


def _definition(adapter: Adapter) -> str:
    return adapter.definition() if isinstance(adapter, ChangingAdapter) else ""


def _reached(action: Action, words: Sequence[str]) -> list[str]:
    """The longer commands that the words behind a command may be taken for."""
    if not words:
        return []
    from operable.app.admission import in_order

    start = len(action.name.split())
    return [name for name in action.below if in_order(name.split()[start:], words)]


async def call_gated(
    gate: CallGate,
    call: GatedCall,
    action: Action,
    adapter: Adapter,
    *,
    progress: Progress,
    on_ask: OnAsk | None = None,
    answer: Decision | None = None,
    confirmed: bool = False,
) -> Result:
    """Call it, if the gate lets it. Fails as `CallGate.admit` does. `confirmed`: the person who calls has confirmed it."""
    async with await gate.admit(call, on_ask=on_ask, answer=answer) as admission:
        return await run_admitted(admission, action, adapter, progress=progress, confirmed=confirmed)


async def run_admitted(
    admission: CallAdmission,
    action: Action,
    adapter: Adapter,
    *,
    progress: Progress,
    confirmed: bool = False,
) -> Result:
    """Run a call that was admitted, exactly as it was judged, and record how it ended."""
    if admission.answer is not None:
        admission.call.require_same(await asyncio.to_thread(_definition, adapter))
    agreed = admission.call.effect == DESTROY and (confirmed or admission.confirmed)
    result = await adapter.call(action, admission.call.arguments, confirmed=agreed, progress=progress)
    admission.close(result.code)
    return result
