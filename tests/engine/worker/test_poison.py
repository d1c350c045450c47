"""One job that the store has no place for stops itself and nothing else.

Apply refuses such a manifest; here its document is changed in the store of jobs, as a version without that check left it.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.drive import operable
from tests.engine.manifests import task
from tests.engine.worker.engines import Engine


def spoil(engine: Engine, task_id: str, block: str, name: str, value: int) -> None:
    with closing(sqlite3.connect(engine.place.jobs)) as connection:
        ((text,),) = connection.execute("SELECT document FROM jobs WHERE task_id = ?", (task_id,))
        document = json.loads(text)
        document[block][name] = value
        connection.execute("UPDATE jobs SET document = ? WHERE task_id = ?", (json.dumps(document), task_id))
        connection.commit()


def test_a_trigger_that_cannot_be_kept_is_refused_and_the_end_of_its_parent_recorded(tmp_path: Path) -> None:
    engine = Engine(
        tmp_path,
        task("first"),
        task("never", trigger={"parent": "first", "on": "success", "delay_s": 1}),
        task("other"),
        task("next", trigger={"parent": "other", "on": "success"}),
    )
    spoil(engine, "never", "invocation", "delay_s", 10**18)
    first, other = engine.trigger("first"), engine.trigger("other")
    engine.call("start", "--until-idle")
    assert [engine.state(run) for run in (first, other)] == ["succeeded", "succeeded"]
    assert engine.runs(parent_run_id=first) == []
    assert [str(run.state) for run in engine.runs(parent_run_id=other)] == ["succeeded"]
    said = [entry["detail"] for entry in engine.call("logs", first) if entry["event"] == "trigger refused"]
    assert said
    assert "cannot be kept" in said[0]


def test_a_request_that_cannot_be_kept_is_an_error_of_the_request(tmp_path: Path) -> None:
    engine = Engine(tmp_path, task("asks", approval={"policy": "manual"}))
    spoil(engine, "asks", "approval", "timeout_s", 10**18)
    done = operable("engine", "trigger", "flow/asks", env=engine.environment, cwd=tmp_path)
    assert (done.exit_code, done.error["code"]) == (65, "VALUE_UNSTORABLE")
    assert engine.runs() == []
