"""Flows and runs over HTTP: what is applied, a run that is asked for and ends, one that is retried and cancelled."""

import os

import pytest

from tests.engine.manifests import task
from tests.engine.worker.engines import Engine
from tests.serve.daemon import serving


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A daemon and an engine of the same home, with one task that another one triggers."""
    folder = tmp_path_factory.mktemp("world")
    home = folder / "home"
    engine = Engine(
        folder,
        task("first", "echo", "done"),
        task("then", "true", trigger={"parent": "first", "on": "success"}),
        environment={"OPERABLE_HOME": str(home), "AGENTCLI_HOME": str(home / "flow")},
    )
    with serving(home, env={"AGENTCLI_HOME": str(home / "flow")}) as daemon:
        yield daemon, engine


def job_of(daemon, name):
    (flow,) = daemon.admin.get("/flows").json["flows"]
    jobs = daemon.admin.get(f"/flows/{flow['id']}").json["jobs"]
    return next(job for job in jobs if job["taskId"] == name)


def test_a_flow_shows_its_tasks_and_what_triggers_what(world):
    daemon, _ = world
    (flow,) = daemon.admin.get("/flows").json["flows"]
    detail = daemon.admin.get(f"/flows/{flow['id']}").json

    assert flow["jobs"] == 2
    assert {job["taskId"] for job in detail["jobs"]} == {"first", "then"}
    first, then = job_of(daemon, "first"), job_of(daemon, "then")
    assert detail["edges"] == [{"from": first["id"], "to": then["id"], "kind": "success"}]
    assert (first["state"], bool(first["nextAt"]), then.get("nextAt")) == ("enabled", True, None)


def test_a_run_is_asked_for_ends_and_has_its_output(world):
    daemon, engine = world
    made = daemon.admin("POST", f"/jobs/{job_of(daemon, 'first')['id']}/trigger", {"key": "one"})
    again = daemon.admin("POST", f"/jobs/{job_of(daemon, 'first')['id']}/trigger", {"key": "one"})
    assert (made.status, again.json["id"]) == (201, made.json["id"])

    engine.call("start", "--until-idle")

    run = daemon.admin.get(f"/runs/{made.json['id']}").json
    assert (run["state"], run["output"], run["attempts"]) == ("succeeded", "done\n", 1)
    assert [bar["state"] for bar in run["timeline"]][-2:] == ["running", "succeeded"]
    assert job_of(daemon, "then")["lastRun"]["state"] == "succeeded"
    listed = daemon.admin.get("/runs?state=succeeded").json["runs"]
    assert {each["name"] for each in listed} >= {run["name"]}
    retried = daemon.admin("POST", f"/runs/{run['id']}/retry")
    assert (retried.status, retried.json["cause"]) == (201, "retry")
    cancelled = daemon.admin("POST", f"/runs/{retried.json['id']}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    assert cancelled.json["reason"].startswith("cancelled by ")
    twice = daemon.admin("POST", f"/runs/{retried.json['id']}/cancel")
    assert (twice.status, twice.code) == (409, "RUN_STATE_CONFLICT")


def test_a_token_that_may_only_read_triggers_nothing(world):
    daemon, _ = world
    reader = daemon.token("reader", "read")
    job = job_of(daemon, "first")["id"]

    assert reader("POST", f"/jobs/{job}/trigger", {}).status == 403


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/flows/none", "FLOW_NOT_FOUND"),
        ("GET", "/runs/run_none", "RUN_NOT_FOUND"),
        ("POST", "/jobs/none/trigger", "JOB_NOT_FOUND"),
        ("POST", "/runs/run_none/cancel", "RUN_NOT_FOUND"),
        ("POST", "/runs/run_none/retry", "RUN_NOT_FOUND"),
    ],
)
def test_what_does_not_exist_is_not_found(world, method, path, code):
    daemon, _ = world
    answer = daemon.admin(method, path, {} if method == "POST" else None)

    assert (answer.status, answer.code) == (404, code)


def test_a_home_without_flows_has_an_empty_list_and_gets_no_store(daemon):
    assert daemon.admin.get("/flows").json == {"flows": []}
    assert daemon.admin.get("/runs").json == {"runs": []}
    assert not os.path.exists(daemon.home / "flow" / "state")
