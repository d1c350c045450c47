"""What the commands of `operable flow` share that run tasks or ask about them: who calls, and what a refusal is.

A planned execution carries its work along, out of sight: the second phase runs exactly what the first one has shown.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from operable.cli.flow_input import as_fail
from operable.flow.contracts import FlowError
from operable.flow.home import current_folder
from operable.flow.method import Defaults
from operable.flow.run.caller import Caller
from operable.flow.trust.keys.signing_keys import signing_key
from operable.kernel.errors import Fail
from operable.tool import Change, Warn

_Result = TypeVar("_Result")
_REFUSALS = (
    "approval_required approval_auto_rejected approval_signature_invalid approval_scope_mismatch approval_log_invalid "
    "policy_forbids_approval "
    "authorization_denied authorization_escalation_required authorization_proof_failed trust_level_insufficient "
    "contract_violation sandbox_path_escape sandbox_path_invalid presentation_source_forbidden"
).split()
_UNALLOWED = ("commands_not_allowed", "network_not_allowed")
_CANNOT = "no_runtime unsupported_capability sandbox_enforcement_unavailable sandbox_unavailable".split()
_BUSY = ("approval_lock_timeout",)


def caller(home: str | None = None) -> Caller:
    """Whoever runs this command."""
    return Caller(told(current_folder, "."), dict(os.environ), home)


def defaults(home: str | None = None) -> Defaults:
    by = caller(home)
    return Defaults(by.cwd, by.environment, home)


def approval_line(source: str, task: str, by: Caller, workflow: str | None = None) -> str:
    """The command that approves a task, with the signature that the caller can give and that would count."""
    words = ["operable", "flow", "approve", source, task]
    words += ["--workflow", workflow] if workflow else []
    words += ["--home", by.home] if by.home else []
    try:
        keyless = signing_key(None, by.surroundings) is None
    except FlowError:
        keyless = False  # there is one that cannot be used: approving says why
    if keyless:
        # Where allowed signers are configured, an unsigned approval does not count.
        signed = by.believing().allowed_signers is not None
        words += ["--signing-key", "FILE"] if signed else ["--signer", "none"]
    return shlex.join(words)


def failure(
    problem: FlowError,
    source: str,
    task: str = "TASK",
    *,
    by: Caller | None = None,
    workflow: str | None = None,
) -> Fail:
    """A refusal as an error of ours: whose fault it is decides the category, `flow_code` is the contract's word."""
    details = {name: value for name, value in problem.details.items() if name != "validation"}
    facts: dict[str, Any] = {"flow_code": problem.code, **details}
    if problem.code in _REFUSALS:
        missing = problem.code == "approval_required" or facts.pop("keyless", False)
        hint = approval_line(source, task, by or caller(), workflow) if missing else None
        return Fail("authz", "FLOW_REFUSED", problem.message, target=source, hint=hint, **facts)
    if problem.code in _UNALLOWED:
        return Fail("authz", "FLOW_NOT_ALLOWED", problem.message, target=source, **facts)
    if problem.code in _CANNOT:
        return Fail("config", "FLOW_UNSUPPORTED", problem.message, target=source, **facts)
    if problem.code in _BUSY:
        return Fail("temporary", "FLOW_BUSY", problem.message, target=source, **facts)
    if "setting" in details:
        hint, setting = facts.pop("hint"), facts.pop("setting")
        return Fail("config", "AUDIT_SETTING_INVALID", problem.message, target=setting, hint=hint, **facts)
    if problem.code == "internal_error":
        return Fail("io", "FLOW_STATE_UNUSABLE", problem.message, target=source, **facts)
    if problem.code == "invalid_argument" or "validation" in problem.details:
        return as_fail(problem, source)
    # A task that ran and failed its verification, say: its execution's id leads to the record of it.
    return Fail("validation", "FLOW_FAILED", problem.message, target=source, **facts)


def told(
    work: Callable[[], _Result],
    source: str,
    task: str = "TASK",
    *,
    by: Caller | None = None,
    workflow: str | None = None,
) -> _Result:
    """Do it; what a flow refuses is our structured error."""
    try:
        return work()
    except FlowError as problem:
        raise failure(problem, source, task, by=by, workflow=workflow) from problem


class Planned(Change):
    """A change that knows how it is done. People and digests see its fields only."""

    __slots__ = ("work",)

    def __init__(self, action: str, target: str, work: Callable[[], Any], **fields: Any) -> None:
        super().__init__(action, target, **fields)
        self.work = work


def work_of(change: Change) -> Callable[[], Any]:
    assert isinstance(change, Planned)  # noqa: S101 - these commands plan no others
    work: Callable[[], Any] = change.work
    return work


def warned(texts: list[str]) -> Iterator[Warn]:
    for text in texts:
        yield Warn("FLOW_WARNING", text)


def positive(name: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise Fail("usage", "INVALID_VALUE", f"{name} must be at least 1", target=name)
    return value


def policy(path: str | None) -> Any:
    """The rules for agents, read before anything runs."""
    if path is None:
        return None
    from operable.host.policy.policy_file import load_policy

    return load_policy(path)
