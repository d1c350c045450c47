"""The policy: the rules for a caller, and what they would decide about a call."""

import os
from typing import Any

import msgspec

from operable.gate.call import CallerId
from operable.kernel.errors import Fail
from operable.serve.catalog import kinds, recent_catalog
from operable.serve.declared_call import declared_call
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall


class PolicyQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    caller: str = "mcp:*"


class RuleView(msgspec.Struct, frozen=True):
    """One rule in the order in which it is listed. `pattern` is null for a default."""

    effect: str
    pattern: str | None
    table: str
    reason: str


class PolicyView(msgspec.Struct, frozen=True):
    """`path` is the file of the user; null: the built-in rules alone."""

    path: str | None
    caller: str
    rules: list[RuleView]


class TestedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`effect` and `command` are those of the catalog, unless they are said here."""

    caller: str
    kind: str
    name: str
    action: str
    arguments: dict[str, Any] = {}
    effect: str | None = None
    command: list[str] = []


class PolicyDecision(msgspec.Struct, frozen=True):
    effect: str
    why: str
    reference: str
    table: str


async def show_policy(call: RouteCall[PolicyQuery, None]) -> PolicyView:
    policy = call.daemon.gate.policy
    rules = [
        RuleView(
            effect, None if rule is None else rule.pattern, table, "" if rule is None else rule.reason or ""
        )
        for rule, table, effect in policy.rules_for(call.query.caller)
    ]
    return PolicyView(policy.path, call.query.caller, rules)


async def test_policy(call: RouteCall[NoQuery, TestedCall]) -> PolicyDecision:
    body = call.body
    try:
        found = await recent_catalog(body.kind) if body.kind in kinds() else []
        gated = declared_call(
            found,
            CallerId.parse(body.caller),
            body.kind,
            body.name,
            body.action,
            body.arguments,
            workspace=os.getcwd(),
            effect=body.effect,
            line=tuple(body.command),
        )
    except ValueError as error:
        raise Fail("usage", "BODY_INVALID", str(error)) from error
    ruling = call.daemon.gate.judge(gated)
    return PolicyDecision(ruling.effect, ruling.why, ruling.reference, ruling.table)


ROUTES = (
    HttpRoute(
        "GET",
        "/policy",
        "getPolicy",
        "The rules for a caller, and where they come from.",
        "read",
        show_policy,
        PolicyView,
        query=PolicyQuery,
    ),
    HttpRoute(
        "POST",
        "/policy/test",
        "testPolicy",
        "What would be decided about a call, and why.",
        "read",
        test_policy,
        PolicyDecision,
        body=TestedCall,
    ),
)
