"""Identities, policies, proofs and evidence on the command line: the methods of the protocol, told as events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from operable.cli import flow_work
from operable.cli.flow_input import read_manifest
from operable.cli.flow_work_events import FlowDecision, FlowDelegation, FlowIdentity, FlowProof, FlowProvider
from operable.flow.governing import identify
from operable.flow.method import method
from operable.flow.selection import select
from operable.kernel.errors import Fail

Kind = Literal["identity", "authorization", "authorization-proof", "evidence", "signing"]
_METHODS = {"authorization-proof": "authorizationProof"}


def identity(
    action: str, name: str | None, task: str | None, workflow: str | None, home: str | None
) -> Iterator[FlowProvider | FlowIdentity | FlowDelegation]:
    if action in ("providers", "schema"):
        yield from _providers("identity", action, name)
        return
    manifest, wanted = _asked(name, task)
    if action == "resolve":
        yield whoami(manifest, wanted, workflow, home, name or "-")
        return
    found = _called("identity.validateDelegation", manifest, wanted, workflow, home, name)
    yield FlowDelegation(**_source(manifest, wanted, workflow), delegation=found["delegation"])


def authorization(
    action: str, name: str | None, task: str | None, workflow: str | None, home: str | None
) -> Iterator[FlowProvider | FlowDecision]:
    if action in ("providers", "schema"):
        yield from _providers("authorization", action, name)
        return
    manifest, wanted = _asked(name, task)
    found = _called("authorization.evaluate", manifest, wanted, workflow, home, name)
    yield FlowDecision(
        **_source(manifest, wanted, workflow),
        allowed=found["decision"]["allowed"],
        decision=found["authorization"]["decision"],
        reason=found["decision"]["reason"],
        authorization=found["authorization"],
    )


def authorization_proof(
    action: str, name: str | None, task: str | None, workflow: str | None, home: str | None
) -> Iterator[FlowProvider | FlowProof]:
    if action in ("methods", "schema"):
        yield from _providers("authorization-proof", action, name)
        return
    manifest, wanted = _asked(name, task)
    found = _called("authorizationProof.verify", manifest, wanted, workflow, home, name)
    source = _source(manifest, wanted, workflow)
    yield FlowProof(
        workflow_id=source["workflow_id"],
        task_id=source["task_id"],
        authorization_proof=found["authorization_proof"],
        effective_task_hash=found["effective_task_hash"],
        manifest_digest=found["manifest_digest"],
    )


def evidence(action: str, name: str | None) -> Iterator[FlowProvider]:
    return _providers("evidence", action, name)


def whoami(manifest: Any, task: str, workflow: str | None, home: str | None, source: str) -> FlowIdentity:
    by = flow_work.caller(home)
    selected = flow_work.told(lambda: select(manifest, task, workflow), source)
    found = flow_work.told(lambda: identify(selected, by, tolerate_handoff=True), source)
    flow_work.told(found.release, source)
    return FlowIdentity(
        **selected.source,
        principal_used=found.principal,
        declared_identity=found.declared,
        resolved_identity=found.resolved,
        trust=found.trust,
    )


def _providers(kind: Kind, action: str, name: str | None) -> Iterator[FlowProvider]:
    listing = "methods" if kind == "authorization-proof" else "providers"
    found = _method(f"{_METHODS.get(kind, kind)}.{listing}", {}, None, kind)[listing]
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


def _asked(file: str | None, task: str | None) -> tuple[Any, str]:
    if file is None or task is None:
        raise Fail("usage", "ARGUMENT_MISSING", "name the manifest and the task", target="FILE TASK")
    return read_manifest(file), task


def _source(manifest: Any, task: str, workflow: str | None) -> dict[str, str]:
    return select(manifest, task, workflow).source


def _called(
    name: str, manifest: Any, task: str, workflow: str | None, home: str | None, source: str | None
) -> dict[str, Any]:
    params = {"manifest": manifest, "taskId": task, "workflowId": workflow}
    return _method(name, params, home, source or "-")


def _method(name: str, params: dict[str, Any], home: str | None, source: str) -> dict[str, Any]:
    found = method(f"agentcli.{name}")
    return flow_work.told(lambda: found.run(params, flow_work.defaults(home)), source)
