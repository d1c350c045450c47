"""The gate of every call: judge it, ask a person if the rules say so, record it, let it run, record how it ended.

    async with await gate.admit(call) as admission:        # Fail authz/CALL_DENIED or CALL_UNANSWERED: it must not run
        result = await adapter.call(action, call.arguments, confirmed=admission.confirmed, progress=…)
        admission.close(result.code)

Theory of operation. `CallPolicy` judges. A question waits where every process can answer it (`operable.gate.call_queue`),
and the caller's own way to ask (`on_ask`: a form of the MCP client, a terminal) competes with that; the first answer counts.
An answer is for the digest of this call. The rules are looked at again after a yes: a rule that denies was perhaps written
while the person thought. `call.started` is on disk before `admit` returns, else the call is refused. `call.ended` is
written with the next record, or a moment later; a process that dies before that leaves a call that counts as lost. A
refusal is one record, `call.denied`. Writing happens in a thread: a disk that syncs slowly holds no other call.

`admit_now` is the same for callers without an event loop; it writes the end at once.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import field
from types import TracebackType
from typing import Any, Final, Self

from operable.gate.approvals import TIMEOUT, ApprovalQueue, Ask, Decision, OnAsk
from operable.gate.audit.chain import Audit, OpenRecord
from operable.gate.audit.place import workspace_audit
from operable.gate.call import GatedCall
from operable.gate.call_queue import own_folder, release_folder
from operable.gate.policy.call_policy import CallPolicy, CallRuling
from operable.gate.policy.pattern import ALLOW, ASK, DENY
from operable.gate.spans import CallSpans, call_spans
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known

# How long the end of a call waits for the start of the next one, to be written with it.
_LINGER: Final = 0.2
OK: Final = "OK"
CANCELLED: Final = "CANCELLED"


class CallGate:
    """The gate of one process. `root` is the folder of agents' state, `questions` that of questions; None: the user's.

    `timeout`: how long a question waits where the policy file does not say; without an answer the call is denied.
    """

    def __init__(
        self,
        *,
        policy: CallPolicy | None = None,
        root: str | None = None,
        questions: str | None = None,
        timeout: float = TIMEOUT,
        secrets: Known | None = None,
    ) -> None:
        self.policy = policy if policy is not None else CallPolicy()
        self._root, self._questions = root, questions
        self._timeout = timeout
        self._secrets = secrets if secrets is not None else Known()
        self._chains: dict[str, _Chain] = {}

    def judge(self, call: GatedCall) -> CallRuling:
        """What the rules say. Fail config/POLICY_UNUSABLE if there are rules that cannot be read: nothing is allowed."""
        try:
            return self.policy.judge(call)
        except Fail as problem:
            raise Fail(
                "config",
                "POLICY_UNUSABLE",
                f"{call.tool} is refused, because the policy file cannot be used: {problem.message}",
                target=problem.target,
                hint="operable policy check",
            ) from problem
        except Exception as error:  # unknown means no, also where the fault is ours
            raise Fail(
                "internal", "JUDGING_FAILED", f"{call.tool} could not be judged ({type(error).__name__})"
            ) from error

    async def admit(
        self,
        call: GatedCall,
        *,
        on_ask: OnAsk | None = None,
        answer: Decision | None = None,
        timeout: float | None = None,
    ) -> "CallAdmission":
        """Let a call begin. Fail authz/CALL_DENIED, authz/CALL_UNANSWERED: it must not.

        `on_ask` is the caller's own way to ask; it may leave the answer to others (None). `answer` is one that a person
        has given already to exactly this call: its digest must be that of the call. `timeout` shortens the question.
        """
        try:
            admission = await self._decided(call, on_ask, answer, timeout)
        except BaseException:
            self._chain(call).commit_soon()  # the refusal
            raise
        try:
            await asyncio.to_thread(admission.chain.commit, admission.opened)
        except asyncio.CancelledError:
            admission.close(CANCELLED)
            raise
        return admission

    def admit_now(
        self,
        call: GatedCall,
        *,
        on_ask: OnAsk | None = None,
        answer: Decision | None = None,
        timeout: float | None = None,
    ) -> "CallAdmission":
        """`admit` for a thread that has no event loop. The end of the call is on disk when `close` returns."""
        try:
            ruling = self.judge(call)
            if ruling.effect == ASK and answer is None:
                admission = asyncio.run(self._decided(call, on_ask, answer, timeout))
            else:
                admission = self._ruled(call, ruling, answer)
        except BaseException:
            self._chain(call).commit()  # the refusal
            raise
        admission.is_eager = True
        admission.chain.commit(admission.opened)
        return admission

    def flush(self) -> None:
        """Write the ends that are due, for a caller whose event loop has ended."""
        for chain in list(self._chains.values()):
            chain.commit()
        if (spans := call_spans()) is not None:
            spans.flush()

    def close(self) -> None:
        """Write the ends that are due, and remove what this process asked."""
        self.flush()
        release_folder(self._questions)

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    # --- deciding

    async def _decided(
        self, call: GatedCall, on_ask: OnAsk | None, answer: Decision | None, timeout: float | None
    ) -> "CallAdmission":
        ruling = self.judge(call)
        if ruling.effect != ASK or answer is not None:
            return self._ruled(call, ruling, answer)
        call_id = _new_id()
        given = await self._asked(call, call_id, ruling, on_ask, timeout)
        again = self.judge(call)
        if again.effect == DENY:
            raise self._refused(call, again, None)
        if not given.allowed:
            raise self._refused(call, ruling, given)
        return self._begun(call, ruling, given, call_id)

    def _ruled(self, call: GatedCall, ruling: CallRuling, answer: Decision | None) -> "CallAdmission":
        """A call that needs no question: a rule decides, or the answer is there already."""
        if ruling.effect == ALLOW:
            return self._begun(call, ruling, None, _new_id())
        if ruling.effect == DENY or answer is None:
            raise self._refused(call, ruling, None)
        if answer.digest != call.digest:
            changed = Decision(False, "the answer was given to another call", answer.by, digest=answer.digest)
            raise self._refused(call, ruling, changed)
        if not answer.allowed:
            raise self._refused(call, ruling, answer)
        return self._begun(call, ruling, answer, _new_id())

    async def _asked(
        self, call: GatedCall, call_id: str, ruling: CallRuling, on_ask: OnAsk | None, timeout: float | None
    ) -> Decision:
        shown = call.shown(self._secrets)
        limit = self.policy.ask_timeout or self._timeout
        queue = ApprovalQueue(
            own_folder(self._questions),
            timeout=limit if timeout is None else min(limit, timeout),
            on_ask=on_ask,
            secrets=self._secrets,
        )
        ask = Ask(
            call_id,
            str(call.caller),
            "permission",
            f"{call.caller} wants to run {shown['command']}. {call.consequence}".strip(),
            call.tool,
            call.judged.kind,
            shown["arguments"],
            digest=call.digest,
            why=ruling.why,
            caller=str(call.caller),
            folder=call.workspace,
            command=shown["command"],
            effect=call.effect,
        )
        try:
            return await queue.ask(ask)
        except asyncio.CancelledError:
            queue.withdraw(call_id, "the caller no longer waits for it")
            self._record_refusal(call, ruling, Decision(False, "the caller no longer waits", cancelled=True))
            raise

    def _refused(self, call: GatedCall, ruling: CallRuling, given: Decision | None) -> Fail:
        """The refusal, on record. `given` is the answer of a person; None: a rule refused it."""
        self._record_refusal(call, ruling, given)
        if given is None:
            return Fail(
                "authz",
                "CALL_DENIED",
                f"{call.tool} is denied for {call.caller} by {ruling.reference}: {ruling.why}",
                target=call.tool,
                hint=f"operable policy test --caller {call.caller} {call.tool}",
            )
        if given.by == "timeout":
            return Fail(
                "authz",
                "CALL_UNANSWERED",
                f"{call.tool} of {call.caller} needs a person's yes, and there was {given.reason}; nothing was run",
                target=call.tool,
                hint="a person answers with: operable inbox list; a rule in policy.toml can allow it",
            )
        reason = f": {given.reason}" if given.reason else ""
        return Fail(
            "authz",
            "CALL_DENIED",
            f"{given.by or 'a person'} denied {call.tool} of {call.caller}{reason}; nothing was run",
            target=call.tool,
            hint="do not call it again unless the user asks for it",
        )

    # --- the record

    def _begun(
        self, call: GatedCall, ruling: CallRuling, given: Decision | None, call_id: str
    ) -> "CallAdmission":
        chain = self._chain(call)
        facts = self._facts(call, ruling, given, call_id)
        opened = chain.begin("call.started", str(call.caller), facts)
        return CallAdmission(call, ruling, given, call_id, chain, opened, spans=call_spans())

    def _record_refusal(self, call: GatedCall, ruling: CallRuling, given: Decision | None) -> None:
        chain, call_id = self._chain(call), _new_id()
        chain.note("call.denied", str(call.caller), self._facts(call, ruling, given, call_id, refused=True))
        if (spans := call_spans()) is not None:
            spans.ended(call, call_id, 0.0, "CALL_DENIED")

    def _facts(
        self,
        call: GatedCall,
        ruling: CallRuling,
        given: Decision | None,
        call_id: str,
        *,
        refused: bool = False,
    ) -> dict[str, Any]:
        answered = {} if given is None else {"answered_by": given.by or "a person", "reason": given.reason}
        return {
            "subject": _subject(call),
            "input": call.shown(self._secrets),
            "decision": (ruling.reference, DENY if refused else ALLOW),
            "metadata": {"call": call_id, "rule": ruling.effect, **answered},
        }

    def _chain(self, call: GatedCall) -> "_Chain":
        known = self._chains.get(call.workspace)
        if known is None:
            audit = workspace_audit(call.workspace, actor="operable", secrets=self._secrets, root=self._root)
            known = self._chains.setdefault(call.workspace, _Chain(audit))
        return known


@dataclass(slots=True)
class CallAdmission:
    """A call that may run, once. It is closed with the code of its verdict; leaving the context closes it in any case."""

    call: GatedCall
    ruling: CallRuling
    answer: Decision | None
    call_id: str
    chain: "_Chain" = field(repr=False)
    opened: OpenRecord = field(repr=False)
    is_eager: bool = False
    spans: CallSpans | None = field(default=None, repr=False)
    _begun: float = field(default_factory=time.monotonic, repr=False)
    _is_closed: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether a person agreed to this call, now or by a rule of the policy file: what a tool takes as a confirmation."""
        return self.answer is not None or self.ruling.is_of_file

    def close(self, code: str, **facts: Any) -> None:
        """How it ended, once. What cannot be recorded counts as lost; the call has happened."""
        if self._is_closed:
            return
        self._is_closed = True
        seconds = time.monotonic() - self._begun
        output = {"code": code, "milliseconds": round(seconds * 1000), **facts}
        self.chain.end(
            "call.ended",
            str(self.call.caller),
            {"subject": _subject(self.call), "output": output, "metadata": {"call": self.call_id}},
            self.opened,
        )
        if self.is_eager:
            self.chain.commit()
        else:
            self.chain.commit_soon()
        if self.spans is not None:
            self.spans.ended(self.call, self.call_id, seconds, code)
            if self.is_eager:
                self.spans.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close(_code_of(kind, error))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close(_code_of(kind, error))


