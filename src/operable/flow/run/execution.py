"""One execution as a value: what is known of it at any moment, and the documents that are made of that.

Phases fill in the members; `answer` is what the caller gets, `record` what the audit log keeps, `sections` what evidence is
signed over, `preview` the answer of a dry run. Contents of output, arguments and environment are only in the answer; records
have hashes. Known secrets are masked before any document is made.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from operable.flow.audit.attestation import SECTIONS, command_hash
from operable.flow.canonical import canonical_digest, canonical_text, hash_text, parse
from operable.flow.manifest.findings import js_trim
from operable.flow.manifest.inheritance import first
from operable.flow.manifest.selection import Selected
from operable.flow.run import process
from operable.flow.run.caller import Bound, Caller, content_of
from operable.flow.run.process import TaskResult
from operable.flow.trust.governance import Identified, actor_of, step_up
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Known

Json = dict[str, Any]
PHASES = (
    "authorization_proof identity_resolution authorization credential_materialization handoff signing evidence verify audit"
).split()


@dataclass(slots=True)
class Execution:
    """Members are None until their phase is over."""

    selected: Selected
    caller: Caller
    bound: Bound
    execution_id: str
    timestamp: str
    contract: Json
    warnings: list[str]
    signer: str = "ssh"
    agent: str | None = None  # which agent a prompt runs on
    identified: Identified | None = None
    proof: Json | None = None
    decision: Json | None = None
    approval_used: Json | None = None
    enforcement: tuple[dict[str, str], ...] = ()
    materialised: Json | None = None
    ran: TaskResult | None = None
    structured: Any = None
    verified: TaskResult | None = None
    attestation: Json | None = None
    attestation_note: str | None = None
    evidence: Json | None = None
    envelope: Json | None = None
    usage: Json | None = None
    verdict: Json | None = None  # of a tool or an application: how its answer was judged
    session: Json | None = None  # of an agent: where its transcript is, and how to go on with it

    @property
    def principal(self) -> str:
        return self.caller.principal if self.identified is None else self.identified.principal

    def content(self) -> dict[str, str]:
        """The digests of the task's files as they are now."""
        return content_of(self.selected, self.bound, self.caller)

    @property
    def mask(self) -> Known:
        """Every secret that this run has read or was given, from the moment in which it had it."""
        return self.bound.known

    def masked(self, ran: TaskResult) -> TaskResult:
        """What a command printed, with secrets removed."""
        return replace(ran, stdout=self.mask.text(ran.stdout), stderr=self.mask.text(ran.stderr))

    def command(self) -> Json:
        """What ran, without contents."""
        binding, task = self.bound.binding["command"], self.selected.task
        if binding is None:
            return {
                "session_target": task["target"]["session_target"],
                "agent_id": first(task["target"].get("agent_id"), "main"),
                "agent": self.agent,
                "prompt_hash": self.bound.binding["prompt_hash"],
            }
        names = "program cwd args_count args_hashes env_keys env_hashes".split()
        return {
            **{name: binding[name] for name in names},
            "stdin_present": task["shell"].get("stdin") is not None,
            "stdin_hash": binding["stdin_hash"],
        }

    def command_hash(self) -> str:
        shell = self.selected.task.get("shell")
        if shell is None:
            return str(first(self.bound.binding["prompt_hash"], self.bound.task_hash))
        return command_hash(shell["program"], shell.get("args") or [], shell.get("cwd"))

    def result(self) -> Json | None:
        """The result with its contents."""
        ran = self.ran
        if ran is None:
            return None
        return {
            "exit_code": ran.exit_code,
            "signal": ran.signal,
            "timed_out": ran.timed_out,
            "duration_ms": ran.duration_ms,
            "stdout": ran.stdout,
            "stderr": ran.stderr,
            "stdout_bytes": len(ran.stdout.encode("utf-8", "surrogatepass")),
            "stderr_bytes": len(ran.stderr.encode("utf-8", "surrogatepass")),
            "output_hash": hash_text(ran.stdout + ran.stderr),
            "structured": self.structured,
        }

    def recorded_result(self) -> Json | None:
        whole = self.result()
        if whole is None or self.ran is None:
            return None
        kept = {
            name: value for name, value in whole.items() if name not in ("stdout", "stderr", "structured")
        }
        structured = self.structured
        return {
            **kept,
            "stdout_hash": hash_text(self.ran.stdout),
            "stderr_hash": hash_text(self.ran.stderr),
            "structured_present": structured is not None,
            "structured_hash": None if structured is None else canonical_digest(structured),
        }

    def sections(self) -> Json:
        """What evidence is about; the record has exactly these too."""
        identified = self.identified
        governed = self.selected.governed
        found = {
            "declared_identity": identified.declared if identified and governed else None,
            "resolved_identity": identified.resolved if identified else None,
            "authorization_proof": self.proof,
            "authorization": self.decision,
            "actor_context": actor_of(self.selected, identified, self.proof)
            if identified and governed
            else None,
            "contract": self.contract,
            "command": self.command(),
            "result": self.recorded_result(),
            "verify": None if self.verified is None else process.recorded(self.verified),
        }
        masked: Json = self.mask.value({name: found[name] for name in SECTIONS})
        return masked

    def record(self, *, error: Mapping[str, Any] | None = None) -> Json:
        """The audit record."""
        identified = self.identified
        made: Json = {
            "execution_id": self.execution_id,
            "timestamp": self.timestamp,
            "source": self.selected.source,
            **self.sections(),
            "identity": self.bound.binding["identity"],
            "principal_used": self.principal,
            "account": self.caller.account,
            "trust": identified.trust if identified else None,
            "command_hash": self.command_hash(),
            "effective_task_hash": self.bound.task_hash,
            "manifest_digest": self.bound.manifest_digest,
            "signer": self.signer,
            "attestation": self.attestation,
            "attestation_note": self.attestation_note,
            "evidence": None if self.evidence is None else {**self.evidence, "envelope": self.envelope},
            "sandbox": self.sandbox(),
            "warnings": list(self.warnings),
            "dry_run": False,
            "approval_used": self.approval_used,
        }
        return made if error is None else {**made, "error": dict(error)}

    def answer(self, *, ok: bool, audited: bool) -> Json:
        """What the caller gets."""
        identified, governed = self.identified, self.selected.governed
        sections = self.sections()
        attestation = self.attestation
        made: Json = {
            "ok": ok,
            "execution_id": self.execution_id,
            "timestamp": self.timestamp,
            "source": self.selected.source,
            "declared_identity": sections["declared_identity"],
            "resolved_identity": sections["resolved_identity"],
            "identity": self.bound.binding["identity"],
            "principal_used": self.principal,
        }
        if governed:
            made |= {
                "actor_context": sections["actor_context"],
                "step_up": step_up(self.proof),
                "authorization_proof": self.proof,
                "authorization": self.decision,
                "evidence": self.evidence,
                "hashes": {"command": self.command_hash(), "result": canonical_digest(sections["result"])},
                "handoff": {"mode": "none", "prepared": False},
            }
        made |= {
            "contract": self.contract,
            "command": sections["command"],
            "effective_task_hash": self.bound.task_hash,
            "manifest_digest": self.bound.manifest_digest,
            "result": self.result(),
            "verify": None if self.verified is None else process.shown(self.verified),
            "trust": identified.trust if identified else None,
            "sandbox": self.sandbox(),
            "signer": self.signer,
            "attestation": attestation
            and {name: attestation[name] for name in ("method", "key_fingerprint")},
            "attestation_note": self.attestation_note,
            "warnings": list(self.warnings),
            "audited": audited,
            "approval_used": self.approval_used,
        }
        if self.usage is not None:
            made["usage"] = self.usage
        if self.session is not None:
            made["session"] = self.session
        if self.verdict is not None:
            made["verdict"] = self.verdict
        if self.ran is not None and self.ran.problem is not None:
            made["problem"] = self.ran.problem
        masked: Json = self.mask.value(made)
        return masked

    def sandbox(self) -> Json:
        return {
            "requested": first(self.contract["sandbox"], "permissive"),
            "network": first(self.contract["network"], "unrestricted"),
            "enforced": list(self.enforcement),
        }

    def preview(self) -> Json:
        """What would run; nothing was asked, resolved, signed or started."""
        approval = self.bound.binding["approval"]
        return {
            "ok": True,
            "dry_run": True,
            "execution_id": self.execution_id,
            "timestamp": self.timestamp,
            "source": self.selected.source,
            "effective_task_hash": self.bound.task_hash,
            "manifest_digest": self.bound.manifest_digest,
            "identity": self.bound.binding["identity"],
            "contract": self.contract,
            "command": self.command(),
            "approval": {
                "policy": approval["policy"],
                "required": approval["required"] == 1,
                "auto_reject": approval["policy"] == "auto-reject",
                "risk_level": approval["risk_level"],
                "approver_scope": approval["approver_scope"],
                "timeout_s": approval["timeout_s"],
            },
            "sandbox": {
                "requested": first(self.contract["sandbox"], "permissive"),
                "network": first(self.contract["network"], "unrestricted"),
                "evaluated": False,
            },
            "phases": dict.fromkeys(PHASES, "skipped"),
            "warnings": list(self.warnings),
            "result": {"status": "dry_run"},
        }


def structured_output(form: str | None, stdout: str) -> tuple[Any, str | None]:
    """(what a task printed as data, why that could not be read). Blank output is neither data nor an error."""
    if form not in ("json", "ndjson") or not js_trim(stdout):
        return None, None
    try:
        lines = [stdout] if form == "json" else js_trim(stdout).split("\n")
        parsed = [parse(line) for line in lines if js_trim(line)]
        canonical_text(parsed)  # what is nested too deeply has no hash, and cannot be recorded
    except (ValueError, RecursionError):
        what = "stdout is not valid JSON" if form == "json" else "stdout contains invalid JSON lines"
        return None, f'output.format is "{form}" but {what}'
    return parsed[0] if form == "json" else parsed, None
