"""Writers that no single command line reaches, on a small disk that they fill themselves: `python -m … NAME DISK`.

`tests/test_full_disk.py` runs them on a tmpfs of their own (`tests.flow.disks`).
"""

import asyncio
import errno
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from operable.engine.backends.dbos import prepare_file
from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState
from operable.engine.place import engine_place
from operable.engine.store.database import open_database, prepare
from operable.engine.store.deliveries import DeliveryRow, find_delivery
from operable.engine.store.queries import list_runs
from operable.engine.store.rows import Run
from operable.engine.store.runs import AttemptEnd, RunStore, wall_clock
from operable.engine.worker.attempt import AttemptControl, execute_attempt
from operable.engine.worker.deliveries import Deliveries
from operable.flow.run.caller import Caller
from operable.flow.run.options import ExecOptions
from operable.host.session.log import SessionLog
from operable.host.session.log_files import read_log
from operable.host.session.registry import Registry, SessionMeta
from operable.host.session.session_requests import is_taken, put_request
from operable.kernel.errors import Fail
from operable.testing.cassettes import AgentCassette, save
from operable.wire.events import TextDelta
from tests.agent.scene import scene as agent_scene
from tests.agent.scene import use
from tests.cli.agents import Scene, steps
from tests.engine.manifests import definitions, manifest, task, text
from tests.flow.disks import fill, free, take_names
from tests.host.session.test_client_methods import call, methods
from tests.serve.full_disk import SCENES as DAEMON

LONG = "x" * 20_000  # more than what is left of the last page of a file


def refused(work: Callable[[], Any]) -> tuple[str, str, bool]:
    try:
        work()
    except Fail as problem:
        return problem.category, problem.code, bool(problem.hint)
    raise AssertionError("it was written")


def keep_sessions(disk: str) -> None:
    registry = Registry(os.path.join(disk, "agents"))
    home = registry.create(SessionMeta("ses_1", "hermes", "work", "/work", label="before"))
    fill(disk)

    assert refused(lambda: home.save(label=LONG)) == ("io", "STATE_UNWRITABLE", True)
    second = SessionMeta("ses_2", "hermes", "work", "/work")
    assert refused(lambda: registry.create(second)) == ("io", "STATE_UNWRITABLE", True)

    free(disk)
    folder = os.path.join(disk, "agents", "work", "sessions")
    assert os.listdir(folder) == ["ses_1"]
    assert os.listdir(os.path.join(folder, "ses_1")) == ["meta.json"]
    assert [each.meta.label for each in registry.sessions()] == ["before"]
    home.save(label="after")
    assert [each.meta.label for each in registry.sessions()] == ["after"]


def ask_a_session(disk: str) -> None:
    registry = Registry(os.path.join(disk, "agents"))
    home = registry.create(SessionMeta("ses_1", "hermes", "work", "/work"))
    fill(disk)
    take_names(disk)

    assert refused(lambda: put_request(home.folder, "kill")) == ("io", "STATE_UNWRITABLE", True)
    assert is_taken(home.folder)

    free(disk)
    assert os.listdir(home.folder) == ["meta.json"]
    put_request(home.folder, "kill")
    assert not is_taken(home.folder)


def own_a_session(disk: str) -> None:
    registry = Registry(os.path.join(disk, "agents"))
    os.makedirs(os.path.join(registry.root, "owners"))
    take_names(disk)

    meta = SessionMeta("ses_1", "hermes", "work", "/work")
    assert refused(lambda: registry.create(meta)) == ("io", "STATE_UNWRITABLE", True)

    free(disk)
    assert os.listdir(registry.root) == ["owners"]
    assert os.listdir(os.path.join(registry.root, "owners")) == []
    assert registry.create(meta).meta.owner


def append_to_a_log(disk: str) -> None:
    folder = os.path.join(disk, "log")
    log = SessionLog(folder)
    log.append([TextDelta("s", "one")])
    fill(disk)

    assert refused(lambda: log.append([TextDelta("s", LONG)])) == ("io", "LOG_WRITE_FAILED", True)
    fresh = os.path.join(disk, "fresh")
    assert refused(lambda: SessionLog(fresh).append([TextDelta("s", LONG)]))[0] == "io"

    free(disk)
    log.append([TextDelta("s", "two")])
    log.close()
    said = [(1, TextDelta("s", "one")), (2, TextDelta("s", "two"))]
    assert [(record.id, record.event) for record in read_log(folder)] == said


