"""The records of an execution: that it starts, before its first effect; how it ended, before its caller gets an answer.

An execution whose start cannot be recorded does not start. A caller without an answer would run the task again. So if
a task has run and its end could not be recorded, the error says both. What could not be cleaned up belongs to the
record, and to the refusal. A contract that records only failures has a record of the start too: being killed is a
failure.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.audit import log as audit_log
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.run import process
from operable.flow.run.execution import Execution

Json = dict[str, Any]


class Conclusion:
    """The end of one execution. It is recorded once."""

    def __init__(self, execution: Execution) -> None:
        self._it = execution
        self._begun: audit_log.Begun | None = None
        self._recorded = False
        self._left_behind: list[str] = []

    def begin(self) -> None:
        """Record that it starts. FlowError when that cannot be written: then nothing may be done."""
        it = self._it
        if it.contract["audit"] != "none":
            self._begun = audit_log.begin(it.caller.place("audit"), it.mask.value(it.record()))

    def left_behind(self, what: str) -> None:
        """Something that should be gone is not."""
        self._left_behind.append(what)
        self._it.warnings.append(what)

    def answer(self, *, needs_evidence: bool) -> Json:
        """What the caller gets; FlowError when it ran and that is not enough."""
        it = self._it
        assert it.ran is not None  # noqa: S101 - the work is done
        verify = inheritance.merged_verify(it.selected.workflow, it.selected.task)
        unverified = it.verified is not None and not it.verified.ok
        failed_verify = unverified and verify is not None and verify["on_failure"] == "error"
        ok = it.ran.ok and not failed_verify
        self.record(ok=ok)
        if failed_verify and it.verified is not None:
            raise FlowError(
                "verify_failed",
                process.complaint(it.verified),
                execution_id=it.execution_id,
                source=it.selected.source,
                verify=process.recorded(it.verified),
            )
        if needs_evidence and not (it.evidence or {}).get("verified"):
            reason = (it.evidence or {}).get("reason") or "there is no evidence"
            message = f"Evidence is required but could not be verified: {reason}"
            raise FlowError("evidence_failed", message, execution_id=it.execution_id)
        return it.answer(ok=ok, audited=self._recorded)

    def failed(self, problem: FlowError) -> FlowError:
        """The refusal as the caller gets it: recorded, without secrets, with the execution's id."""
        it = self._it
        message = it.mask.text(problem.message)
        details = {"execution_id": it.execution_id, **it.mask.value(problem.details)}
        if self._left_behind:
            details["cleanup_warnings"] = it.mask.value(self._left_behind)
        try:
            self.record(ok=False, error={"code": problem.flow_code, "message": message})
        except FlowError as unrecorded:
            if it.ran is None:
                raise
            # A caller without an answer would run the task again: that it ran is what they must know first.
            ending = it.recorded_result()
            ran = f"the task has run (exit code {it.ran.exit_code})"
            message = f"{message}; {ran}, and only its start is recorded"
            return self._with_answer(unrecorded.restated(message, **details, ran=True, result=ending))
        return self._with_answer(problem.restated(message, **details))

    def _with_answer(self, problem: FlowError) -> FlowError:
        if self._it.ran is not None:
            problem.answer = self._it.answer(ok=False, audited=self._recorded)
        return problem

    def record(self, *, ok: bool, error: Mapping[str, Any] | None = None) -> None:
        """Record how it ended, once, as the contract says."""
        it, policy = self._it, self._it.contract["audit"] or "always"
        if self._recorded or policy == "none":
            return
        if policy == "on-failure" and ok and error is None:
            if self._begun is not None:
                audit_log.close_silently(self._begun)
            return
        record = it.mask.value(it.record(error=error))
        if self._begun is None:
            audit_log.append(it.caller.place("audit"), record, secrets=it.mask)
        else:
            audit_log.close(self._begun, record, secrets=it.mask)
        self._recorded = True
