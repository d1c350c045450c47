"""Running one task of a manifest here and now: every gate, then the work, then what is said about it afterwards.

    selection, binding, allowed paths -> an approval exists -> enclosure -> the start is recorded -> proof -> identity
    -> trust -> authorization -> credentials -> the approval is used -> the work -> verify -> credentials gone ->
    attestation -> evidence -> the end is recorded

Nothing that costs anything (an approval, a credential, a start) comes before everything that could refuse has been asked.
The start is on disk before the first program, request or credential of the execution: also kill -9 leaves no effect
without a record. An approval is used at the last moment, after a record of its use. Every refusal after the selection is
recorded too, also that of a plan (`record_refusal`). Credentials go whatever happens.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from operable.flow.approve.gate import ApprovalGate
from operable.flow.audit.attestation import attest, attestation_text
from operable.flow.audit.evidence import add_evidence
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.manifest.selection import Selected, select
from operable.flow.manifest.tools import tool_of
from operable.flow.run import process
from operable.flow.run.budgets import unmeasured
from operable.flow.run.caller import EVERYTHING, Caller, bind
from operable.flow.run.command_gate import VERIFY, CommandGate, TaskProgram
from operable.flow.run.credentials import Materialised, materialise
from operable.flow.run.enclosure import TaskEnclosure, check_paths, enclosed
from operable.flow.run.execution import Execution, structured_output
from operable.flow.run.options import ExecOptions
from operable.flow.run.outcomes import Conclusion
from operable.flow.run.process import TaskResult, run_command
from operable.flow.trust.governance import authorize, enforce_trust, identify, prove, refuse_handoff
from operable.flow.trust.identity.sessions import timestamp
from operable.flow.trust.policy.authorization import enforce
from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand, resolve

Json = dict[str, Any]


class Work(Protocol):
    """One kind of task. What cannot be started is a result, not an exception: failure handlers follow it."""

    def run(self, given: Materialised) -> TaskResult: ...
    def verify(self, verify: Mapping[str, Any]) -> TaskResult: ...


def preview(manifest: Any, task_id: str, caller: Caller, options: ExecOptions | None = None) -> Json:
    """What would run. Nothing is asked, resolved, signed, started or recorded."""
    chosen = options or ExecOptions()
    found = _execution(select(manifest, task_id, chosen.workflow_id), caller, chosen)
    _check_declared(found)
    return found.preview()


def execute(manifest: Any, task_id: str, caller: Caller, options: ExecOptions | None = None) -> Json:
    """Run it. The answer, or FlowError with the code of the gate that refused."""
    chosen = options or ExecOptions()
    return execute_selected(select(manifest, task_id, chosen.workflow_id), caller, chosen)


def execute_selected(selected: Selected, caller: Caller, options: ExecOptions) -> Json:
    return _Run(_execution(selected, caller, options), options).answer()


def record_refusal(selected: Selected, caller: Caller, options: ExecOptions, problem: FlowError) -> FlowError:
    """A task that was asked for and is refused before its own gates: the refusal, recorded as those of the gates are."""
    return Conclusion(_execution(selected, caller, options)).failed(problem)


def _execution(selected: Selected, caller: Caller, options: ExecOptions) -> Execution:
    return Execution(
        selected=selected,
        caller=caller,
        bound=bind(selected, caller, timeout_ms=options.timeout_ms, instance_id=options.instance_id),
        execution_id=os.urandom(16).hex(),
        timestamp=timestamp(time.time()),
        contract=inheritance.merged_contract(selected.workflow, selected.task),
        warnings=[],
        signer=options.signer or caller.environment.get("AGENTCLI_SIGNER") or "ssh",
    )


def _check_declared(it: Execution) -> None:
    """What the manifest alone decides: FlowError if it cannot be held, and warnings of what is not."""
    selected = it.selected
    refuse_handoff(selected)
    it.warnings += check_paths(it.contract, it.bound.cwd, it.caller.cwd)
    if selected.is_shell:
        it.warnings += unmeasured(it.contract)
        if tool_of(selected.task) is None:
            it.warnings += _unheld(selected.task.get("intent"))
    if not selected.governed and any(
        owner.get(name)
        for owner in (selected.workflow, selected.task)
        for name in ("authorization_proof", "authorization", "evidence")
    ):
        it.warnings.append("authorization_proof, authorization and evidence have no effect in a 0.1 manifest")


def _unheld(intent: Mapping[str, Any] | None) -> list[str]:
    """What a shell task says of itself and nothing holds it to."""
    said = {"mode": "plan", "read_only": True}
    found = [f"intent.{name}" for name, value in said.items() if (intent or {}).get(name) == value]
    text = "nothing keeps this command from writing; what holds a shell task is its contract"
    return [f"{' and '.join(found)} not enforced: {text}"] if found else []


class _Run:
    """The phases of one execution, in their order."""

    def __init__(self, execution: Execution, options: ExecOptions) -> None:
        self._it = execution
        self._options = options
        self._conclusion = Conclusion(execution)
        self._approval = ApprovalGate(execution, options.approval_id)
        self._programs = command_gate(execution, options)

    def answer(self) -> Json:
        it = self._it
        materialised = None
        try:
            self._gate()
            with self._place() as work:
                self._conclusion.begin()
                self._govern()
                with self._credentials() as given:
                    materialised = given.described()
                    self._approval.use()
                    self._work(work, given)
                    self._approval.require_untouched()
            self._release()
            self._attest()
            add_evidence(
                it, self._options.evidence_provider, self._options.signing_key, self._needs_evidence()
            )
            answer = self._conclusion.answer(needs_evidence=self._needs_evidence())
            return answer | self._debug(materialised)
        except FlowError as problem:
            self._release()  # before it is recorded: what could not be given back belongs to the record
            raise self._conclusion.failed(problem) from None
        except BaseException as stop:
            self._conclusion.record(ok=False, error={"code": "interrupted", "message": type(stop).__name__})
            raise
        finally:
            self._release()

    # -- gates

    def _gate(self) -> None:
        it = self._it
        if it.contract["audit"] != "none":
            it.caller.place("audit")  # a run that could not be recorded is not begun
        _check_declared(it)
        planned = self._options.content
        if planned is not None and it.content() != planned:
            raise FlowError("plan_changed", "A file of the task is not what it was when this was planned")
        self._approval.check()
        self._programs.require_allowed()

    @contextmanager
    def _place(self) -> Iterator[Work]:
        it, mode = self._it, self._it.caller.environment.get("AGENTCLI_SANDBOX", "")
        if not it.selected.is_shell:
            from operable.flow.run.prompt_task import PromptWork  # the whole host comes with it

            yield PromptWork(it, self._options)
            return
        tool = tool_of(it.selected.task)
        if tool is not None:
            from operable.flow.run.tool_task import ToolWork  # asyncio comes with it

            yield ToolWork(it, tool, self._options)
            return
        if it.contract["sandbox"] == "permissive":
            it.warnings.append(
                'contract.sandbox is "permissive"; only the contract\'s other terms are enforced'
            )
        with enclosed(
            it.contract, cwd=it.bound.cwd, base=it.caller.cwd, environment=it.bound.environment, mode=mode
        ) as enclosure:
            it.enforcement = enclosure.report
            yield ShellWork(it, enclosure, self._options)

    def _govern(self) -> None:
        it = self._it
        if it.signer not in ("ssh", "none"):
            raise FlowError("invalid_argument", f'Unknown signing provider: "{it.signer}"')
        governed = it.selected.governed
        if governed:
            it.proof = prove(it.selected, it.bound, it.caller, EVERYTHING)
        it.identified = identify(
            it.selected, it.bound, it.caller, EVERYTHING, instance_id=self._options.instance_id
        )
        it.mask.add(*it.identified.secrets)
        it.warnings += enforce_trust(it.contract, it.identified.trust)
        if governed or self._options.require_authorization:
            it.decision = authorize(
                it.selected,
                it.bound,
                it.identified,
                it.proof,
                it.caller,
                EVERYTHING,
                required=self._options.require_authorization,
            )
        if it.decision is not None:
            enforce(it.decision)

    @contextmanager
    def _credentials(self) -> Iterator[Materialised]:
        it = self._it
        session = it.identified.session if it.identified is not None else None
        if session is None or it.identified is None or it.identified.request is None:
            yield Materialised()
            return
        presentation = it.identified.request.identity.get("presentation")
        stdin = (it.selected.task.get("shell") or {}).get("stdin")
        with materialise(session, presentation, shell_stdin=stdin) as given:
            it.mask.add(*given.secrets)
            yield given

    # -- work

    def _work(self, work: Work, given: Materialised) -> None:
        it = self._it
        it.ran = it.masked(work.run(given))
        if it.ran.problem is not None:
            it.warnings.append(it.ran.problem)
        elif it.ran.timed_out:
            it.warnings.append(f"it took longer than its limit of {it.bound.timeout_ms} ms and was ended")
        form = (it.selected.task.get("output") or {}).get("format")
        it.structured, complaint = structured_output(form, it.ran.stdout)
        if complaint is not None:
            it.warnings.append(complaint)
        verify = inheritance.merged_verify(it.selected.workflow, it.selected.task)
        if verify is not None and it.ran.ok:
            program = TaskProgram.line(VERIFY, str(verify["shell"]))
            with self._programs.admitted(program, _answered_by(it, self._options)) as end:
                it.verified = it.masked(work.verify(verify))
                end("OK" if it.verified.ok else "VERIFY_FAILED")
            if not it.verified.ok and verify["on_failure"] == "warn":
                it.warnings.append(process.complaint(it.verified))

    def _release(self) -> None:
        """Give credentials back as soon as they are not needed. What could not be given back is said."""
        identified = self._it.identified
        if identified is not None:
            try:
                identified.release()
            except FlowError as problem:
                self._conclusion.left_behind(f"Credential cleanup warning: {problem.message}")

    def _attest(self) -> None:
        it = self._it
        text = attestation_text(
            command_hash=it.command_hash(),
            execution_id=it.execution_id,
            principal=it.principal,
            source=it.selected.source,
            timestamp=it.timestamp,
        )
        it.attestation, it.attestation_note = attest(
            text, it.caller.surroundings, signer=it.signer, key=self._options.signing_key
        )

    def _needs_evidence(self) -> bool:
        it = self._it
        declared = inheritance.effective_evidence(
            it.selected.manifest, it.selected.workflow, it.selected.task
        )
        required = it.selected.governed and declared is not None and declared["verify"]["required"] is True
        return self._options.require_evidence or required

    def _debug(self, materialised: Json | None) -> Json:
        found: Json = {}
        resolved = self._it.sections()["resolved_identity"]
        if self._options.identity_debug:
            summary = (resolved or {}).get("credential_summary")
            found["identity_debug"] = {"session": resolved, "credential_summary": summary}
        if self._options.presentation_debug:
            found["presentation_debug"] = materialised
        return found


# What a task does once everything allows it: run, and be verified. The work of shell tasks is here.


def command_gate(execution: Execution, options: ExecOptions) -> CommandGate:
    return CommandGate(
        execution.selected,
        side=execution.caller.side,
        cwd=execution.bound.cwd,
        known=execution.mask,
        stop=options.stop,
    )


def _answered_by(it: Execution, options: ExecOptions) -> str:
    """Who has agreed to the programs of this task."""
    if it.approval_used is not None:
        return "the approval of the task"
    return options.answered.get(f"{it.selected.workflow['id']}/{it.selected.task['id']}", "")


class ShellWork:
    """A program with its arguments, without any shell, in its enclosure."""

    def __init__(self, execution: Execution, enclosure: TaskEnclosure, options: ExecOptions) -> None:
        self._it = execution
        self._enclosure = enclosure
        self._options = options

    def run(self, given: Materialised) -> TaskResult:
        bound, shell = self._it.bound, self._it.selected.task["shell"]
        environment = {**bound.environment, **given.environment, **self._options.environment}
        argv = (shell["program"], *(shell.get("args") or ()))
        try:
            program = resolve(shell["program"], env=bound.environment, cwd=bound.cwd)  # as it was approved
            command = self._enclosure.wrap(
                PreparedCommand(argv, program, environment, bound.cwd), given.folders
            )
        except FlowError:
            raise
        except Fail as problem:
            return TaskResult(problem=problem.message)
        gate = command_gate(self._it, self._options)
        with gate.admitted(TaskProgram.of_task(shell), _answered_by(self._it, self._options)) as end:
            ran = self._ran(command, given, shell)
            end("OK" if ran.ok else "TASK_FAILED")
            return ran

    def _ran(self, command: PreparedCommand, given: Materialised, shell: Mapping[str, Any]) -> TaskResult:
        bound = self._it.bound
        return run_command(
            command,
            stdin=given.stdin if given.stdin is not None else shell.get("stdin"),
            timeout=None if bound.timeout_ms is None else bound.timeout_ms / 1000,
            stop=self._options.stop,
        )

    def verify(self, verify: Mapping[str, Any]) -> TaskResult:
        bound = self._it.bound
        environment = {**bound.environment, **self._options.environment}
        return process.check(verify, cwd=bound.cwd, environment=environment, enclosure=self._enclosure)
