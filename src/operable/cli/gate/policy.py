"""`operable policy`: the rules about calls, what they say of one call, and whether the file is valid. Nothing is run."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from operable.cli.gate.events import CallDecision, PolicyFile, PolicyRuleShown
from operable.gate.call import CALL_KINDS, CallerId, person
from operable.gate.policy.call_policy import CallPolicy
from operable.kernel.errors import Fail
from operable.serve.catalog import catalog, kinds
from operable.serve.declared_call import declared_call


def shown_rules(caller: str | None) -> Iterator[PolicyRuleShown]:
    """Every rule that may decide about calls of a caller."""
    who = CallerId.parse(caller) if caller is not None else CallerId("mcp", "any")
    for rule, table, effect in CallPolicy().rules_for(str(who)):
        yield PolicyRuleShown(
            table=table,
            effect=effect,  # type: ignore[arg-type]  # one of the three
            pattern=None if rule is None else rule.pattern,
            reason="" if rule is None else rule.reason,
        )


def decision(
    call: str,
    *,
    caller: str | None,
    arguments: Sequence[str],
    command: str | None,
    effect: str | None,
    workspace: str,
) -> CallDecision:
    """What would be decided about a call."""
    kind, _, rest = call.partition("/")
    name, _, action = rest.rpartition("/") if kind == "flow" else rest.partition("/")
    if kind not in CALL_KINDS or not name or not action:
        raise Fail(
            "usage",
            "INVALID_CALL",
            f"{call} is not KIND/NAME/ACTION",
            target=call,
            hint=f"wrap/git/push; kinds are {' '.join(CALL_KINDS)}",
        )
    who = CallerId.parse(caller) if caller is not None else person()
    folder = os.path.realpath(workspace)
    made = declared_call(
        catalog(folder, only=[kind]) if kind in kinds() else (),
        who,
        kind,
        name,
        action.replace("/", " "),
        dict(map(_argument, arguments)),
        workspace=folder,
        effect=effect,
        line=() if command is None else tuple(shlex.split(command)),
    )
    ruling = CallPolicy().judge(made)
    return CallDecision(
        call=made.tool,
        caller=str(who),
        effect=ruling.effect,  # type: ignore[arg-type]  # one of the three
        rule=ruling.reference,
        why=ruling.why,
        table=ruling.table,
        command=made.line,
        declared=made.effect,  # type: ignore[arg-type]  # one of the four
    )


def checked() -> PolicyFile:
    """The file, if it is valid. Raises Fail with all of its problems."""
    policy = CallPolicy()
    tables = policy.tables()
    if tables is None:
        return PolicyFile(path=None, rules=0, callers=[])
    count = len(tables.general.rules) + sum(len(table.rules) for table in tables.callers)
    return PolicyFile(path=policy.path, rules=count, callers=[table.match for table in tables.callers])


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Fail("usage", "INVALID_VALUE", "--arg is NAME=VALUE", target="--arg")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
