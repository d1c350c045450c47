"""The desk: the first answer counts, from wherever it comes; no answer is a no."""

import asyncio
import os
import resource
import shutil
import subprocess
import sys

import pytest

from operable.gate.approvals import (
    ApprovalQueue,
    Ask,
    Decision,
    answer_ask,
    argument_digest,
    pending_asks,
)
from operable.kernel.errors import Fail
from operable.wire.events import Choice


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


def question(name="q1", **facts):
    facts.setdefault("digest", argument_digest("Bash", {"command": "ls"}))
    return Ask(name, "s", "permission", tool="Bash", arguments={"command": "ls"}, **facts)


def test_an_answer_of_this_process_reaches_whoever_asked(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        desk.put(question())
        assert [ask.id for ask in desk.pending] == ["q1"]
        desk.answer("q1", Decision(allowed=True, by="me"))
        return await desk.wait("q1"), desk.pending

    decision, pending = run(scene())

    assert (decision.allowed, decision.by) == (True, "me")
    assert pending == []


def test_no_answer_within_the_limit_is_a_denial(tmp_path):
    async def scene():
        return await ApprovalQueue(str(tmp_path), timeout=0.05).ask(question())

    decision = run(scene())

    assert not decision.allowed
    assert decision.by == "timeout"


def test_another_process_sees_the_question_and_answers_it(tmp_path):
    program = (
        "import sys; from operable.gate.approvals import *; folder = sys.argv[1]\n"
        "(ask,) = pending_asks(folder)\n"
        "answer_ask(folder, ask.id, Decision(True, 'fine', by='cli', digest=ask.digest))\n"
    )

    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        desk.put(question())
        waiting = asyncio.ensure_future(desk.wait("q1"))
        await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", program, str(tmp_path)], check=True, timeout=200
        )
        return await waiting

    decision = run(scene())

    assert (decision.allowed, decision.by, decision.reason) == (True, "cli", "fine")