def _code_of(kind: type[BaseException] | None, error: BaseException | None) -> str:
    if kind is None:
        return OK
    if isinstance(error, Fail):
        return error.code
    return CANCELLED if issubclass(kind, asyncio.CancelledError | KeyboardInterrupt) else "CALL_FAILED"


def _subject(call: GatedCall) -> dict[str, str]:
    return {"kind": call.kind, "ref": call.tool}


def _new_id() -> str:
    import os

    return f"call_{os.urandom(8).hex()}"


class _Chain:
    """The chain of one workspace, for calls of any thread. Records that come while one is written share the next write."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._adding, self._writing = threading.Lock(), threading.Lock()
        self._scheduled_in: asyncio.AbstractEventLoop | None = None

    def begin(self, action: str, actor: str, facts: Mapping[str, Any]) -> OpenRecord:
        with self._adding:
            return self._audit.begin(action, actor=actor, later=True, **facts)

    def note(self, action: str, actor: str, facts: Mapping[str, Any]) -> None:
        with self._adding:
            self._audit.record(action, actor=actor, later=True, **facts)

    def end(self, action: str, actor: str, facts: Mapping[str, Any], begun: OpenRecord) -> None:
        with self._adding:
            self._audit.record(action, actor=actor, later=True, closes=begun, **facts)

    def commit(self, opened: OpenRecord | None = None) -> None:
        """Write what is due. Fail: `opened`, or something else that was due, is not on disk."""
        with self._writing:
            if opened is not None and opened.head is not None:
                return  # another call wrote it with its own
            with self._adding:
                due = self._audit.take_due()
            self._audit.write(due)
        if opened is not None and opened.head is None:
            raise Fail(
                "io",
                "AUDIT_UNWRITABLE",
                "the audit chain could not be written",
                target=self._audit.path,
                hint="nothing runs without a record; make the file writable",
            )

    def commit_soon(self) -> None:
        """Write what is due within a moment, at the latest."""
        loop = asyncio.get_running_loop()
        if self._scheduled_in is not loop:
            self._scheduled_in = loop
            loop.call_later(_LINGER, loop.run_in_executor, None, self._commit_late)

    def _commit_late(self) -> None:
        self._scheduled_in = None
        try:
            self.commit()
        except Fail:
            return  # calls whose end is not on disk count as lost, and the next call is refused
