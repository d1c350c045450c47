"""Identities, policies, proofs and evidence on the command line: the methods of the protocol, reported as events.

These commands only ask. A command that the manifest names, or a server, is asked only if the user allows it; the refusal
says with which option.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from operable.cli.flow.command import FlowCall
from operable.cli.flow.input import ALLOWING, addressed, answer, read_manifest
from operable.cli.flow.work_events import FlowDecision, FlowDelegation, FlowIdentity, FlowProof, FlowProvider
from operable.flow.errors import NotAllowed
from operable.flow.manifest.selection import select
from operable.flow.operation import operation
from operable.kernel.errors import Fail

Kind = Literal["identity", "authorization", "authorization-proof", "evidence", "signing"]


class TaskQuestion:
    """One question about one task, as it was typed."""

    def __init__(self, call: FlowCall) -> None:
        self._call = call
        self._file: str | None = call["manifest"] or call["name"]
        self._task: str | None = call["taskId"]

    @cached_property
    def manifest(self) -> Any:
        if self._file is None or self._task is None:
            raise Fail("usage", "ARGUMENT_MISSING", "name the manifest and the task", target="FILE TASK")
        return read_manifest(self._file)

    @property
    def source(self) -> dict[str, str]:
        return select(self.manifest, self._task, self._call["workflowId"]).source

    def ask(self, name: str) -> dict[str, Any]:
        """The answer of an operation; Fail if it refuses, with the command line that allows what the user may allow."""
        names = ("taskId", "workflowId", "allowCommands", "allowNetwork")
        params = {"manifest": self.manifest} | {each: self._call[each] for each in names}
        with addressed(self._file or "-", self._task or "TASK"):
            try:
                return operation(name).run(params, self._call.defaults())
            except NotAllowed as refusal:
                refusal.hint = shlex.join(self._call.line(ALLOWING[refusal.details["allow"]]))
                raise


def identity(call: FlowCall) -> Iterator[FlowProvider | FlowIdentity | FlowDelegation]:
    asked = TaskQuestion(call)
    if call["action"] in ("providers", "schema"):
        yield from _providers("identity", call)
    elif call["action"] == "resolve":
        yield whoami(asked)
    else:
        found = asked.ask("identity-validate-delegation")
        yield FlowDelegation(**asked.source, delegation=found["delegation"])


def authorization(call: FlowCall) -> Iterator[FlowProvider | FlowDecision]:
    if call["action"] in ("providers", "schema"):
        yield from _providers("authorization", call)
        return
    asked = TaskQuestion(call)
    found = asked.ask("authorization-evaluate")
    yield FlowDecision(
        **asked.source,
        allowed=found["decision"]["allowed"],
        decision=found["authorization"]["decision"],
        reason=found["decision"]["reason"],
        authorization=found["authorization"],
    )


def authorization_proof(call: FlowCall) -> Iterator[FlowProvider | FlowProof]:
    if call["action"] in ("methods", "schema"):
        yield from _providers("authorization-proof", call)
        return
    asked = TaskQuestion(call)
    found = asked.ask("authorization-proof-verify")
    yield FlowProof(
        **asked.source,
        authorization_proof=found["authorization_proof"],
        effective_task_hash=found["effective_task_hash"],
        manifest_digest=found["manifest_digest"],
    )


def evidence(call: FlowCall) -> Iterator[FlowProvider]:
    return _providers("evidence", call)


def whoami(asked: TaskQuestion) -> FlowIdentity:
    found = asked.ask("whoami")
    return FlowIdentity(
        **asked.source,
        principal_used=found["principal_used"],
        declared_identity=found["declared_identity"],
        resolved_identity=found["resolved_identity"],
        trust=found["trust"],
    )


def _providers(kind: Kind, call: FlowCall) -> Iterator[FlowProvider]:
    listing = "methods" if kind == "authorization-proof" else "providers"
    found = answer(f"{kind}-{listing}", kind)[listing]
    if call["action"] == "schema":
        name = call["name"]
        if name is None:
            raise Fail("usage", "ARGUMENT_MISSING", f"name the {kind} {listing[:-1]} to show", target="NAME")
        found = [each for each in found if each["name"] == name]
        if not found:
            raise Fail(
                "not_found",
                "FLOW_PROVIDER_UNKNOWN",
                f"there is no {kind} {listing[:-1]} {name}",
                target=name,
                hint=f"operable flow {kind}",
            )
    for each in found:
        yield FlowProvider(kind=kind, name=each["name"], capabilities=each["capabilities"])