def test_the_first_answer_counts_and_the_second_is_told_who_was_first(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        desk.put(question())
        answer_ask(str(tmp_path), "q1", Decision(allowed=False, by="cli"))
        with pytest.raises(Fail) as late:
            desk.answer("q1", Decision(allowed=True, by="web"))
        return await desk.wait("q1"), late.value

    decision, late = run(scene())

    assert not decision.allowed
    assert late.code == "ALREADY_ANSWERED"
    assert "cli" in late.message


def test_exactly_one_of_many_answers_at_once_counts(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        desk.put(question())
        outcomes = await asyncio.gather(
            *(
                asyncio.to_thread(answer_ask, str(tmp_path), "q1", Decision(n % 2 == 0, by=str(n)))
                for n in range(16)
            ),
            return_exceptions=True,
        )
        return await desk.wait("q1"), [each for each in outcomes if isinstance(each, Ask)]

    decision, winners = run(scene())

    assert len(winners) == 1
    assert decision.by in map(str, range(16))


def test_an_answer_to_other_arguments_is_refused(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        desk.put(question())
        other = argument_digest("Bash", {"command": "rm"})
        with pytest.raises(Fail) as changed:
            desk.answer("q1", Decision(allowed=True, digest=other))
        desk.withdraw()
        return changed.value, await desk.wait("q1")

    changed, decision = run(scene())

    assert changed.code == "ASK_CHANGED"
    assert decision.cancelled


def test_an_answer_after_the_end_of_the_question_finds_nothing(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path), timeout=0.01)
        await desk.ask(question())
        with pytest.raises(Fail) as gone:
            desk.answer("q1", Decision(allowed=True))
        return gone.value

    assert run(scene()).code == "NO_SUCH_ASK"
    assert pending_asks(str(tmp_path)) == []


@pytest.mark.parametrize(
    "reply, allowed", [(True, True), (False, False), (Decision(allowed=True, by="x"), True)]
)
def test_a_callback_answers(tmp_path, reply, allowed):
    async def scene():
        async def later(ask):
            await asyncio.sleep(0)
            return reply

        return [
            await ApprovalQueue(str(tmp_path / kind.__name__), on_ask=kind).ask(question())
            for kind in (later, lambda ask: reply)
        ]

    assert [decision.allowed for decision in run(scene())] == [allowed, allowed]


def test_a_callback_that_fails_is_a_denial_and_one_that_abstains_is_none(tmp_path):
    async def scene():
        broken = await ApprovalQueue(str(tmp_path / "a"), on_ask=lambda ask: 1 / 0).ask(question())
        silent = await ApprovalQueue(str(tmp_path / "b"), on_ask=lambda ask: None, timeout=0.05).ask(
            question()
        )
        return broken, silent

    broken, silent = run(scene())

    assert (broken.allowed, broken.by) == (False, "callback")
    assert silent.by == "timeout"


UNKNOWN = (
    Choice("a", "Allow by risk", "allow_once"),
    Choice("b", "Allow", "allow_once"),
    Choice("c", "No", "new_kind"),
)


def test_where_no_option_is_plain_somebody_must_name_one(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        desk.put(question(options=UNKNOWN))
        codes = []
        for decision in (Decision(allowed=True), Decision(allowed=True, option_id="z")):
            with pytest.raises(Fail) as refused:
                desk.answer("q1", decision)
            codes.append(refused.value.code)
        desk.answer("q1", Decision(allowed=True, option_id="b"))
        return codes, await desk.wait("q1")

    codes, decision = run(scene())

    assert codes == ["OPTION_REQUIRED", "NO_SUCH_OPTION"]
    assert decision.option_id == "b"


def test_an_id_of_the_agent_is_never_a_file_name(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path / "s"))
        desk.put(question("../../escape"))
        listed = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
        desk.answer("../../escape", Decision(allowed=False))
        await desk.wait("../../escape")
        return listed

    (name,) = run(scene())

    assert "escape" not in name


def test_equal_arguments_have_one_digest_whatever_their_order():
    one = argument_digest("T", {"a": 1, "b": [1.0, "x"]})
    other = argument_digest("T", {"b": [1, "x"], "a": 1})

    assert one == other
    assert one != argument_digest("T", {"a": 1, "b": [2, "x"]})
    assert one != argument_digest("U", {"a": 1, "b": [1, "x"]})


def test_a_callback_that_says_yes_without_the_option_that_is_needed_has_said_no(tmp_path):
    async def scene():
        return await ApprovalQueue(str(tmp_path), on_ask=lambda ask: True).ask(question(options=UNKNOWN))

    decision = run(scene())

    assert not decision.allowed
    assert "which option" in decision.reason


def _fifo(path):
    os.mkfifo(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b'{"allowed": tr'),
        lambda path: path.write_bytes(b'{"allowed": "perhaps"}'),
        lambda path: path.write_bytes(b"\xff" * 100),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/dev/zero"),
        _fifo,
    ],
)
def test_an_answer_that_cannot_be_read_is_set_aside_and_the_question_goes_on(tmp_path, damage):
    told = []

    async def scene():
        desk = ApprovalQueue(str(tmp_path), timeout=30)
        noticed = asyncio.Event()

        def on_damaged(ask_id, text):
            told.append((ask_id, text))
            noticed.set()

        desk.on_damaged = on_damaged
        waiting = asyncio.ensure_future(desk.ask(question()))
        await asyncio.sleep(0)
        (asked,) = (tmp_path / "asks").glob("*.ask")
        damage(asked.with_suffix(".answer"))
        await asyncio.wait_for(noticed.wait(), 20)
        answer_ask(str(tmp_path), "q1", Decision(True, by="other"))
        return await waiting

    found = run(scene())

    assert (found.allowed, found.by) == (True, "other")
    assert [ask_id for ask_id, _ in told] == ["q1"]
    assert len(list((tmp_path / "asks").glob("*.damaged.*"))) == 1


