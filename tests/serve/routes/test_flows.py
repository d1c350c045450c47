"""Flows and runs over HTTP: what is applied, a run that is asked for and ends, one that is retried and cancelled."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.engine.manifests import task
from tests.engine.worker.engines import Engine
from tests.serve.daemon import serving, until


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


def test_a_flow_shows_what_needs_attention_first_and_not_only_its_newest_run(tmp_path):
    home = tmp_path / "home"
    engine = Engine(
        tmp_path,
        task("gated", "true", approval={"policy": "manual"}),
        task("broken", "false", trigger={"parent": "works", "on": "success"}),
        task("works", "true"),
        environment={"OPERABLE_HOME": str(home), "AGENTCLI_HOME": str(home / "flow")},
    )
    with serving(home, env={"AGENTCLI_HOME": str(home / "flow")}) as daemon:
        states = []
        for name in ("works", "gated", "works"):
            daemon.admin("POST", f"/jobs/{job_of(daemon, name)['id']}/trigger", {})
            engine.call("start", "--until-idle")
            states.append(daemon.admin.get("/flows").json["flows"][0]["state"])
        (question,) = daemon.admin.get("/approvals").json["approvals"]

    assert question["command"] == "true"  # a person answers about what runs, and not about a name
    assert states == ["failed", "asking", "asking"]


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


def test_a_rule_about_a_job_binds_on_every_way_to_run_it_now(world):
    daemon, engine = world
    phone = daemon.token("phone", "read", "prompt")
    job = job_of(daemon, "first")
    run = daemon.admin("POST", f"/jobs/{job['id']}/trigger", {"key": "before the rule"}).json["id"]
    daemon.admin("POST", f"/runs/{run}/cancel")
    before = {each["id"] for each in daemon.admin.get("/runs").json["runs"]}
    policy = daemon.home / "config" / "policy.toml"
    policy.parent.mkdir(parents=True, exist_ok=True)
    flow = daemon.admin.get("/flows").json["flows"][0]["id"]
    policy.write_text(f'deny = ["flow/{flow}/first/trigger"]\n')
    try:
        refused = [
            phone("POST", f"/jobs/{job['id']}/trigger", {}),
            phone("POST", f"/runs/{run}/retry"),
            daemon.admin("POST", f"/jobs/{job['id']}/trigger", {}),
        ]
        typed = [
            engine.refused("trigger", job["id"], "--confirm")["code"],
            engine.refused("retry", run, "--confirm")["code"],
        ]
    finally:
        policy.unlink()

    assert [(each.status, each.code) for each in refused] == [(403, "CALL_DENIED")] * 3
    assert typed == ["CALL_DENIED"] * 2
    assert {each["id"] for each in daemon.admin.get("/runs").json["runs"]} == before


@pytest.mark.parametrize("way", ["route", "catalog"])
def test_a_yes_to_a_job_does_not_run_what_the_job_became_meanwhile(tmp_path, way):
    home = tmp_path / "home"
    engine = Engine(
        tmp_path,
        task("shown", "echo", "harmless"),
        environment={"OPERABLE_HOME": str(home), "AGENTCLI_HOME": str(home / "flow")},
    )
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "policy.toml").write_text('ask = ["flow/*/trigger"]\n')
    with serving(home, env={"AGENTCLI_HOME": str(home / "flow")}) as daemon, ThreadPoolExecutor() as pool:
        phone = daemon.token("phone", "read", "prompt")
        flow = daemon.admin.get("/flows").json["flows"][0]["id"]
        job = job_of(daemon, "shown")["id"]
        path = f"/jobs/{job}/trigger" if way == "route" else f"/catalog/flow/{flow}/shown/trigger/call"
        asking = pool.submit(phone, "POST", path, {})
        until(lambda: daemon.admin.get("/approvals").json["approvals"])
        (question,) = daemon.admin.get("/approvals").json["approvals"]
        engine.apply(task("shown", "echo", "something else"))
        answer = {"allowed": True, "digest": question["digest"]}
        assert daemon.admin("POST", f"/approvals/{question['id']}/answer", answer).status == 200

        refused = asking.result(timeout=60)
        assert (refused.status, refused.code) == (409, "CALL_CHANGED")
        assert daemon.admin.get("/runs").json["runs"] == []


def test_a_run_that_is_asked_for_is_on_record(world):
    daemon, _ = world
    phone = daemon.token("recorded", "read", "prompt")
    assert phone("POST", f"/jobs/{job_of(daemon, 'first')['id']}/trigger", {}).status == 201

    def begun():
        places = [each["slug"] for each in daemon.admin.get("/audit/workspaces").json["workspaces"]]
        records = [
            each for slug in places for each in daemon.admin.get(f"/audit?workspace={slug}").json["records"]
        ]
        return [each for each in records if each.get("input", {}).get("caller") == "http:recorded"]

    assert [each["action"] for each in begun()] == ["call.started"]


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