def begin_a_segment(disk: str) -> None:
    folder = os.path.join(disk, "log")
    log = SessionLog(folder, segment_limit=1)
    log.append([TextDelta("s", "one")])
    take_names(disk)

    assert refused(lambda: log.append([TextDelta("s", "lost")])) == ("io", "LOG_UNUSABLE", True)
    assert refused(lambda: SessionLog(os.path.join(disk, "new"))) == ("io", "LOG_UNUSABLE", True)

    free(disk)
    log.append([TextDelta("s", "two")])
    log.close()
    said = [(1, TextDelta("s", "one")), (2, TextDelta("s", "two"))]
    assert [(record.id, record.event) for record in read_log(folder)] == said


def write_as_the_agent(disk: str) -> None:
    file = Path(disk, "f")
    file.write_text("old\n")
    here = agent_scene(Path(disk))
    assert use("read", here, file_path="f").ok
    fill(disk)

    changes: dict[str, dict[str, str]] = {
        "write": {"content": LONG},
        "edit": {"old_string": "old", "new_string": LONG},
    }
    for tool, arguments in changes.items():
        outcome = use(tool, here, file_path="f", **arguments)
        assert not outcome.ok
        assert "No space left on device" in outcome.output, outcome

    free(disk)
    assert (os.listdir(disk), file.read_text()) == (["f"], "old\n")
    assert use("write", here, file_path="f", content="new").ok


def write_for_the_agent(disk: str) -> None:
    served, work, desk = methods(Path(disk).parent)
    file = work / "f"
    file.write_text("old\n")
    fill(disk)

    found = asyncio.run(call(served, desk, "fs/write_text_file", path="f", content=LONG))

    assert found == (None, {"code": -32603, "message": "No space left on device"})
    free(disk)
    assert (os.listdir(disk), file.read_text()) == (["f"], "old\n")
    assert asyncio.run(call(served, desk, "fs/write_text_file", path="f", content="new")) == ({}, None)
    assert file.read_text() == "new"


