"""What changed is in the log, and a slow store of the engine holds nothing up."""

import asyncio
import threading

from operable.engine.place import engine_place
from operable.host.session.log_files import FileCursor
from operable.serve import approvals, attention
from operable.serve.approvals import ApprovalInbox
from operable.serve.attention import AttentionLog
from operable.wire.events import Notice
from tests.engine.manifests import task
from tests.engine.worker.engines import Engine
from tests.serve.session.scene import registry, run
from tests.tool.drive import LIMIT


def test_the_store_of_the_engine_is_never_read_by_the_event_loop(tmp_path, monkeypatch):
    readers = []

    def place(*arguments, **options):
        readers.append(threading.get_ident())
        return engine_place(*arguments, **options)

    monkeypatch.setattr(attention, "engine_place", place)
    monkeypatch.setattr(approvals, "engine_place", place)

    async def scene():
        async with registry(tmp_path) as sessions:
            inbox = ApprovalInbox(sessions)
            log = AttentionLog(str(tmp_path / "attention"), sessions, inbox)
            await log.start()
            assert await inbox.look() == []
            await log.aclose()

    run(scene())
    assert len(readers) >= 3
    assert threading.get_ident() not in readers


def test_a_slow_store_of_the_engine_delays_no_other_work(tmp_path, monkeypatch):
    entered, release = threading.Event(), threading.Event()

    def place(*_arguments, **_options):
        entered.set()
        assert release.wait(LIMIT)
        raise OSError("the database does not answer")

    async def scene():
        async with registry(tmp_path) as sessions:
            log = AttentionLog(str(tmp_path / "attention"), sessions, ApprovalInbox(sessions))
            await log.start()
            monkeypatch.setattr(approvals, "engine_place", place)
            log.wake()
            await asyncio.to_thread(entered.wait, LIMIT)
            log.report("session", {"id": "other"})  # the loop is free meanwhile
            release.set()
            await log.aclose()

    run(scene())
    cursor = FileCursor(str(tmp_path / "attention"), 0)
    assert [record.event for record in cursor.read()] == [Notice("session", "", data={"id": "other"})]
    cursor.close()


def test_a_question_that_changes_while_it_waits_is_told_again(tmp_path, monkeypatch):
    """The worker adds the digests of the files that a run would use, a moment after the run has asked."""
    engine = Engine(tmp_path, task("gated", "true", approval={"policy": "manual"}))
    engine.trigger("gated")
    for name, value in engine.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    async def scene():
        async with registry(tmp_path) as sessions:
            log = AttentionLog(str(tmp_path / "attention"), sessions, ApprovalInbox(sessions))
            await log.start()
            seen = log.log.last_id
            with engine.worker():
                async with asyncio.timeout(LIMIT):
                    while log.log.last_id == seen:
                        await asyncio.sleep(0.05)
                        log.wake()
            await log.aclose()

    run(scene())
    cursor = FileCursor(str(tmp_path / "attention"), 0)
    events = [record.event for record in cursor.read()]
    told = [event.data or {} for event in events if isinstance(event, Notice) and event.code == "approval"]
    cursor.close()
    assert [each["arguments"] is None for each in told] == [True, False]
    assert len({each["id"] for each in told}) == 1
    assert len({each["digest"] for each in told}) == 2
