"""Yes or no to the question of a run: who may say it, what exactly it is about, and the signature where one is wanted.

A yes to a run is signed if the worker that asked, or this home, has a file of allowed signers: the same mechanism as
`operable flow approve`. What is signed is what the worker would run, with the files as they were when the run asked, under
an id that no other run has. A yes that would not count is refused here, before anything changes. The gate of the attempt
checks all of it again. An answer to an agent is not signed: it concerns one call of a session that waits for it.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from operable.cli.engine.events import EngineRun
from operable.cli.engine.options import EngineOptions
from operable.cli.engine.requests import Request, account, require_run, written
from operable.cli.engine.views import place_of, warn_without_worker
from operable.engine.lifecycle.identifiers import approval_id_of
from operable.engine.lifecycle.states import EngineRunState, RunEvent, next_state
from operable.engine.place import EnginePlace
from operable.engine.store.questions import SignedAnswer, open_question, require_answerable
from operable.engine.store.rows import Approval, Run, find_definition, find_manifest
from operable.engine.view.reader import reading
from operable.flow.approve.eligibility import Believing
from operable.flow.approve.local_approvals import check_signer, make_grant
from operable.flow.approve.records import matches_scope
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import Selected, select
from operable.flow.operation import current_folder
from operable.flow.run.caller import Caller
from operable.flow.trust.keys.signers import signing_key
from operable.gate.signatures import ssh_signatures
from operable.gate.signatures.allowed_signers import read_signers
from operable.kernel.errors import Fail
from operable.tool import Change, Warn

Json = dict[str, Any]
_BINDING = 10.0  # seconds; a worker reads the files of a question in its next round
_PATTERNS = frozenset('*?!,"')


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What a person says. `signer` and `key` are how a yes is signed; None: as the run needs it."""

    approve: bool
    by: str | None = None
    reason: str | None = None
    signer: str | None = None
    key: str | None = None


def planned_decision(
    run_id: str, answer: RunAnswer, options: EngineOptions
) -> Iterator[Change[Request] | Warn]:
    """The answer to the question of a run."""
    place = place_of(options)
    run = require_run(place, run_id)
    question = _question(place, run)
    if answer.approve:
        question = _with_files(place, run, question)
    of_agent = question is not None and question.is_of_agent and run.state is EngineRunState.RUNNING
    if not of_agent:
        next_state(run.state, RunEvent.APPROVED if answer.approve else RunEvent.REJECTED)
    who = answer.by or account()
    sign: Callable[[], SignedAnswer | None] = lambda: None  # noqa: E731 - the simplest of two
    if answer.approve:
        _require_approver(place, run, who)
        yield from warn_without_worker(place)
        if not of_agent:
            signature = _Signature(place, run, who, answer, options.home)
            yield from signature.check(question)
            sign = lambda: signature.make(question)  # noqa: E731 - as above
    verb = "approve" if answer.approve else "reject"
    about = _asked_about(question) | (_what_runs(place, run) if not of_agent else {})
    yield Change(verb, run.run_id, job_id=run.job_id, by=who, **about).carry(
        lambda: _answered(place, run, answer, who, sign, question)
    )


class _Signature:
    """The signature of one yes, if one is wanted."""

    def __init__(self, place: EnginePlace, run: Run, who: str, answer: RunAnswer, home: str | None) -> None:
        self._place, self._run, self._who, self._answer, self._home = place, run, who, answer, home
        self._caller = Caller(current_folder(), dict(os.environ), home=place.home)

    @property
    def _believing(self) -> Believing:
        return self._caller.believing()

    def check(self, question: Approval | None) -> Iterator[Warn]:
        """Raises FlowError if the yes would not count, as far as this machine knows."""
        asked = _content(question)
        signer = self._signer(asked)
        try:
            if signer == "none" and asked.get("signed"):
                raise FlowError("approval_signature_invalid", _UNSIGNED)
            check_signer(self._who, self._believing, signer, self._answer.key)
            if signer == "ssh" and signing_key(self._answer.key, self._caller.surroundings) is None:
                message = "the approval must be signed, and no SSH key was found"
                raise FlowError("approval_signature_invalid", message)
        except FlowError as error:
            error.target, error.hint = self._run.run_id, error.hint or self._hint()
            raise
        if asked.get("signed") and self._believing.allowed_signers is None:
            message = (
                "the allowed signers are on the worker's machine: it decides whether the signature counts"
            )
            yield Warn("SIGNERS_ELSEWHERE", message)

    def make(self, question: Approval | None) -> SignedAnswer | None:
        """The signed record of a yes to this question, or None where no signature is wanted."""
        asked = _content(question)
        signer = self._signer(asked)
        if question is None or (signer == "none" and not asked.get("signed")):
            return None
        for _ in self.check(question):
            pass  # it was said with the plan
        selected, binding = self._selected(), asked.get("binding")
        if (
            not isinstance(binding, dict)
            or binding.get("source") != selected.source
            or binding.get("manifest_digest") != selected.manifest.original_digest
        ):
            message = asked.get("problem") or "the question does not say what would run"
            hint = f"operable engine reject {self._run.run_id}"
            raise Fail("conflict", "QUESTION_INVALID", str(message), target=self._run.run_id, hint=hint)
        made = make_grant(
            selected,
            binding,
            content=asked["files"],
            approver=self._who,
            believing=self._believing,
            approval_id=approval_id_of(question.run_id, question.number),
            reason=self._answer.reason,
            signer=signer,
            key=self._answer.key,
        )
        return SignedAnswer(question.number, json.dumps(made))

    def _signer(self, asked: Json) -> str:
        chosen = self._answer.signer or self._caller.environment.get("AGENTCLI_SIGNER")
        wanted = self._answer.key or asked.get("signed") or self._believing.allowed_signers is not None
        return chosen or ("ssh" if wanted else "none")

    def _selected(self) -> Selected:
        with reading(self._place) as connection:
            assert connection is not None  # noqa: S101 - the run was read from it
            definition = find_definition(connection, self._run.definition)
            manifest = find_manifest(connection, definition.manifest_digest)
        source = definition.document["source"]
        return select(manifest, source["task_id"], source["workflow_id"])

    def _hint(self) -> str:
        """The command that would count: with the name that the allowed signers give to the own key, if there is one."""
        words = ["operable", "engine", "approve", self._run.run_id]
        words += ["--home", self._home] if self._home else []
        name, key = self._own_name(), self._answer.key
        if name is None:
            where = self._believing.allowed_signers or "the allowed signers of the worker"
            line = shlex.join([*words, "--by", self._who, "--signing-key", "FILE"])
            return f"{line}, with a key that {where} gives to that name"
        return shlex.join([*words, "--by", name, *(["--signing-key", key] if key else [])])

    def _own_name(self) -> str | None:
        path = self._believing.allowed_signers
        try:
            key = signing_key(self._answer.key, self._caller.surroundings)
            signers = [] if path is None else read_signers(path)
        except (FlowError, ValueError):
            return None
        blob = None if key is None else ssh_signatures.public_blob(key.public_key())
        return next(
            (
                each.principals
                for each in signers
                if each.key == blob and not _PATTERNS & set(each.principals)
            ),
            None,
        )


