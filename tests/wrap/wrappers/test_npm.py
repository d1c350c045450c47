"""The wrapped npm against the real one, with a registry of its own on this machine."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.tool.drive import LIMIT
from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

# Node starts in half a second; with the machine full of others, in many.
PATIENCE = 240.0
pytestmark = [pytest.mark.needs("npm"), pytest.mark.timeout(900)]


def packument(name: str, *versions: str) -> dict[str, object]:
    found = {
        version: {
            "name": name,
            "version": version,
            "description": "é {}",
            "license": "MIT",
            "dist": {"tarball": "x"},
        }
        for version in versions
    }
    return {"_id": name, "name": name, "dist-tags": {"latest": versions[-1]}, "versions": found}


ADVISORY = {
    "id": 1,
    "url": "https://example.org/1",
    "title": "bad",
    "severity": "high",
    "vulnerable_versions": "<3.0.0",
    "cwe": [],
    "cvss": {"score": 7, "vectorString": None},
}
ANSWERS: dict[str, object] = {
    "/left": packument("left", "1.0.0", "2.0.0", "3.0.0"),
    "/error": packument("error", "1.0.0"),
    "/-/npm/v1/security/advisories/bulk": {"left": [ADVISORY]},
}


@pytest.fixture
def registry() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = ANSWERS.get(self.path)
            body = json.dumps({"error": "not found"} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(LIMIT)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    write(
        place / "package.json",
        name="tiny",
        version="1.0.0",
        dependencies={"left": "^1.0.0", "gone": "^1.0.0"},
    )
    write(place / "node_modules/left/package.json", name="left", version="1.0.0", dependencies={"inner": "1"})
    write(place / "node_modules/left/node_modules/inner/package.json", name="inner", version="1.0.0")
    return place


def write(path: Path, **content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def npm(project: Path, *words: str, env: dict[str, str] | None = None):
    surroundings = {
        "npm_config_registry": "http://127.0.0.1:1",
        "npm_config_cache": str(project.parent / "cache"),
    }
    return wrap("npm", *words, cwd=project, env=surroundings | (env or {}), timeout=PATIENCE)


def test_ls_gives_the_tree_and_its_problems_as_an_answer(project):
    done = npm(project, "ls")
    direct = npm(project, "ls", "--direct")

    assert {event["id"]: (event["version"], event["missing"]) for event in done.of("dependency")} == {
        "left": ("1.0.0", False),
        "left > inner": ("1.0.0", False),
        "gone": (None, True),
    }
    assert ["gone" in event["message"] for event in done.of("problem")] == [True]
    assert (done.exit_code, done.summary["upstream"]) == (
        0,
        {"program": "npm", "exit": 1, "meaning": "problems"},
    )
    assert {event["id"] for event in direct.of("dependency")} == {"left", "gone"}


def test_ls_pages_and_writes_nothing_at_all(project, tmp_path):
    before = sorted(tmp_path.rglob("*"))

    first = npm(project, "ls", "--limit", "2", env={"HOME": str(tmp_path)})
    rest = npm(project, "ls", "--cursor", first.summary["next_cursor"], env={"HOME": str(tmp_path)})

    assert len(first.results) == 2
    assert [event["id"] for event in rest.results] == ["left", "left > inner"]
    assert sorted(tmp_path.rglob("*")) == before


def test_outdated_packages_are_an_answer_and_a_package_may_be_called_error(project, registry):
    write(project / "package.json", name="tiny", version="1.0.0", dependencies={"left": "*", "error": "*"})

    done = npm(project, "outdated", env={"npm_config_registry": registry})

    assert {event["name"]: (event["current"], event["latest"]) for event in done.results} == {
        "left": ("1.0.0", "3.0.0"),
        "error": (None, "1.0.0"),
    }
    assert (done.exit_code, done.summary["upstream"]["meaning"]) == (0, "outdated")


def test_audit_reports_weaknesses_as_an_answer(project, registry):
    lock = {"": {"name": "tiny", "version": "1.0.0", "dependencies": {"left": "^1.0.0"}},
            "node_modules/left": {"version": "1.0.0"}}  # fmt: skip
    write(project / "package-lock.json", name="tiny", version="1.0.0", lockfileVersion=3, packages=lock)

    done = npm(project, "audit", env={"npm_config_registry": registry})
    grave = npm(project, "audit", "--level", "critical", env={"npm_config_registry": registry})

    (found,) = done.results
    assert (found["name"], found["severity"], found["is_direct"]) == ("left", "high", True)
    assert found["via"][0]["url"] == "https://example.org/1"
    assert (done.exit_code, done.summary["upstream"]["meaning"]) == (0, "vulnerable")
    assert grave.results == []


def test_audit_without_a_lock_file_and_without_a_registry_is_an_error(project):
    unlocked = npm(project, "audit")
    write(project / "package-lock.json", name="tiny", version="1.0.0", lockfileVersion=3,
          packages={"": {"dependencies": {"left": "1"}}, "node_modules/left": {"version": "1.0.0"}})  # fmt: skip
    alone = npm(project, "audit", env={"npm_config_fetch_retries": "0"})

    assert (unlocked.error["category"], unlocked.error["upstream_code"]) == ("config", "ENOLOCK")
    assert (alone.summary["ok"], alone.results) == (False, [])


def test_view_tells_of_a_package_and_of_none(project, registry):
    env = {"npm_config_registry": registry}

    done = npm(project, "view", "left@<3", env=env)
    missing = npm(project, "view", "nowhere", env=env)
    none = npm(project, "view", "left@9", env=env)

    assert [event["id"] for event in done.results] == ["left@1.0.0", "left@2.0.0"]
    assert done.results[0]["description"] == "é {}"
    assert (missing.error["category"], missing.error["upstream_code"]) == ("not_found", "E404")
    assert (none.error["category"], none.summary["ok"]) == ("not_found", False)


def test_a_registry_that_is_not_there_is_a_temporary_failure(project):
    done = npm(project, "view", "left", env={"npm_config_fetch_retries": "0"})

    assert (done.error["category"], done.error["upstream_code"]) == ("temporary", "ECONNREFUSED")
    assert done.error["retryable"] is True


def test_pack_plans_every_file_and_then_makes_the_archive(project):
    (project / "left").mkdir()
    write(project / "left/package.json", name="inside", version="2.0.0", scripts={"prepack": "touch ran"})
    (project / "left/a b.js").write_text("1")

    plan = npm(project, "pack", "left", "--dry-run")
    assert list(project.glob("*.tgz")) == []
    done = npm(project, "pack", "left")

    (change,), (archive,) = plan.of("aoi:plan"), done.results
    assert [file["path"] for file in change["files"]] == ["a b.js", "package.json"]
    assert (archive["id"], archive["path"]) == ("inside@2.0.0", "./inside-2.0.0.tgz")
    assert (project / archive["path"]).stat().st_size == archive["size"]
    assert not list(project.rglob("ran"))


def test_what_cannot_be_packed_is_told_in_the_words_of_the_document(project):
    (project / "left").mkdir()
    write(project / "left/package.json", name="inside", version="2.0.0")
    (project / "left" / os.fsdecode(b"odd\xff.js")).write_text("1")  # npm looks for it under another name

    plan = npm(project, "pack", "left", "--dry-run")

    assert (plan.error["code"], plan.error["upstream_code"]) == ("UPSTREAM_ERROR", "ENOENT")
    assert plan.summary["ok"] is False


def test_only_projects_are_packed(project):
    done = npm(project, "pack", "lodash")

    assert (done.error["category"], done.error["code"]) == ("not_found", "NO_PACKAGE_JSON")


@pytest.mark.parametrize("command", ["ls", "outdated", "view"])
def test_a_package_that_would_be_an_option_is_refused(project, command):
    assert npm(project, command, "--", "--registry=http://127.0.0.1:1").error["code"] == "INVALID_VALUE"


@pytest.mark.parametrize("prints", ["", "npm error prose\n", '{"dependencies": {"left": {"ver'])
@pytest.mark.parametrize("status", [0, 1])
def test_without_a_whole_document_nothing_is_an_answer(project, prints, status):
    done = npm(project, "ls", env=stand_in(project, "npm", prints=prints, status=status))

    assert (done.summary["ok"], done.error["code"]) == (False, "UPSTREAM_INCOMPLETE")


def test_a_script_has_a_verdict_and_its_output_is_kept(project):
    scripts = {
        "pregood": "echo before",
        "good": "echo fine",
        "bad": "echo broken >&2; exit 3",
        "test": "echo tested",
    }
    write(project / "package.json", name="tiny", version="1.0.0", scripts=scripts)

    plan = npm(project, "run", "good", "--dry-run")
    done = npm(project, "run", "good", "--", "--more")
    bad = npm(project, "run", "bad")
    tested = npm(project, "test")
    missing = npm(project, "run", "nowhere")

    assert [event["target"] for event in plan.of("aoi:plan")] == ["pregood", "good"]
    assert "before" in done.results[0]["output"]
    assert "fine --more" in done.results[0]["output"]
    assert (bad.results[0]["exit"], bad.error["code"], bad.summary["ok"]) == (3, "RUN_FAILED", False)
    assert "broken" in bad.results[0]["diagnostics"]
    assert "tested" in tested.results[0]["output"]
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "SCRIPT_NOT_FOUND")
