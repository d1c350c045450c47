"""One attempt of a task: through every gate of `flow`, with its run's id in the environment, to an end.

The start is on disk before this is called. What a gate refuses is a clean failure. The output is masked by `flow`; its first
bytes go into the store, and a longer output into a file of its own.
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from operable.engine.lifecycle.identifiers import approval_id_of
from operable.engine.lifecycle.states import AttemptState
from operable.engine.store.rows import Approval, Definition
from operable.engine.store.runs import AttemptEnd, StartedAttempt
from operable.flow.approve import local_approvals
from operable.flow.compile.limits import task_problems
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import Selected, select
from operable.flow.run.caller import Caller, bind, read_content
from operable.flow.run.executor import execute_selected
from operable.flow.run.options import ExecOptions
from operable.state.atomic import write_whole

Json = dict[str, Any]
_STOPPED = "the worker was stopped"
_FACTS = (
    "principal_used trust declared_identity resolved_identity authorization authorization_proof evidence attestation "
    "attestation_note approval_used session usage verdict"
).split()
_WARNINGS = 20
_FACTS_LIMIT = 32_000  # characters
_INLINE = (
    65_536  # bytes of an output that are in the store if it is to be inline; the number of the contract (4.3)
)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How it ended, and all of its standard output: conditions of triggers look at it."""

    end: AttemptEnd
    stdout: str = ""
    agent_session_id: str | None = None  # of a prompt: how the agent would go on with the conversation


@dataclass(frozen=True, slots=True)
class AttemptControl:
    """What may end an attempt early: its run was cancelled, or the worker stops."""

    cancelled: Callable[[], bool]
    stopping: Callable[[], bool]

    def stop(self) -> bool:
        return self.cancelled() or self.stopping()


def execute_attempt(
    started: StartedAttempt,
    caller: Caller,
    output_folder: str,
    control: AttemptControl,
    options: ExecOptions,
) -> AttemptResult:
    """Run the task of a started attempt. Every failure is a result."""
    source = started.definition.document["source"]
    try:
        selected = select(started.manifest, source["task_id"], source["workflow_id"])
        _require_supported(selected)
        if started.approval is not None:
            options = replace(options, approval_id=_grant(selected, caller, started.approval))
        answer = execute_selected(selected, caller, options)
    except FlowError as error:
        # A task whose record could not be written has run: its attempt is lost, and no clean failure.
        state = AttemptState.LOST if error.details.get("ran") else AttemptState.FAILED
        left = AttemptResult(AttemptEnd(state, execution_id=error.details.get("execution_id")))
        if (
            error.answer is not None
        ):  # it ran, and what it printed says more than the refusal of its verify step
            left = _read_answer(started, error.answer, output_folder, control)
        return replace(left, end=_interrupted(replace(left.end, state=state, reason=error.message), control))
    return _read_answer(started, answer, output_folder, control)


def _require_supported(selected: Selected) -> None:
    """FlowError for what apply refuses: a job may have been applied by another version."""
    problems = task_problems(selected.manifest, selected.workflow, selected.task)
    said = "; ".join(f"{member} {message}" for member, message in problems)
    if said:
        raise FlowError("unsupported_capability", said)


def read_files(definition: Definition, manifest: Json, caller: Caller) -> str:
    """The files that a run asks about, as they are now: JSON that its question keeps."""
    source = definition.document["source"]
    try:
        selected = select(manifest, source["task_id"], source["workflow_id"])
        bound = bind(selected, caller)
        content = read_content(selected, bound, caller)
    except FlowError as error:
        return json.dumps({"problem": error.message})
    return json.dumps(
        {
            "files": content.digests,
            "unbound": content.unbound,
            "binding": bound.binding,
            "signed": caller.believing().allowed_signers is not None,
        }
    )


