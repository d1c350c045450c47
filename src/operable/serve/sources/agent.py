"""Agents that can be driven: a call of `prompt` is one turn in a session of its own.

What the agent then does is judged by the rules for sessions of the user's policy file; what no rule decides is a question
in that session's queue. So the effect of a call is not known here. The ledger, its manifest and the files on disk say
whether it is installed and logged in; nothing is run. Of a manifest that the user has not approved, only the name counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from operable.gate.policy.call_policy import CallPolicy
from operable.gate.policy.pattern import ASK
from operable.gate.policy.rules import Policy
from operable.host.launch.discover import DiscoveredManifest, Discovery
from operable.host.launch.install import Installation
from operable.host.launch.ledger import Ledger, Scope
from operable.host.launch.places import Places
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import load
from operable.manifest.problem import ManifestError
from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.result import ResultCollector
from operable.serve.catalog import Operable, OperableSource, login_state
from operable.wire.events import AgentError, TextDelta

_TIMEOUT = 600.0  # seconds of a turn, as everywhere where a tool is called
_LONGEST = 200_000  # characters of a message
_PROMPT = Action("prompt", "Send the agent one message and get its answer.", is_undeclared=True)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "minLength": 1, "maxLength": _LONGEST, "description": "the message"},
        "timeout": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 3600,
            "description": f"seconds that the turn may take; {_TIMEOUT:g} if it is left out",
        },
    },
    "required": ["prompt"],
    "additionalProperties": False,
}
_ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "what the agent answered"}},
    "required": ["text"],
}


class AgentTurnAdapter:
    """One turn of an agent per call, in a session that ends with it."""

    def __init__(self, path: str, name: str, workspace: str) -> None:
        self._path, self._name, self._workspace = path, name, workspace

    async def input_schema(self, action: Action) -> dict[str, Any]:
        del action  # every agent takes the same
        return _SCHEMA

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        del action
        return _ANSWER

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        del action, arguments  # the message is not a command line
        return ()

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        del action, confirmed, progress
        from operable.host.agent_cli import agent
        from operable.host.arm import Message
        from operable.host.start.options import StartOptions
        from operable.host.start.project import configured

        handle = agent(
            self._path, workspace=self._workspace
        )  # as it is now: a server lives longer than a listing
        options = StartOptions(self._workspace, policy=_session_policy(), label=f"call of {self._name}")
        options, _ = configured(options, handle.id, handle.manifest.protocol, os.environ)
        texts, problem = [], None
        async with await handle.start(options) as session:
            turn = session.send(Message(arguments["prompt"]), timeout=arguments.get("timeout", _TIMEOUT))
            async for event in turn:
                if isinstance(event, TextDelta):
                    texts.append(event.text)
                elif isinstance(event, AgentError):
                    problem = event.error
        reason = "failed" if turn.end is None else turn.end.reason
        with ResultCollector() as collector:
            collector.entry({"text": "".join(texts)})
            summary = {"session": session.id, "reason": reason}
            if reason == "completed":
                return collector.result(summary)
            message = problem.message if problem is not None else f"the turn ended as {reason}"
            return replace(
                collector.result(summary, code="TURN_NOT_COMPLETED"),
                errors=[{"code": "TURN_NOT_COMPLETED", "category": "internal", "message": message}],
            )


def _session_policy() -> Policy:
    """The rules for sessions of the policy file; what no rule decides is asked."""
    tables = CallPolicy().tables()
    if tables is None:
        return Policy(default=ASK)
    is_said = any(table.default is not None for table in tables.for_caller("session:"))
    policy = tables.policy_for("session:")
    return policy if is_said else replace(policy, default=ASK)


def find(workspace: str) -> Iterator[Operable]:
    """Every agent that a name means from the workspace."""
    places = Places.default()
    ledger = Ledger(places.ledger)
    for each in Discovery.default(ledger, project=workspace).all():
        if each.shadowed_by is None:
            yield _described(each, workspace, places, ledger)


def _described(each: DiscoveredManifest, workspace: str, places: Places, ledger: Ledger) -> Operable:
    if each.problem is not None:
        return _operable(each, health="broken", problem=each.problem)
    if not each.trusted:
        return _operable(each, health="unapproved", problem=each.standing.why)
    try:
        manifest = load(each.path, kind="agent-cli", strict=False).as_(AgentCli)
    except ManifestError as error:
        return _operable(each, health="broken", problem=error.message)
    here = Installation(manifest, each.folder, places, ledger).locate() is not None
    said = msgspec.to_builtins(manifest.capabilities)
    return _operable(
        each,
        capabilities=tuple(name.replace("_", "-") for name, value in said.items() if value is True),
        auth=_auth(manifest, workspace, ledger),
        health="ok" if here else "missing",
        actions=(_PROMPT,),
        adapter=AgentTurnAdapter(each.path, each.name, workspace) if here else None,
        problem=None if here else f"operable agent install {each.name}",
    )


def _auth(manifest: AgentCli, workspace: str, ledger: Ledger) -> str:
    if manifest.auth is None:
        return "none"
    known = ledger.login(Scope(manifest.id, workspace, str(os.getuid()))).state
    if known in ("authed", "unauthed"):
        return known
    login, state = manifest.auth.login, manifest.auth.state
    can_be_asked = login is not None and login.completes_when is not None
    return login_state(state.env, state.paths, workspace, can_be_asked=can_be_asked)


def _operable(each: DiscoveredManifest, **more: Any) -> Operable:
    given = {"auth": "unknown", **more}
    return Operable(
        "agent", each.name, version=each.version, description=each.description, place=each.path, **given
    )


SOURCE = OperableSource("agent", "agents that can be driven", find)
