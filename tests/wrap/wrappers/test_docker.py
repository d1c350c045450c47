"""The wrapped docker: the real client against an engine of ours, on a Unix socket."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.drive import running
from tests.tool.drive import Outcome
from tests.wrap.drive import wrap
from tests.wrap.wrappers.docker_engine import CREATED, Engine, serving
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = pytest.mark.needs("docker")
WEB, DB = f"{1:064x}", f"{2:064x}"


class Docker:
    """The client, and the engine that it asks."""

    def __init__(self, engine: Engine, socket: str, folder: Path) -> None:
        self.engine = engine
        # A folder of settings of its own: whoever runs the tests may have another engine.
        self.env = {"DOCKER_HOST": f"unix://{socket}", "DOCKER_CONFIG": str(folder), "DOCKER_CONTEXT": ""}

    def __call__(self, *words: str) -> Outcome:
        return wrap("docker", *words, env=self.env)

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(verb, path) for verb, path in self.engine.seen if verb not in ("GET", "HEAD")]


@pytest.fixture
def docker(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    engine = Engine()
    # The path of a socket is short, and that of a test may be long.
    place = tmp_path_factory.mktemp("d") / "s"
    with serving(engine, place) as socket:
        yield Docker(engine, socket, tmp_path)


def test_containers_are_told_and_texts_for_people_stand_apart(docker):
    """A label with a comma in it can pass for two in docker's own text."""
    running_ones, everything = docker("ps"), docker("ps", "--all")

    assert [event["id"] for event in running_ones.results] == [WEB]
    assert [(event["names"], event["state"]) for event in everything.results] == [
        (["web"], "running"),
        (["db"], "exited"),
    ]
    assert "labels" not in everything.results[0]
    assert "1,b=2" in everything.results[0]["display"]["Labels"]


def test_inspect_gives_the_values_and_no_secrets(docker):
    done = docker("inspect", "web")

    (event,) = done.results
    assert event["id"] == WEB
    assert event["object"]["Config"]["Labels"] == {"a": "1,b=2", "odd": 'x\n"}{'}
    assert b"topsecret1" not in done.stdout


def test_what_is_not_there_leaves_the_others_and_an_error(docker):
    done = docker("inspect", "web", "nope")

    assert [event["id"] for event in done.results] == [WEB]
    assert (done.error["category"], done.error["code"]) == ("not_found", "OBJECT_NOT_FOUND")
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)


def test_images_volumes_networks_and_versions_are_told(docker):
    images = docker("images")

    assert {(event["repository"], event["tag"]) for event in images.results} == {
        ("nginx", "1"),
        ("nginx", "latest"),
        ("redis", "7"),
    }
    assert {event["Name"] for event in docker("volumes").results} == {"data", "more"}
    assert {event["Name"] for event in docker("networks").results} == {"bridge", "inner"}
    assert docker("version").results[0]["server"]["Version"] == "20.10.24"


def test_pages_go_on_behind_the_last(docker):
    first = docker("ps", "--all", "--limit", "1")
    second = docker("ps", "--all", "--limit", "1", "--cursor", first.summary["next_cursor"])

    assert [event["id"] for event in first.results + second.results] == [WEB, DB]


def test_events_come_as_they_happen(docker):
    docker.engine.happened("create", WEB, 1)
    words = ["docker", "events", "--since", "0", "--limit", "3", "--output", "jsonl"]
    with running("wrap", *words, output=None, env=docker.env) as process:
        assert process.event("event")["action"] == "create"
        docker.engine.happened("start", WEB, 2)
        docker.engine.happened("die", WEB, 3)

        done = process.finish()

    assert [event["action"] for event in done.results] == ["create", "start", "die"]
    assert done.results[0]["attributes"] == {"name": 'we"b\n'}
    assert (done.exit_code, done.summary["truncated"]) == (0, True)


def test_events_go_on_behind_the_last_that_was_told(docker):
    for number, action in enumerate(("create", "start", "die"), 1):
        docker.engine.happened(action, WEB, number)

    first = docker("events", "--since", "0", "--limit", "2")
    cursor = first.summary["next_cursor"]
    rest = docker("events", "--since", "0", "--limit", "1", "--cursor", cursor)

    assert [event["action"] for event in first.results + rest.results] == ["create", "start", "die"]
    assert first.results[0]["time_ns"] == CREATED * 10**9 + 1


def test_events_up_to_a_time_have_an_end(docker):
    docker.engine.happened("create", WEB, 1)

    done = docker("events", "--since", "0", "--until", "1s")

    assert [event["action"] for event in done.results] == ["create"]
    assert (done.summary["ok"], done.summary["truncated"]) == (True, False)


def test_removing_needs_confirmation_and_takes_the_container_of_the_plan(docker):
    plan = docker("rm", "db", "--dry-run")
    refused = docker("rm", "db")
    untouched = list(docker.changes)
    done = docker("rm", "db", "--confirm", plan.summary["plan_digest"])

    (change,) = plan.of("aoi:plan")
    assert (change["target"], change["id"], change["state"]) == ("db", DB, "exited")
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert untouched == []
    assert [(event["id"], event["name"], event["state"]) for event in done.results] == [(DB, "db", "removed")]
    assert [path.rpartition("/")[2] for _, path in docker.changes] == [DB]


