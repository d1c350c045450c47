"""The catalog, calls under the gate, audit, policy, flows and figures, over HTTP."""

import json
import sys

import pytest

from tests.serve.daemon import serving, until
from tests.serve.test_mcp import AWKWARD


@pytest.mark.needs("git")
def test_a_wrapped_command_is_described_called_and_recorded(daemon):
    entries = daemon.admin.get("/catalog?kind=wrap&q=git").json["entries"]
    assert "git" in [each["name"] for each in entries]
    about = daemon.admin.get("/catalog/wrap/git").json
    (status,) = [each for each in about["actions"] if each["name"] == "status"]
    assert status["inputSchema"]["type"] == "object"
    path = "/catalog/wrap/git/status/call"
    assert daemon.admin("POST", path, {"arguments": {"surplus": 1}}).code == "INVALID_ARGUMENTS"
    done = daemon.admin("POST", path, {"arguments": {}})
    assert done.status == 200, done
    slugs = [each["slug"] for each in daemon.admin.get("/audit/workspaces").json["workspaces"]]

    def recorded():
        pages = [daemon.admin.get(f"/audit?workspace={slug}").json["records"] for slug in slugs]
        return [each for page in pages for each in page if each["action"] == "call.ended"]

    ended = until(recorded)
    assert ended[0]["actor"]["id"] == "http:admin"
    for slug in slugs:
        assert daemon.admin.get(f"/audit/verify?workspace={slug}").json["ok"] is True


@pytest.mark.needs("git")
def test_a_call_streams_its_result(daemon):
    answer = daemon.admin("POST", "/catalog/wrap/git/status/call?stream=1", {"arguments": {}})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert b"event: result\n" in answer.data


@pytest.mark.needs("git")
def test_a_rule_of_the_policy_file_denies_a_call(daemon):
    policy = daemon.home / "config" / "policy.toml"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text('deny = ["wrap/git/status"]\n')
    try:
        call = {"caller": "http:admin", "kind": "wrap", "name": "git", "action": "status", "effect": "read"}
        assert daemon.admin("POST", "/policy/test", call).json["effect"] == "deny"
        refused = daemon.admin("POST", "/catalog/wrap/git/status/call", {"arguments": {}})
        assert (refused.status, refused.code) == (403, "CALL_DENIED")
        policy.write_text("deny = 1\n")
        assert (
            daemon.admin("POST", "/catalog/wrap/git/status/call", {"arguments": {}}).code == "POLICY_UNUSABLE"
        )
    finally:
        policy.unlink()


def test_things_that_are_not_there_are_not_found(daemon):
    assert daemon.admin.get("/catalog/wrap/none").code == "NO_SUCH_OPERABLE"
    assert daemon.admin.get("/catalog/kind/none").code == "NO_SUCH_OPERABLE"
    assert daemon.admin.get("/flows/none").code == "FLOW_NOT_FOUND"
    assert daemon.admin.get("/runs/none").code == "RUN_NOT_FOUND"
    assert daemon.admin("POST", "/jobs/none/trigger").status == 404
    assert daemon.admin.get("/audit?workspace=../..").code == "NO_SUCH_CHAIN"


def test_lists_without_anything_are_empty(daemon):
    assert daemon.admin.get("/flows").json == {"flows": []}
    assert daemon.admin.get("/runs").json == {"runs": []}
    assert daemon.admin.get("/approvals").json == {"approvals": []}


def test_workspaces_are_registered_chosen_and_removed(daemon, tmp_path):
    made = daemon.admin("POST", "/workspaces", {"slug": "shop", "path": str(tmp_path)})
    assert (made.status, made.json["path"]) == (201, str(tmp_path.resolve()))
    assert daemon.admin("PUT", "/workspaces/active", {"slug": "shop"}).json["active"] == "shop"
    assert daemon.admin("PUT", "/workspaces/active", {"slug": "other"}).code == "WORKSPACE_NOT_FOUND"
    assert daemon.admin("DELETE", "/workspaces/shop").status == 200
    assert daemon.admin("DELETE", "/workspaces/shop").status == 404


def test_figures_are_openmetrics(daemon):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    answer = daemon.admin.get("/metrics")
    families = {family.name for family in text_string_to_metric_families(answer.data.decode())}
    assert {"operable_serve_sessions", "operable_serve_streams", "operable_serve_answers"} <= families


def test_kept_lint_reports_are_listed(daemon):
    reports = daemon.admin.get("/lint").json["reports"]
    assert "wrap git" in [each["tool"] for each in reports]
    assert "pass" in json.dumps(reports)


def test_words_of_a_tool_without_a_schema_are_as_bad_as_the_command_that_they_reach(tmp_path):
    home = tmp_path / "home"
    tools = home / "config" / "tools"
    tools.mkdir(parents=True)
    program = AWKWARD.replace("{python}", sys.executable)
    (tools / "awkward").write_text(program.replace("words =", "SCHEMAS = {'item': None}\nwords ="))
    (tools / "awkward").chmod(0o755)
    rules = home / "config" / "policy.toml"
    rules.write_text("ask_timeout = 0.2")
    with serving(home) as daemon:

        def call(*words):
            return daemon.admin(
                "POST", "/catalog/tool/awkward/item/call", {"arguments": {"arguments": words}}
            )

        refused = call("remove", "--confirm")
        assert (refused.status, refused.code) == (403, "CALL_UNANSWERED")
        rules.write_text('default = "allow"\ndeny = ["tool/awkward/item/remove"]')
        assert call("--quick", "remove").code == "CALL_DENIED"
        assert call("list").json["ok"] is True