_UNSIGNED = "The approval would not count: it is not signed, and the worker of this run has allowed signers"


def _question(place: EnginePlace, run: Run) -> Approval | None:
    with reading(place) as connection:
        return None if connection is None else open_question(connection, run.run_id)


def _with_files(place: EnginePlace, run: Run, question: Approval | None) -> Approval | None:
    """The question, once a worker has read its files: a yes is for what the plan shows."""
    ends = time.monotonic() + _BINDING
    while question is not None and not question.is_of_agent and question.content is None:
        if _is_late(place, ends):
            break
        time.sleep(0.1)
        question = _question(place, run)
    return question


def _asks_nothing(run: Run) -> Fail:
    message = f"{run.run_id} does not ask any more"
    return Fail("conflict", "RUN_STATE_CONFLICT", message, target=run.run_id)


def _content(question: Approval | None) -> Json:
    found: Json = json.loads((question and question.content) or "{}")
    return found


def _require_approver(place: EnginePlace, run: Run, approver: str) -> None:
    """Raises Fail if this person may not approve this task."""
    with reading(place) as connection:
        assert connection is not None  # noqa: S101 - the run was read from it
        scope = find_definition(connection, run.definition).policy.approval.scope
    if not matches_scope(approver, scope):
        message = f'approver "{approver}" does not satisfy approval.approver_scope "{scope}"'
        raise FlowError("approval_scope_mismatch", message, approver_scope=scope)


def _asked_about(question: Approval | None) -> dict[str, object]:
    """What a yes is about: the words of an agent, or the digests of the files of a run, and the folder that it runs in."""
    if question is None:
        return {}
    if question.is_of_agent:
        return {"question": question.question}
    found = _content(question)
    shown = {name: value for name, value in found.items() if name not in ("binding", "signed")}
    command = (found.get("binding") or {}).get("command") or {}
    return {"content": shown or None} | ({"folder": command["cwd"]} if "cwd" in command else {})


def _what_runs(place: EnginePlace, run: Run) -> Json:
    """The task in its own words, with secrets masked, and how risky its author finds it."""
    from operable.kernel.redact import Redactor, redact_text

    with reading(place) as connection:
        assert connection is not None  # noqa: S101 - the run was read from it
        job = find_definition(connection, run.definition)
    payload = job.document["execution"]["payload"]
    prompt = payload.get("prompt")
    words = (
        {"prompt": redact_text(prompt)}
        if prompt
        else {"runs": Redactor().words([payload["program"], *payload["args"]])}
    )
    risk = {"risk_level": job.policy.approval.risk_level} if job.policy.approval.risk_level else {}
    return {"job": job.label, **words, **risk}


def _answered(
    place: EnginePlace,
    run: Run,
    answer: RunAnswer,
    who: str,
    sign: Callable[[], SignedAnswer | None],
    question: Approval | None,
) -> EngineRun:
    """Answer the question that the plan was about, and no other one."""
    if question is None:
        raise _asks_nothing(run)
    require_answerable(question, approve=answer.approve)
    signed, number = sign(), question.number
    return written(
        place,
        lambda store: store.decide(
            run.run_id, approve=answer.approve, by=who, note=answer.reason, number=number, signed=signed
        ),
    )


def _is_late(place: EnginePlace, ends: float) -> bool:
    return time.monotonic() > ends or any(warn_without_worker(place))
