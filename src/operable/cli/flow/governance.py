"""Identities, policies, proofs and evidence on the command line: the methods of the protocol, reported as events.

These commands only ask. A command that the manifest names, or a server, is asked only if the user allows it; the refusal
says with which option.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from operable.cli.flow.input import ALLOWING, addressed, answer, defaults, read_manifest
from operable.cli.flow.work_events import FlowDecision, FlowDelegation, FlowIdentity, FlowProof, FlowProvider
from operable.flow.errors import NotAllowed
from operable.flow.manifest.selection import select
from operable.flow.operation import operation
from operable.kernel.errors import Fail

Kind = Literal["identity", "authorization", "authorization-proof", "evidence", "signing"]


@dataclass(frozen=True)
class TaskQuestion:
    """One question about one task, as it was typed: `words` are those of the command."""

    words: tuple[str, ...]
    file: str | None
    task: str | None
    workflow: str | None = None
    allow_commands: bool = False
    allow_network: bool = False

    @cached_property
    def manifest(self) -> Any:
        if self.file is None or self.task is None:
            raise Fail("usage", "ARGUMENT_MISSING", "name the manifest and the task", target="FILE TASK")
        return read_manifest(self.file)

    @property
    def source(self) -> dict[str, str]:
        return select(self.manifest, self.task, self.workflow).source

    def ask(self, name: str) -> dict[str, Any]:
        """The answer of an operation; Fail if it refuses."""
        params = {
            "manifest": self.manifest,
            "taskId": self.task,
            "workflowId": self.workflow,
            "allowCommands": self.allow_commands,
            "allowNetwork": self.allow_network,
        }
        with self.addressed():
            return operation(name).run(params, defaults())

    @contextmanager
    def addressed(self) -> Iterator[None]:
        """Failures inside name the manifest; those that the user may allow say with which command line."""
        with addressed(self.file or "-", self.task or "TASK"):
            try:
                yield
            except NotAllowed as refusal:
                refusal.hint = self._again(ALLOWING[refusal.details["allow"]])
                raise

    def _again(self, option: str) -> str:
        """The command line that allows it."""
        options = [] if self.workflow is None else ["--workflow", self.workflow]
        already = [
            name
            for name, said in (
                ("--allow-commands", self.allow_commands),
                ("--allow-network", self.allow_network),
            )
            if said
        ]
        words = ["operable", "flow", *self.words, str(self.file), str(self.task), *options, *already, option]
        return shlex.join(words)


def identity(action: str, asked: TaskQuestion) -> Iterator[FlowProvider | FlowIdentity | FlowDelegation]:
    if action in ("providers", "schema"):
        yield from _providers("identity", action, asked.file)
    elif action == "resolve":
        yield whoami(asked)
    else:
        found = asked.ask("identity-validate-delegation")
        yield FlowDelegation(**asked.source, delegation=found["delegation"])


def authorization(action: str, asked: TaskQuestion) -> Iterator[FlowProvider | FlowDecision]:
    if action in ("providers", "schema"):
        yield from _providers("authorization", action, asked.file)
        return
    found = asked.ask("authorization-evaluate")
    yield FlowDecision(
        **asked.source,
        allowed=found["decision"]["allowed"],
        decision=found["authorization"]["decision"],
        reason=found["decision"]["reason"],
        authorization=found["authorization"],
    )


def authorization_proof(action: str, asked: TaskQuestion) -> Iterator[FlowProvider | FlowProof]:
    if action in ("methods", "schema"):
        yield from _providers("authorization-proof", action, asked.file)
        return
    found = asked.ask("authorization-proof-verify")
    yield FlowProof(
        **asked.source,
        authorization_proof=found["authorization_proof"],
        effective_task_hash=found["effective_task_hash"],
        manifest_digest=found["manifest_digest"],
    )


def evidence(action: str, name: str | None) -> Iterator[FlowProvider]:
    return _providers("evidence", action, name)


def whoami(asked: TaskQuestion) -> FlowIdentity:
    found = asked.ask("whoami")
    return FlowIdentity(
        **asked.source,
        principal_used=found["principal_used"],
        declared_identity=found["declared_identity"],
        resolved_identity=found["resolved_identity"],
        trust=found["trust"],
    )


def _providers(kind: Kind, action: str, name: str | None) -> Iterator[FlowProvider]:
    listing = "methods" if kind == "authorization-proof" else "providers"
    found = answer(f"{kind}-{listing}", kind)[listing]
    if action == "schema":
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
