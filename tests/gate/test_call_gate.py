"""The gate: deny, ask and allow; one record for each; an answer for one call only; nothing without its record."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from operable.gate.approvals import Decision
from operable.gate.audit.chain import verify_audit
from operable.gate.audit.place import audit_path
from operable.gate.call_queue import answer_question, own_folder, waiting_questions
from operable.kernel.errors import Fail
from tests.gate.calls import LIMIT, GateScene, push, run


def test_an_allowed_call_is_on_record_before_it_begins(tmp_path):
    scene = GateScene(tmp_path)

    async def calling():
        async with await scene.gate.admit(push()) as admission:
            before = scene.actions()
            admission.close("OK")
        await scene.gate.aclose()
        return before

    assert run(calling()) == ["call.started"]
    started, ended = scene.records()
    assert started["actor"] == {"id": "mcp:test"}
    assert started["subject"] == {"kind": "wrap", "ref": "wrap/git/push"}
    assert started["input"]["command"] == "git push origin main"
    assert started["input"]["digest"] == push().digest
    assert started["policy"] == {"ref": "built-in:allow effect:change", "decision": "allow"}
    assert ended["metadata"]["closes"] == started["seq"]
    assert ended["output"]["code"] == "OK"
    assert verify_audit(audit_path("/", scene.root)).ok


def test_a_rule_that_denies_is_named_and_nothing_is_asked(tmp_path):
    scene = GateScene(tmp_path, 'deny = [{pattern = "execute:git push*", reason = "not from here"}]')

    async def calling():
        with pytest.raises(Fail) as caught:
            await scene.gate.admit(push(), on_ask=lambda _ask: True)
        await scene.gate.aclose()
        return caught.value

    refusal = run(calling())

    assert (refusal.category, refusal.code) == ("authz", "CALL_DENIED")
    assert "policy:deny execute:git push*" in refusal.message
    assert "not from here" in refusal.message
    (record,) = scene.records()
    assert (record["action"], record["policy"]["decision"]) == ("call.denied", "deny")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_question_waits_for_the_answer_of_another_process(tmp_path, allowed):
    scene = GateScene(tmp_path)

    async def calling():
        answering = asyncio.create_task(scene.answer(allowed, reason="because"))
        call = push(effect="destroy", consequence="It cannot be undone.")
        if allowed:
            async with await scene.gate.admit(call) as it:
                assert it.confirmed
        else:
            with pytest.raises(Fail, match=r"inbox:test denied .*because") as caught:
                await scene.gate.admit(call)
            assert caught.value.code == "CALL_DENIED"
        ask = await answering
        await scene.gate.aclose()
        return ask

    ask = run(calling())

    assert (ask.tool, ask.caller, ask.command) == ("wrap/git/push", "mcp:test", "git push origin main")
    assert "cannot be undone" in ask.text
    assert ask.digest == push(effect="destroy").digest
    first = scene.records()[0]
    assert first["action"] == ("call.started" if allowed else "call.denied")
    assert first["metadata"]["answered_by"] == "inbox:test"
    assert waiting_questions(scene.questions) == []


def test_no_answer_is_a_denial_that_says_so(tmp_path):
    scene = GateScene(tmp_path, timeout=0.05)

    async def calling():
        with pytest.raises(Fail) as caught:
            await scene.gate.admit(push(effect="destroy"))
        return caught.value

    refusal = run(calling())

    assert (refusal.category, refusal.code) == ("authz", "CALL_UNANSWERED")


def test_the_callers_own_way_to_ask_counts(tmp_path):
    scene = GateScene(tmp_path)

    async def calling():
        async with await scene.gate.admit(
            push(effect="destroy"), on_ask=lambda _ask: Decision(True, by="form")
        ):
            pass
        await scene.gate.aclose()

    run(calling())

    assert scene.records()[0]["metadata"]["answered_by"] == "form"


def test_an_answer_to_another_call_does_not_count(tmp_path):
    scene = GateScene(tmp_path)
    seen = Decision(True, by="form", digest=push(effect="destroy", arguments={"branch": "main"}).digest)

    async def calling():
        with pytest.raises(Fail, match="another call"):
            await scene.gate.admit(push(effect="destroy", arguments={"branch": "evil"}), answer=seen)
        await scene.gate.aclose()

    run(calling())

    assert scene.actions() == ["call.denied"]


def test_a_no_that_was_given_before_is_a_denial(tmp_path):
    scene, call = GateScene(tmp_path), push(effect="destroy")

    with pytest.raises(Fail) as caught:
        scene.gate.admit_now(call, answer=Decision(False, "not today", "anna", digest=call.digest))

    assert (caught.value.code, scene.actions()) == ("CALL_DENIED", ["call.denied"])
    assert "anna denied wrap/git/push" in caught.value.message


def test_an_answer_without_a_digest_is_not_one_that_was_given_before(tmp_path):
    async def calling():
        with pytest.raises(Fail, match="another call"):
            await GateScene(tmp_path).gate.admit(push(effect="destroy"), answer=Decision(True, by="model"))

    run(calling())


def test_an_answer_does_not_stand_against_a_rule_that_denies(tmp_path):
    scene = GateScene(tmp_path, 'deny = ["wrap/git/push"]')

    async def calling():
        with pytest.raises(Fail, match="policy:deny wrap/git/push"):
            await scene.gate.admit(push(), answer=Decision(True, digest=push().digest))

    run(calling())


def test_a_rule_that_was_written_while_the_person_thought_counts(tmp_path):
    scene = GateScene(tmp_path, "")

    async def calling():
        async def answering():
            await scene.waiting()
            scene.file.write_text('deny = ["wrap/git/push"]')
            await scene.answer(True)

        task = asyncio.create_task(answering())
        with pytest.raises(Fail, match="policy:deny wrap/git/push"):
            await scene.gate.admit(push(effect="destroy"))
        await task

    run(calling())


def test_of_two_answers_that_race_one_counts(tmp_path):
    scene = GateScene(tmp_path)
    outcomes, late = [], set()

    def answer(ask, allowed, start):
        start.wait(LIMIT)
        try:
            answer_question(ask.id, Decision(allowed, by=str(allowed), digest=ask.digest), scene.questions)
            outcomes.append(allowed)
        except Fail as refusal:
            late.add(refusal.code)

    async def calling():
        admitting = asyncio.create_task(scene.gate.admit(push(effect="destroy")))
        ask, start = await scene.waiting(), threading.Event()
        threads = [threading.Thread(target=answer, args=(ask, each, start)) for each in (True, False) * 4]
        for thread in threads:
            thread.start()
        start.set()
        for thread in threads:
            await asyncio.to_thread(thread.join, LIMIT)
        (result,) = await asyncio.gather(admitting, return_exceptions=True)
        return not isinstance(result, Fail)

    admitted = run(calling())

    assert outcomes == [admitted]
    assert late <= {"ALREADY_ANSWERED", "NO_SUCH_ASK"}


def test_an_answer_that_was_given_is_not_given_again_to_the_next_call(tmp_path):
    scene = GateScene(tmp_path)

    async def calling():
        answering = asyncio.create_task(scene.answer(True))
        async with await scene.gate.admit(push(effect="destroy")):
            pass
        first = await answering
        again = asyncio.create_task(scene.gate.admit(push(effect="destroy")))
        second = await scene.waiting()
        assert second.id != first.id
        with pytest.raises(Fail) as caught:
            answer_question(first.id, Decision(True, digest=first.digest), scene.questions)
        assert caught.value.code == "NO_SUCH_ASK"
        assert not again.done()
        again.cancel()
        await asyncio.wait({again})

    run(calling())


def test_an_answer_to_what_was_shown_before_is_refused(tmp_path):
    scene = GateScene(tmp_path)

    async def calling():
        admitting = asyncio.create_task(scene.gate.admit(push(effect="destroy")))
        ask = await scene.waiting()
        with pytest.raises(Fail) as caught:
            answer_question(ask.id, Decision(True, digest="sha256:" + "0" * 64), scene.questions)
        assert caught.value.code == "ASK_CHANGED"
        admitting.cancel()
        await asyncio.wait({admitting})

    run(calling())


def test_a_question_whose_caller_is_gone_is_withdrawn_and_recorded(tmp_path):
    scene = GateScene(tmp_path)

    async def calling():
        admitting = asyncio.create_task(scene.gate.admit(push(effect="destroy")))
        await scene.waiting()
        admitting.cancel()
        await asyncio.wait({admitting})
        assert waiting_questions(scene.questions) == []
        await scene.gate.aclose()

    run(calling())

    assert scene.actions() == ["call.denied"]


def test_a_call_that_is_cancelled_is_closed(tmp_path):
    scene = GateScene(tmp_path)

    async def calling():
        async def forever():
            async with await scene.gate.admit(push()):
                began.set()
                await asyncio.Event().wait()

        began = asyncio.Event()
        task = asyncio.create_task(forever())
        await began.wait()
        task.cancel()
        await asyncio.wait({task})
        await scene.gate.aclose()

    run(calling())

    assert scene.records()[-1]["output"]["code"] == "CANCELLED"


def test_a_call_that_fails_has_the_code_of_its_failure(tmp_path):
    scene = GateScene(tmp_path)

    def failing():
        with scene.gate.admit_now(push()):
            raise Fail("timeout", "APP_TIMEOUT", "too slow")

    with pytest.raises(Fail, match="too slow"):
        failing()
    assert scene.records()[-1]["output"]["code"] == "APP_TIMEOUT"


def test_callers_without_a_loop_have_the_same_gate(tmp_path):
    scene = GateScene(tmp_path, 'ask = ["wrap/git/push"]')

    with scene.gate.admit_now(push("person:anna"), on_ask=lambda _ask: True) as admission:
        admission.close("OK", exit=0)
    with pytest.raises(Fail):
        scene.gate.admit_now(push("person:anna"), on_ask=lambda _ask: False)

    assert scene.actions() == ["call.started", "call.ended", "call.denied"]


@pytest.mark.parametrize("text", ["allow = [", 'alow = ["*"]'])
def test_a_broken_policy_file_lets_nothing_run(tmp_path, text):
    scene = GateScene(tmp_path, text)

    with pytest.raises(Fail) as caught:
        scene.gate.admit_now(push(effect="read"))

    assert (caught.value.category, caught.value.code) == ("config", "POLICY_UNUSABLE")
    assert caught.value.target == str(scene.file)


def test_a_call_that_cannot_be_recorded_does_not_run(tmp_path):
    scene = GateScene(tmp_path)
    os.makedirs(audit_path("/", scene.root))  # a folder in the place of the chain

    with pytest.raises(Fail) as caught:
        scene.gate.admit_now(push())

    assert caught.value.code in ("AUDIT_UNWRITABLE", "AUDIT_DAMAGED")


def test_of_many_calls_whose_records_share_a_write_that_fails_none_runs(tmp_path):
    scene = GateScene(tmp_path)
    os.makedirs(audit_path("/", scene.root))

    async def calling():
        return await asyncio.gather(*(scene.gate.admit(push()) for _ in range(40)), return_exceptions=True)

    found = run(calling())

    assert all(isinstance(each, Fail) for each in found), found


def test_of_many_calls_at_once_each_has_its_record(tmp_path):
    scene = GateScene(tmp_path)

    async def one():
        async with await scene.gate.admit(push()):
            await asyncio.sleep(0)

    async def calling():
        await asyncio.gather(*(one() for _ in range(40)))
        await scene.gate.aclose()

    run(calling())

    actions = scene.actions()
    assert (actions.count("call.started"), actions.count("call.ended")) == (40, 40)
    verdict = verify_audit(audit_path("/", scene.root))
    assert (verdict.ok, verdict.lost, verdict.running) == (True, 0, 0)


def test_secrets_of_arguments_are_neither_in_the_question_nor_in_the_record(tmp_path):
    scene = GateScene(tmp_path)
    secret = "ghp_" + "a1B2" * 9
    call = push(
        effect="destroy",
        arguments={"password": "hunter2hunter2"},
        command=("git", "push", f"--token={secret}"),
    )

    async def calling():
        answering = asyncio.create_task(scene.waiting())
        admitting = asyncio.create_task(scene.gate.admit(call))
        ask = await answering
        on_disk = "".join(
            (entry / name).read_text()
            for entry in [type(tmp_path)(own_folder(scene.questions)) / "asks"]
            for name in os.listdir(entry)
        )
        await scene.answer(True)
        (await admitting).close("OK")
        await scene.gate.aclose()
        return str(ask) + on_disk

    shown = run(calling()) + json.dumps(scene.records())

    assert secret not in shown
    assert "hunter2" not in shown


PROGRAM = """
import sys
from tests.gate.calls import GateScene, push
from pathlib import Path
scene = GateScene(Path(sys.argv[1]))
if sys.argv[2] == "asks":
    scene.gate.admit_now(push(effect="destroy"))
scene.gate.admit_now(push())
print("begun", flush=True)
sys.stdin.read()
"""


def process(folder, what):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_call_whose_process_was_killed_counts_as_lost(tmp_path):
    with process(tmp_path, "runs") as running:
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGKILL)
        running.wait(LIMIT)
    scene = GateScene(tmp_path)

    assert verify_audit(audit_path("/", scene.root)).lost == 1
    with scene.gate.admit_now(push()):
        pass
    assert scene.actions() == ["call.started", "audit.lost", "call.started", "call.ended"]


def test_the_questions_of_a_killed_process_are_gone(tmp_path):
    scene = GateScene(tmp_path)
    with process(tmp_path, "asks") as running:
        ask = run(scene.waiting())
        running.send_signal(signal.SIGKILL)
        running.wait(LIMIT)

    assert waiting_questions(scene.questions) == []
    with pytest.raises(Fail) as caught:
        answer_question(ask.id, Decision(True), scene.questions)
    assert caught.value.code == "NO_SUCH_ASK"
