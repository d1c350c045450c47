"""Two machines, one PostgreSQL: each has a home of its own, and the database is the only thing that they share."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from operable.flow.scheduler.job_store import writing
from tests.cli.drive import operable
from tests.documentation import ROOT, blocks, run_page
from tests.engine.manifests import Json, definitions, manifest, task
from tests.engine.postgres import PostgresServer
from tests.engine.worker.engines import Engine, until


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.started() as started:
        yield started


def machine(folder: Path, name: str, database: str) -> Engine:
    place = folder / name
    place.mkdir()
    return Engine(place, database=database)


pytestmark = pytest.mark.needs("pg_ctlcluster")


def test_what_one_machine_applies_another_runs_shows_and_prunes(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = server.new_database()
    laptop, worker = machine(tmp_path, "laptop", url), machine(tmp_path, "worker", url)
    long = "for i in $(seq 4000); do echo line $i; done"
    end = {"parent": "a", "on": "success", "condition": "contains:line 4000"}
    laptop.apply(task("a", "sh", "-c", long), task("b", trigger=end))
    assert not (tmp_path / "laptop/home/state/jobs.db").exists()
    assert [job["task_id"] for job in worker.call("jobs")] == ["a", "b"]
    run = laptop.trigger("a")
    with worker.worker():
        assert laptop.wait_for(run, "succeeded", "failed") == "succeeded"
        # The condition looks at the end of an output that is longer than its preview.
        until(lambda: [str(each.state) for each in laptop.runs(parent_run_id=run)] == ["succeeded"])
    outputs = [entry["output"] for entry in laptop.call("logs", run) if entry["output"] is not None]
    assert "".join(outputs) == "".join(f"line {number}\n" for number in range(1, 4001))
    shown = laptop.call(
        "inspect", "jobs", "--fields", "task_id,revision", "--where", "task_id=b", verb="flow"
    )
    assert [each["item"] for each in shown] == [{"task_id": "b", "revision": 1}]
    worker.apply(task("a"))
    worker.call("prune", str(worker.folder / "flow.json"), "--confirm-count", "1", verb="flow")
    assert [job["task_id"] for job in laptop.call("jobs")] == ["a"]
    applies = laptop.call("inspect", "applies", verb="flow")
    assert [[action["action"] for action in each["item"]["actions"]] for each in applies] == [
        *(["pruned"], ["updated"], ["created", "created"])
    ]


def test_an_apply_that_changes_nothing_writes_nothing_and_a_run_keeps_its_definition(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = server.new_database()
    laptop, worker = machine(tmp_path, "laptop", url), machine(tmp_path, "worker", url)
    laptop.apply(task("a", "echo", "old"))
    (worker.folder / "flow.json").write_text((laptop.folder / "flow.json").read_text())
    assert worker.call("apply", str(worker.folder / "flow.json"), verb="flow") == []
    assert len(laptop.call("inspect", "applies", verb="flow")) == 1
    run = laptop.trigger("a")
    worker.apply(task("a", "echo", "new"))
    worker.call("start", "--until-idle")
    assert [each["output"] for each in laptop.call("logs", run) if each["output"] is not None] == ["old\n"]


def test_applies_at_the_same_time_come_one_after_the_other(server: PostgresServer, tmp_path: Path) -> None:
    url = server.new_database()
    seen: list[list[Json]] = []

    def read() -> None:
        with writing(url) as transaction:
            seen.append(transaction.jobs())

    (job,) = definitions(manifest(task("a")))
    with writing(url) as transaction:
        reader = threading.Thread(target=read)
        reader.start()
        until(lambda: server.count(url, "pg_locks WHERE locktype = 'advisory' AND NOT granted") == 1)
        transaction.keep_manifest(job.manifest_digest, manifest(task("a")))
        transaction.write(job.document, job.manifest_digest, None)
    reader.join(60)
    assert [each["id"] for each in seen[0]] == [job.job_id]


def test_databases_that_cannot_be_used_are_refused_before_anything_changes(
    server: PostgresServer, tmp_path: Path
) -> None:
    laptop = machine(tmp_path, "laptop", server.new_database())
    laptop.apply(task("a"))
    laptop.trigger("a")  # from now on the home has this database

    def refusal(*words: str) -> Json:
        path = tmp_path / "flow.json"
        path.write_text(json.dumps(manifest(task("b"))))
        done = operable("flow", "apply", str(path), *words, env=laptop.environment, cwd=tmp_path)
        assert done.exit_code != 0
        return done.error

    assert refusal("--database", server.new_database())["code"] == "DATABASE_DIFFERS"
    assert refusal("--database", "mysql://localhost/x")["code"] == "DATABASE_UNKNOWN"
    assert refusal("--database", "postgresql://x@127.0.0.1:1/x")["code"] == "STORE_UNAVAILABLE"
    assert refusal("--database", "postgresql://x@h/x", "--db", "jobs.db")["code"] == "INVALID_VALUE"
    assert [job["task_id"] for job in laptop.call("jobs")] == ["a"]


def test_the_guide_from_one_machine_to_many_can_be_followed(server: PostgresServer, tmp_path: Path) -> None:
    path = ROOT / "docs/guides/from-one-machine-to-many.md"
    text = path.read_text().replace("postgresql://flows@db.example/flows", server.new_database())
    run_page(list(blocks(re.sub(r" norun reason=.*", "", text))), tmp_path)