def answer_a_question(disk: str) -> None:
    scene = Scene(Path(disk))
    scene.user()
    asked = {"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True}
    words = ("prompt", "scripted", "--prompt", steps(asked), "--ask", "*", "--session", "ses_ask")
    with scene.running(*words) as prompt:
        prompt.event("agent-prompt")
        question = scene("approvals").of("agent_question")[0]["question"]
        fill(disk)

        answer = scene("answer", "ses_ask", question, "--allow")

        assert (answer.exit_code, answer.error["category"]) == (74, "io")
        assert answer.error["code"] == "STATE_UNWRITABLE"
        assert answer.error["hint"]
        free(disk)
        assert [
            name for name in os.listdir(next(Path(disk).rglob("asks"))) if not name.endswith(".ask")
        ] == []
        assert scene("answer", "ses_ask", question, "--allow").exit_code == 0
        assert prompt.finish().exit_code == 0


def save_a_cassette(disk: str) -> None:
    path = Path(disk, "x.cassette")
    save(path, AgentCassette({"agent": "a"}, []))
    before = path.read_bytes()
    fill(disk)

    try:
        save(path, AgentCassette({"agent": LONG}, []))
    except OSError as problem:
        assert problem.errno == errno.ENOSPC  # noqa: PT017 - no pytest here
    else:
        raise AssertionError("it was written")

    free(disk)
    assert (os.listdir(disk), path.read_bytes()) == (["x.cassette"], before)


def keep_runs(disk: str) -> None:
    place = engine_place({"AGENTCLI_HOME": os.path.join(disk, "home")}, cwd=disk)
    store = RunStore(place.open_store(), wall_clock)
    document = manifest(task("t", "true", reliability={"overlap_policy": "allow"}))
    (job,) = definitions(document)

    def ask(key: str) -> Run:
        return store.request(job, RunCause.MANUAL, key, text(document))

    first = ask("first")
    fill(disk)

    assert refused(lambda: [ask(f"{number}{LONG}") for number in range(3)])[:2] == (
        "temporary",
        "STORE_UNAVAILABLE",
    )

    free(disk)
    with store.database.snapshot() as connection:
        assert [run.run_id for run in list_runs(connection, limit=9)] == [first.run_id]
    assert ask("first") == first
    assert ask("second").state == "ready"


def make_an_engine(disk: str) -> None:
    place = engine_place({"AGENTCLI_HOME": os.path.join(disk, "home")}, cwd=disk)
    os.makedirs(place.folder, mode=0o700)
    fill(disk)

    assert refused(place.open_store)[0] in ("io", "temporary")
    assert refused(lambda: prepare_file(place.address))[0] in ("io", "temporary")

    free(disk)
    place.open_store().close()
    prepare_file(place.address)


def keep_an_output(disk: str) -> None:
    """The task has run: its end is recorded with the beginning of its output and the size of all of it."""
    document = manifest(task("t", "seq", "100000", output={"preview_bytes": 64}))
    (job,) = definitions(document)
    place = engine_place({"AGENTCLI_HOME": os.path.join(disk, "home")}, cwd=disk)
    store = RunStore(place.open_store(), wall_clock)
    run = store.request(job, RunCause.MANUAL, "1", text(document))
    started = store.start_attempt(run.run_id, run.wake, "w")
    assert started is not None
    elsewhere = Caller(cwd="/", environment=dict(os.environ), home=tempfile.mkdtemp())
    fill(disk)

    control = AttemptControl(cancelled=lambda: False, stopping=lambda: False)
    end = execute_attempt(started, elsewhere, place.output, control, ExecOptions()).end

    assert (end.state, end.output_path, end.output_bytes) == ("succeeded", None, 588895)
    assert str(end.preview).startswith("1\n2\n")
    assert os.listdir(place.output) == []


def lose_an_attempt(disk: str) -> None:
    """A task has run and its record finds no room: that is no clean failure, which could be repeated."""
    document = manifest(task("t", "sh", "-c", f"cat /dev/zero > {disk}/ballast 2> /dev/null; true"))
    (job,) = definitions(document)
    place = engine_place({"AGENTCLI_HOME": os.path.join(disk, "home")}, cwd=disk)
    with tempfile.TemporaryDirectory() as other:
        store = RunStore(open_database(os.path.join(other, "engine.db")), wall_clock)
        prepare(store.database)
        run = store.request(job, RunCause.MANUAL, "1", text(document))
        started = store.start_attempt(run.run_id, run.wake, "w")
        assert started is not None
        caller = Caller(cwd=disk, environment=dict(os.environ), home=place.home)
        control = AttemptControl(cancelled=lambda: False, stopping=lambda: False)
        end = execute_attempt(started, caller, other, control, ExecOptions()).end
        store.database.close()
    assert end.state == "lost", end
    assert "the task has run" in str(end.reason)


def announce_an_end(disk: str) -> None:
    """The announcement is tried again, and the line that it then writes is whole."""
    path = os.path.join(disk, "ends.jsonl")
    document = manifest(task("t", delivery={"mode": "announce-always", "channel": "file", "to": path}))
    (job,) = definitions(document)
    caller = Caller(cwd="/", environment=dict(os.environ), home=tempfile.mkdtemp())
    place = engine_place({"AGENTCLI_HOME": str(caller.home)}, cwd="/")
    database, later = place.open_store(), [0]
    store = RunStore(database, wall_clock)
    run = store.request(job, RunCause.MANUAL, "1", text(document))
    assert store.start_attempt(run.run_id, run.wake, "w") is not None
    store.end_attempt(run.run_id, 1, "w", AttemptEnd(AttemptState.SUCCEEDED))
    store.settle(run.run_id, [], {})
    deliveries = Deliveries(database, lambda: wall_clock() + later[0], caller)

    def row() -> DeliveryRow | None:
        deliveries.look()
        deliveries.close(60)
        with database.snapshot() as connection:
            return find_delivery(connection, run.run_id)

    fill(disk)
    failed = row()
    assert failed is not None
    assert (failed.state, failed.tries) == ("pending", 1)
    assert "No space left" in str(failed.reason)

    free(disk)
    later[0] = 60_000
    made = row()
    assert made is not None
    assert made.state == "delivered"
    with open(path) as file:
        assert json.loads(file.read().splitlines()[-1])["run_id"] == run.run_id


SCENES = {
    "cassette": save_a_cassette,
    "registry": keep_sessions,
    "session request": ask_a_session,
    "owner": own_a_session,
    "log": append_to_a_log,
    "segment": begin_a_segment,
    "agent files": write_as_the_agent,
    "client files": write_for_the_agent,
    "answer": answer_a_question,
    "runs": keep_runs,
    "engine": make_an_engine,
    "output": keep_an_output,
    "attempt": lose_an_attempt,
    "delivery": announce_an_end,
    **DAEMON,
}

if __name__ == "__main__":
    SCENES[sys.argv[1]](sys.argv[2])