def _grant(selected: Selected, caller: Caller, approval: Approval) -> str:
    """The answer of the run's question as an approval of this one execution, which the gate uses up.

    It is for what the question was about, also if another worker asked: the gate refuses a file that was changed since, and
    a folder or a variable that is another one on this worker. So it does a signature of an approver who is not among the
    allowed signers, and a missing one where there are some.
    """
    if approval.signed is not None:
        return _keep_signed(selected, caller, approval, json.loads(approval.signed))
    asked: Json = json.loads(approval.content or "{}")
    if "files" not in asked:
        reason = asked.get("problem") or "they were not read when it asked"
        raise FlowError("approval_required", f"the approval of this run names no files: {reason}")
    granted = local_approvals.grant(
        caller.approvals,
        selected,
        asked["binding"],
        content=asked["files"],
        approver=str(approval.decided_by),
        believing=caller.believing(),
        reason=approval.note,
        signer="none",
    )
    return str(granted["approval_id"])


def _keep_signed(selected: Selected, caller: Caller, approval: Approval, made: Json) -> str:
    """What an approver has signed: the gate compares it with what would run here, and checks the signature."""
    if made.get("approval_id") != approval_id_of(approval.run_id, approval.number):
        raise FlowError("approval_signature_invalid", "the approval of this run was signed for another run")
    local_approvals.keep_grant(caller.approvals, selected, made)
    return str(made["approval_id"])


def _read_answer(
    started: StartedAttempt, answer: Json, output_folder: str, control: AttemptControl
) -> AttemptResult:
    result: Json = answer["result"]
    if answer["ok"]:
        state, reason = AttemptState.SUCCEEDED, None
    elif result["timed_out"]:
        state, reason = AttemptState.TIMED_OUT, "it took longer than its limit and was ended"
    else:
        state, reason = AttemptState.FAILED, _failure(answer)
    end = AttemptEnd(
        state,
        exit_code=result["exit_code"],
        signal=result["signal"],
        duration_ms=result["duration_ms"],
        execution_id=answer["execution_id"],
        reason=reason,
        facts=facts_of(answer),
    )
    kept = _keep_output(started, result, output_folder)
    session = answer.get("session") or {}
    return AttemptResult(
        replace(_interrupted(end, control), **kept), result["stdout"], session.get("agent_session_id")
    )


def _failure(answer: Json) -> str:
    """Why a task failed: what is known about it, else how its process ended."""
    result: Json = answer["result"]
    code, signal = result["exit_code"], result["signal"]
    if answer.get("problem") is not None:
        return str(answer["problem"])
    return f"exit status {code}" if code is not None else f"ended by {signal or 'an error'}"


def facts_of(answer: Json) -> str:
    """Who it ran as, what allowed it, and what is kept of it elsewhere: JSON without secrets or output."""
    facts = {name: answer[name] for name in _FACTS if answer.get(name) is not None}
    verify = answer.get("verify")
    if verify is not None:
        facts["verify"] = {name: verify[name] for name in ("passed", "exit_code", "timed_out")}
    facts["warnings"] = answer["warnings"][:_WARNINGS]
    text = json.dumps(facts, default=str)
    return text if len(text) <= _FACTS_LIMIT else json.dumps({"omitted": "the audit record has them"})


def _interrupted(end: AttemptEnd, control: AttemptControl) -> AttemptEnd:
    """An attempt that we ended: cancelled by a user, or lost because the worker stops."""
    if end.state is AttemptState.SUCCEEDED:
        return end
    if control.cancelled():
        return replace(end, state=AttemptState.CANCELLED)
    if control.stopping():
        return replace(end, state=AttemptState.LOST, reason=_STOPPED)
    return end


def _keep_output(started: StartedAttempt, result: Json, folder: str) -> Json:
    """The columns about the output; what is longer than the store's part is in a file, as `output.offload` says."""
    output = started.definition.document["output"]
    whole = "".join(filter(None, (result["stdout"], result["stderr"]))).encode("utf-8", "replace")
    limit = int(output["preview_bytes"])
    if output["retrieve"] == "inline":
        limit = max(4 * limit, _INLINE)
    kept: Json = {
        "preview": whole[:limit].decode("utf-8", "ignore").replace("\0", "\ufffd"),
        "output_bytes": len(whole),
        "output_digest": f"sha256:{hashlib.sha256(whole).hexdigest()}",
    }
    if output["offload"] == "always" or (output["offload"] == "auto" and len(whole) > limit):
        name = f"{started.run.run_id}-{started.number}.out"
        try:
            write_whole(os.path.join(folder, name), whole)
        except OSError:
            return kept  # the task has run: its end is recorded, with the preview and the size of what is missing
        kept["output_path"] = name
    return kept