def test_a_damaged_answer_does_not_outlive_the_limit_of_its_question(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path), timeout=0.05)  # before anybody looks at the folder
        waiting = asyncio.ensure_future(desk.ask(question()))
        await asyncio.sleep(0)
        (asked,) = (tmp_path / "asks").glob("*.ask")
        asked.with_suffix(".answer").write_bytes(b"{")
        return await waiting

    found = run(scene())

    assert (found.allowed, found.by) == (False, "timeout")


def test_a_question_ends_at_its_limit_also_where_no_answer_can_be_written(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path), timeout=0.3)
        waiting = asyncio.ensure_future(desk.ask(question()))
        await asyncio.sleep(0)
        (tmp_path / "asks").rename(tmp_path / "gone")
        (tmp_path / "asks").write_text("not a folder")
        return await waiting

    found = run(scene())

    assert (found.allowed, found.by) == (False, "timeout")


def crowd_out(folder):
    """Something else has the place of the questions: nothing can be kept."""
    shutil.rmtree(folder / "asks", ignore_errors=True)
    (folder / "asks").write_text("")


def test_a_question_that_cannot_be_kept_is_a_refusal_by_name_and_not_open(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path))
        with pytest.raises(Fail) as failure:
            desk.put(question())
        return failure.value.code, desk.pending

    crowd_out(tmp_path)
    assert run(scene()) == ("STATE_UNWRITABLE", [])


def test_an_answer_that_another_process_cannot_keep_is_a_refusal_by_name(tmp_path):
    async def scene():
        ApprovalQueue(str(tmp_path)).put(question())
        (ask,) = pending_asks(str(tmp_path))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))
        try:
            with pytest.raises(Fail) as failure:
                answer_ask(str(tmp_path), ask.id, Decision(allowed=True))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return failure.value.code

    assert run(scene()) == "STATE_UNWRITABLE"
    assert [name for name in os.listdir(tmp_path / "asks") if not name.endswith(".ask")] == []


def test_a_yes_of_the_callback_that_cannot_be_kept_is_a_no_at_once(tmp_path):
    def on_ask(_):
        crowd_out(tmp_path)
        return True

    decision = run(ApprovalQueue(str(tmp_path), on_ask=on_ask).ask(question()))

    assert (decision.allowed, decision.by) == (False, "host")
    assert "cannot be kept" in decision.reason


def test_a_yes_does_not_answer_the_next_question_with_the_same_id(tmp_path):
    async def scene():
        desk = ApprovalQueue(str(tmp_path), timeout=0.5)
        desk.put(question())
        desk.answer("q1", Decision(True, by="me"))
        first = await desk.wait("q1")
        other = question(digest=argument_digest("Bash", {"command": "rm"}))
        return first, await desk.ask(other), await desk.ask(question())

    first, *later = run(scene())

    assert first.allowed
    assert [(each.allowed, each.by) for each in later] == [(False, "timeout")] * 2


@pytest.mark.parametrize(
    "content",
    [
        b'{"allowed": true, "digest": "sha256:of something else"}',
        b'{"allowed": true, "optionId": "never offered"}',
        b'{"allowed": true}' + b" " * (1 << 20),
    ],
)
def test_a_file_that_answers_something_else_is_no_answer(tmp_path, content):
    told = []

    async def scene():
        desk = ApprovalQueue(str(tmp_path), timeout=0.5)
        desk.on_damaged = lambda *facts: told.append(facts)
        desk.put(question())
        (asked,) = (tmp_path / "asks").glob("*.ask")
        asked.with_suffix(".answer").write_bytes(content)
        return await desk.wait("q1")

    found = run(scene())

    assert (found.allowed, found.by) == (False, "timeout")
    assert [ask_id for ask_id, _ in told] == ["q1"]


def _large(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    "damage", [lambda path: path.mkdir(), _fifo, _large, lambda path: path.write_bytes(b"{")]
)
def test_what_is_no_question_does_not_hide_the_others(tmp_path, damage):
    async def scene():
        ApprovalQueue(str(tmp_path)).put(question())
        damage(tmp_path / "asks" / "0.ask")
        return [ask.id for ask in pending_asks(str(tmp_path))]

    assert run(scene()) == ["q1"]
