"""What a worker knows of the applied jobs: all of their schedules, and a definition when it asks for one."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from operable.engine.place import engine_place
from operable.engine.schedule.cron import CronSchedule
from operable.engine.worker.definitions import AppliedJobs
from operable.flow.contracts import Surroundings
from operable.flow.scheduler.backends import apply_to_store
from operable.flow.scheduler.reconciliation import ApplyOptions
from tests.engine.manifests import definitions, manifest, task
from tests.engine.postgres import PostgresServer, server_programs


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if server_programs() is None:
        pytest.skip("PostgreSQL's server is not installed")
    with PostgresServer.started() as server:
        yield server


def apply(folder: Path, document: dict[str, object], database: str | None = None) -> str:
    place = engine_place(
        {**os.environ, "AGENTCLI_HOME": str(folder / "home")}, database=database, cwd=str(folder)
    )
    around = Surroundings(str(folder), dict(os.environ), network=False)
    apply_to_store(document, place.jobs, ApplyOptions(), around)
    return place.jobs


def test_jobs_of_several_pages_are_read_whole_and_in_order(tmp_path: Path) -> None:
    daily = {"cron": "0 3 * * *", "tz": "Europe/Berlin"}
    document = manifest(*(task(f"t{n}", schedule=daily) for n in range(1001)))
    with closing(AppliedJobs(apply(tmp_path, document))) as applied:
        assert applied.refresh()
        assert list(applied.jobs.values()) == definitions(document)
        assert set(map(id, applied.schedules.values())) == {id(next(iter(applied.schedules.values())))}
        assert not applied.refresh()


def test_only_enabled_jobs_without_a_parent_have_a_schedule(tmp_path: Path) -> None:
    hourly = {"cron": "0 * * * *"}
    document = manifest(
        task("on", schedule=hourly),
        task("off", schedule=hourly, enabled=False),
        task("child", trigger={"parent": "on", "on": "success"}),
    )
    with closing(AppliedJobs(apply(tmp_path, document))) as applied:
        applied.refresh()
        names = {job.document["source"]["task_id"]: job_id for job_id, job in applied.jobs.items()}
        assert applied.schedules == {names["on"]: CronSchedule("0 * * * *", "UTC")}
        assert applied.children(names["on"]) == [applied.jobs[names["child"]]]
        assert applied.children(names["child"]) == []


@pytest.mark.parametrize("kind", ["file", "server"])
def test_applies_say_whose_schedule_they_changed(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    database = None if kind == "file" else request.getfixturevalue("postgres").new_database()
    hourly, daily = {"cron": "0 * * * *"}, {"cron": "0 3 * * *"}
    jobs = ""
    for tasks in (
        (task("a", schedule=hourly), task("b", schedule=hourly), task("c", schedule=hourly)),
        (task("a", "echo", schedule=hourly), task("b", schedule=hourly, enabled=False)),
        (task("a", "echo", schedule=hourly), task("b", schedule=daily), task("c", schedule=hourly)),
    ):
        jobs = apply(tmp_path, manifest(*tasks), database)
    with closing(AppliedJobs(jobs)) as applied:
        applied.refresh()
        names = {job.job_id: job.document["source"]["task_id"] for job in applied.jobs.values()}
        changed = {names[job_id]: number for job_id, number in applied.schedule_changes(0).items()}
        assert changed == {"a": 1, "b": 3, "c": 1}, "an apply that changes something else is not among them"
        assert {names[job_id] for job_id in applied.schedule_changes(1)} == {"b"}
        assert applied.schedule_changes(applied.apply) == {}