def test_removing_several_needs_their_number_and_tells_what_was_not_done(docker):
    refused = docker("rm", "web", "db", "--confirm")
    done = docker("rm", "web", "db", "--confirm-count", "2")

    assert "--confirm-count 2" in refused.error["message"]
    assert [event["id"] for event in done.results] == [DB]
    assert (done.error["category"], done.error["code"]) == ("conflict", "OBJECT_IN_USE")
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)


def test_stopping_and_starting_tell_the_state(docker):
    refused, stopped, started = (
        docker("stop", "web"),
        docker("stop", "web", "--confirm"),
        docker("start", "web"),
    )

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [(event["id"], event["state"]) for event in stopped.results] == [(WEB, "exited")]
    assert [(event["id"], event["state"]) for event in started.results] == [(WEB, "running")]


def test_a_container_that_is_not_there_is_refused_before_anything_is_done(docker):
    done = docker("rm", "db", "nope", "--confirm-count", "2")

    assert (done.error["category"], done.error["target"]) == ("not_found", "nope")
    assert docker.changes == []


def test_without_an_engine_the_error_says_so_and_the_client_is_told(tmp_path):
    env = {"DOCKER_HOST": f"unix://{tmp_path}/nobody", "DOCKER_CONFIG": str(tmp_path)}

    listed, told = wrap("docker", "ps", env=env), wrap("docker", "version", env=env)

    for done in (listed, told):
        assert (done.error["category"], done.error["code"]) == ("config", "DOCKER_NOT_RUNNING")
    assert told.results[0]["server"] is None


@pytest.mark.parametrize("command", ["ps", "images", "volumes", "events"])
def test_other_lines_are_counted_and_a_cut_one_is_never_ok(tmp_path, command):
    line = {"ID": "1", "Image": "x", "Names": "n", "Name": "n", "Driver": "local", "Repository": "r"}
    prints = "WARNING: old engine\n" + json.dumps(line) + '\n{"ID":"2","Ima'

    done = wrap("docker", command, env=stand_in(tmp_path, "docker", prints=prints))

    assert len(done.results) == 1
    assert "UPSTREAM_NON_JSON" in {warning["code"] for warning in done.of("aoi:warning")}
    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


def test_a_name_that_looks_like_an_option_is_a_name(docker):
    done = docker("inspect", "--", "--help")

    assert done.error["code"] == "OBJECT_NOT_FOUND"


def test_a_log_is_in_the_order_of_its_times_whatever_stream_came_first(docker):
    done = docker("logs", "web")
    last = docker("logs", "web", "-n", "1")
    first = docker("logs", "web", "--limit", "2")
    rest = docker("logs", "web", "--cursor", first.summary["next_cursor"])
    missing = docker("logs", "nope")

    found = [(event["stream"], event["text"]) for event in done.results]
    assert found == [("stdout", "begin é"), ("stderr", "a warning"), ("stdout", "2026-01-01T00:00:00.9Z end")]
    assert [event["text"] for event in last.results] == ["2026-01-01T00:00:00.9Z end"]
    assert [event["text"] for event in first.results + rest.results] == [text for _, text in found]
    assert (missing.results, missing.error["code"]) == ([], "OBJECT_NOT_FOUND")


@pytest.mark.parametrize("words", [["run", "nginx:1"], ["exec", "web"]])
def test_a_command_in_a_container_has_a_verdict(words, docker):
    plan = docker(*words, "--dry-run", "--", "ls", "-l")
    refused = docker(*words, "--", "ls", "-l")
    assert docker.changes == []
    done = docker(*words, "--confirm", plan.summary["plan_digest"], "--", "ls", "-l")
    failed = docker(*words, "--confirm", "--", "fail")

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    (ran,) = done.results
    assert (ran["passed"], ran["output"], ran["diagnostics"].strip()) == (True, "ls -l\n", "it ran")
    assert (failed.results[0]["exit"], failed.error["code"], failed.summary["ok"]) == (3, "RUN_FAILED", False)


def test_what_docker_itself_could_not_run_is_another_failure(docker):
    image = docker("run", "nope:1", "--pull", "never", "--confirm", "--", "ls")
    stopped = docker("exec", "db", "--confirm", "--", "ls")
    variable = docker("run", "nginx:1", "-e", "A=b")

    assert (image.results, image.error["code"]) == ([], "OBJECT_NOT_FOUND")
    assert stopped.error["code"] == "NOT_RUNNING"
    assert variable.error["code"] == "NATIVE_OPTION"


def test_an_image_is_planned_then_built(docker, tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM nginx:1\n")

    plan = docker("build", str(tmp_path), "-t", "one:1", "--dry-run")
    assert docker.engine.built == 0
    done = docker("build", str(tmp_path), "-t", "one:1")
    broken = docker("build", str(tmp_path), "-t", "broken:1")
    missing = docker("build", str(tmp_path / "nowhere"))

    assert [change["tags"] for change in plan.of("aoi:plan")] == [["one:1"]]
    (built,) = done.of("image_built")
    assert (built["id"], built["tags"], done.summary["ok"]) == (f"sha256:{9:064x}", ["one:1"], True)
    assert (broken.of("image_built"), broken.error["code"]) == ([], "RUN_FAILED")
    assert missing.error["code"] == "PATH_NOT_FOUND"
