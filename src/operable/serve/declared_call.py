"""A call that is only judged: as it would be made, with the effect and the command line that its owner declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from operable.gate.call import UNKNOWN, CallerId, GatedCall
from operable.offer.gate_call import gated_call
from operable.serve.catalog import Operable


def declared_call(
    found: Iterable[Operable],
    caller: CallerId,
    kind: str,
    name: str,
    action: str,
    arguments: Mapping[str, Any],
    *,
    workspace: str,
    effect: str | None = None,
    line: tuple[str, ...] = (),
) -> GatedCall:
    """`found` is what the catalog has of this kind; what it does not have is as it is said here."""
    for each in found:
        known = next((one for one in each.actions if one.name == action), None)
        if each.kind == kind and each.name == name and known is not None and each.adapter is not None:
            made = gated_call(
                caller,
                kind=kind,
                name=name,
                action=known,
                adapter=each.adapter,
                arguments=arguments,
                workspace=workspace,
                effect=effect,
            )
            return replace(made, command=line) if line else made
    return GatedCall(caller, kind, name, action, arguments, effect or UNKNOWN, workspace, line)
