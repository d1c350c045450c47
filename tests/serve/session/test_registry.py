"""The sessions of a daemon: how they begin, what they say of themselves, and how they end."""

import asyncio

import pytest

from operable.host import define_agent_cli
from operable.host.session.context import Limits
from operable.host.start.options import StartOptions
from operable.kernel.errors import Fail
from operable.serve.session.spawn import SpawnRequest, with_patience
from operable.wire.events import TextDelta, TurnEnd
from tests.host.agents import manifest
from tests.host.scene import steps
from tests.serve.session.scene import registry, run, until

HANGS = steps({"say": "busy"}, {"hang": True})
SCRIPTED = SpawnRequest(adapter="scripted")


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))


def asking(**more):
    return SpawnRequest(adapter="scripted", **more)


async def hanging(sessions):
    """A session in the middle of a turn. A cancel that overtakes the prompt would be for no turn of the agent."""
    view = await sessions.spawn(asking(prompt=HANGS))
    return await until(lambda: (v := sessions.get(view.id)).last_line == "busy" and v)


def test_a_session_begins_idle_and_a_prompt_makes_it_work_until_its_turn_ends(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await sessions.spawn(SCRIPTED)
            assert (view.status, view.state, view.owner) == ("running", "idle", "daemon")
            await sessions.prompt(view.id, "one")
            assert sessions.get(view.id).state == "working"
            return await until(lambda: (v := sessions.get(view.id)).state == "idle" and v)

    view = run(scene())
    assert view.last_line == "You said: one"
    assert view.turns == 1
    assert view.status == "running"


@pytest.mark.parametrize(
    "session, seconds",
    [
        ({"mode": "persistent", "idle_timeout_ms": 600_000}, 3600.0),
        ({"mode": "persistent", "idle_timeout_ms": 7_200_000}, 7200.0),
        ({"mode": "ephemeral"}, None),
    ],
)
def test_an_unused_session_stays_for_an_hour_or_as_long_as_its_manifest_says(tmp_path, session, seconds):
    handle = define_agent_cli(manifest(tmp_path, session=session))
    given = with_patience(handle, StartOptions(str(tmp_path)))
    assert given.limits.idle == seconds
    chosen = StartOptions(str(tmp_path), limits=Limits(idle=5.0))
    assert with_patience(handle, chosen) == chosen


def test_a_reader_gets_every_event_and_ends_with_the_session(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await sessions.spawn(asking(prompt="one"))
            await until(lambda: sessions.get(view.id).state == "idle")
            await sessions.kill(view.id)
            found = [record async for batch in sessions.reader(view.id) for record in batch]
            return found, sessions.events(view.id, 0, 2), sessions.get(view.id)

    records, page, view = run(scene())
    assert [record.id for record in records] == list(range(1, len(records) + 1))
    assert "".join(r.event.text for r in records if isinstance(r.event, TextDelta)) == "You said: one"
    assert any(isinstance(record.event, TurnEnd) for record in records)
    assert [record.id for record in page.events] == [1, 2]
    assert page.last_id == 2
    assert (view.status, view.state) == ("killed", "ended")


def test_a_second_prompt_is_a_conflict_while_a_turn_runs(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await hanging(sessions)
            with pytest.raises(Fail) as refused:
                await sessions.prompt(view.id, "two")
            assert await sessions.interrupt(view.id)
            assert not await sessions.interrupt(view.id)
            return refused.value, sessions.get(view.id)

    refused, view = run(scene())
    assert (refused.category, refused.code) == ("conflict", "TURN_RUNNING")
    assert (view.status, view.state) == ("running", "idle")  # an interrupt is not a transition


def test_a_prompt_that_interrupts_is_admitted_after_the_running_turn_was_cancelled(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await hanging(sessions)
            receipt = await sessions.prompt(view.id, "two", interrupt=True)
            await until(lambda: sessions.get(view.id).state == "idle")
            return receipt, [r.event for r in sessions.events(view.id).events]

    receipt, events = run(scene())
    assert receipt.queued is None
    assert [event.reason for event in events if isinstance(event, TurnEnd)] == ["cancelled", "completed"]


def test_prompts_that_wait_are_sent_in_order_and_can_be_taken_back(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await hanging(sessions)
            kept = [await sessions.prompt(view.id, word, queue=True) for word in ("two", "three", "four")]
            assert sessions.get(view.id).queued == 3
            assert [each.text for each in sessions.queued(view.id)] == ["two", "three", "four"]
            sessions.unqueue(view.id, kept[1].queued)
            with pytest.raises(Fail):
                sessions.unqueue(view.id, kept[1].queued)
            await sessions.interrupt(view.id)
            await until(lambda: (v := sessions.get(view.id)).state == "idle" and v.turns == 3)
            return [r.event for r in sessions.events(view.id).events]

    events = run(scene())
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == "busyYou said: twoYou said: four"


def test_a_queue_has_a_limit_and_outlives_its_session(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await hanging(sessions)
            for number in range(32):
                await sessions.prompt(view.id, str(number), queue=True)
            with pytest.raises(Fail) as full:
                await sessions.prompt(view.id, "one more", queue=True)
            await sessions.kill(view.id)
            return full.value, sessions.get(view.id)

    full, view = run(scene())
    assert full.code == "QUEUE_FULL"
    assert (view.state, view.queued) == ("ended", 32)


def test_a_question_makes_a_session_need_its_user(tmp_path):
    asks = steps({"call": "Bash", "args": {"command": "ls"}, "kind": "execute", "ask": True}, {"say": "done"})

    async def scene():
        async with registry(tmp_path) as sessions:
            seen = []
            sessions.on_change = lambda session_id: seen.append(sessions.get(session_id).state)
            view = await sessions.spawn(asking(prompt=asks))
            waiting = await until(lambda: (v := sessions.get(view.id)).state == "needs_you" and v)
            live = sessions._live[view.id]
            live.session.answer(live.session.asks[0].id)
            await until(lambda: sessions.get(view.id).state == "idle")
            return waiting, list(seen)

    waiting, seen = run(scene())
    assert waiting.questions == 1
    assert "needs_you" in seen
    assert seen[-1] == "idle"


def test_sessions_are_listed_by_pages_and_found_by_words(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            made = [await sessions.spawn(asking(label=f"Task {number}")) for number in range(3)]
            first = sessions.list(limit=2)
            second = sessions.list(limit=2, cursor=first.next_cursor)
            sessions.change(made[0].id, label="Renamed", pinned=True)
            return (
                made,
                first,
                second,
                sessions.list(q="renamed task"),
                sessions.list(q="RENAMED"),
                sessions.list(status="idle"),
            )

    made, first, second, none, one, idle = run(scene())
    assert len(first.sessions) == 2
    assert {view.id for view in (*first.sessions, *second.sessions)} == {view.id for view in made}
    assert second.next_cursor is None
    assert none.sessions == []
    assert [(view.label, view.pinned) for view in one.sessions] == [("Renamed", True)]
    assert len(idle.sessions) == 3


def test_forgetting_needs_an_end(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await sessions.spawn(SCRIPTED)
            with pytest.raises(Fail) as running:
                await sessions.forget(view.id)
            await sessions.kill(view.id)
            await sessions.kill(view.id)  # any number of times
            await sessions.forget(view.id)
            with pytest.raises(Fail) as gone:
                sessions.get(view.id)
            return running.value.code, gone.value.code

    assert run(scene()) == ("SESSION_RUNNING", "NO_SUCH_SESSION")


def test_a_session_of_another_process_is_shown_and_read_but_not_driven(tmp_path):
    async def scene():
        async with registry(tmp_path) as theirs, registry(tmp_path) as ours:
            view = await hanging(theirs)
            seen = ours.get(view.id)
            assert (seen.owner, seen.state) == ("other", "working")
            for forbidden in (ours.prompt(view.id, "x"), ours.interrupt(view.id), ours.kill(view.id)):
                with pytest.raises(Fail) as refused:
                    await forbidden
                assert refused.value.code == "SESSION_ELSEWHERE"
            reading = asyncio.ensure_future(_texts(ours.reader(view.id)))
            await theirs.kill(view.id)
            return await reading, ours.get(view.id).state

    text, state = run(scene())
    assert (text, state) == ("busy", "ended")


async def _texts(batches):
    return "".join([r.event.text async for batch in batches for r in batch if isinstance(r.event, TextDelta)])


def test_a_session_follows_the_users_policy_file_and_asks_about_the_rest(tmp_path):
    calls = steps(
        {"call": "Bash", "args": {"command": "rm x"}, "kind": "exec", "ask": True},
        {"call": "Edit", "args": {"path": "a"}, "kind": "edit", "ask": True},
    )
    policy = tmp_path / "home" / "config" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('deny = ["Bash"]\n')

    async def scene():
        async with registry(tmp_path) as sessions:
            view = await sessions.spawn(asking(prompt=calls))
            await until(lambda: sessions.get(view.id).state == "needs_you")
            return [ask.tool for _, ask in sessions.approvals()]

    assert run(scene()) == ["Edit"]


def test_a_policy_file_that_cannot_be_read_starts_nothing(tmp_path):
    policy = tmp_path / "home" / "config" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text("deny = 1")

    async def scene():
        async with registry(tmp_path) as sessions:
            with pytest.raises(Fail) as refused:
                await sessions.spawn(SCRIPTED)
            return refused.value.code, sessions.list().sessions

    assert run(scene()) == ("POLICY_INVALID", [])
