"""apply, plan, inspect, registry, import, merge, describe and paths over JSON-RPC: params, results and errors."""

import json
import sqlite3

import pytest

from operable.flow.canonical import stable_id
from operable.flow.method import Defaults
from operable.flow.rpc import answer_to
from tests.flow.manifests import manifest, shell_task
from tests.flow.schedulers import StandIn, capabilities
from tests.requirement import requirement

A = stable_id("w", "a")


class Client:
    """Requests to the methods as a server with these defaults answers them."""

    def __init__(self, folder):
        self.scheduler = StandIn(folder, capabilities("3"))
        self.folder = folder
        self.defaults = Defaults(
            cwd=str(folder),
            environment={**self.scheduler.environment, "HOME": str(folder)},
            db_path=str(self.scheduler.database),
            scheduler_bin=self.scheduler.script(),
        )

    def ask(self, method, **params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"agentcli.{method}", "params": params})
        faults: list[BaseException] = []
        answer = answer_to(line.encode(), self.defaults, faults.append)
        assert answer is not None
        assert faults == []
        return json.loads(answer)

    def result(self, method, **params):
        answer = self.ask(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method, **params):
        return self.ask(method, **params)["error"]


@pytest.fixture
def client(tmp_path):
    return Client(tmp_path)


@requirement("agentcli:rpc:apply")
def test_apply_uses_the_servers_defaults_and_truthiness(client):
    preview = client.result("apply", manifest=manifest(), dryRun="false", explain=1)
    applied = client.result("apply", manifest=manifest())

    assert preview["dry_run"] is True
    assert client.result("apply", manifest=manifest(), dryRun={})["dry_run"] is True
    assert len(preview["explain"]) == 1
    assert applied["scheduler"] == {
        "command": client.scheduler.script(),
        "db_path": str(client.scheduler.database),
    }
    assert applied["actions"][0]["job_id"] == A


@requirement("agentcli:rpc:apply")
@pytest.mark.parametrize(
    "params, message",
    [
        ({}, "manifest is required"),
        (
            {"manifest": manifest(), "adoptBy": "hash"},
            "Invalid adoptBy value: hash. Accepted values: id, name",
        ),
        ({"manifest": manifest(), "adoptBy": True}, "Invalid adoptBy value: true. Accepted values: id, name"),
        ({"manifest": manifest(), "adoptBy": ""}, "Invalid adoptBy value: . Accepted values: id, name"),
        ({"manifest": manifest(), "allowProofCommand": 1}, "allowProofCommand must be a boolean"),
        ({"manifest": manifest(), "allowProofCommand": "true"}, "allowProofCommand must be a boolean"),
        ({"manifest": manifest(), "prune": "yes"}, "prune must be a boolean"),
        ({"manifest": manifest(), "schedulerBin": 5}, "schedulerBin must be a string"),
        ({"manifest": manifest(), "target": "standalone"}, "Unsupported apply target: standalone"),
    ],
)
def test_params_of_apply_that_make_no_sense_are_the_callers(client, params, message):
    error = client.error("apply", **params)

    assert (error["code"], error["message"]) == (-32602, message)
    assert error["data"] == {"code": "invalid_argument", "error_type": "invalid_argument"}
    assert client.scheduler.calls() == []


@requirement("agentcli:rpc:apply")
def test_an_invalid_manifest_a_missing_capability_and_a_broken_scheduler_have_their_codes(client):
    invalid = client.error("apply", manifest={})
    assert (invalid["code"], invalid["data"]["code"]) == (-32602, "validation_error")
    assert invalid["data"]["validation"]["ok"] is False

    client.scheduler.behave(
        capabilities_answer=capabilities("1", features={"structured_output_format": False})
    )
    missing = client.error("apply", manifest=manifest(shell_task(output={"format": "json"})))
    assert (missing["code"], missing["data"]["code"]) == (-32602, "unsupported_capability")
    assert missing["data"]["capability_errors"][0]["feature"] == "structured_output_format"
    old = client.error("apply", manifest=manifest(shell_task(contract={"audit": "always"})))
    assert old["data"]["required_handoff_version"] == "2"

    client.scheduler.behave(jobs_add="secret words of the scheduler")
    broken = client.error("apply", manifest=manifest())
    assert (broken["code"], broken["message"]) == (-32603, "Internal error")
    assert broken["data"]["code"] == "scheduler_error"
    assert [step["job_id"] for step in broken["data"]["not_applied"]] == [A]
    assert "secret words" not in json.dumps(broken)


def test_apply_plan_inspect_and_prune_on_our_own_engine(client):
    created = client.result("apply", manifest=manifest(shell_task(), shell_task("b")), target="operable")
    plan = client.result("plan", manifest=manifest(shell_task(name="Z")), target="operable", prune=True)
    pruned = client.result("apply", manifest=manifest(shell_task(name="Z")), target="operable", prune=True)
    shown = client.result("inspect", target="operable", fields="name,document.execution.payload.program")

    assert created["scheduler"]["db_path"] == str(client.folder / ".agentcli" / "state" / "jobs.db")
    assert [step["action"] for step in plan["actions"]] == ["updated", "pruned"]
    assert {"field": "name", "before": "A", "after": "Z"} in plan["actions"][0]["changes"]
    assert [step["action"] for step in pruned["actions"]] == ["updated", "pruned"]
    assert shown["items"] == [{"name": "Z", "document": {"execution": {"payload": {"program": "echo"}}}}]
    assert client.scheduler.calls() == []


def test_a_plan_against_a_scheduler_writes_nothing(client):
    plan = client.result("plan", manifest=manifest())

    assert plan == {
        "ok": True,
        "target": "openclaw-scheduler",
        "actions": [
            {"action": "created", "job_id": A, "name": "A", "invocation_mode": "schedule", "changes": []}
        ],
    }
    assert client.scheduler.writes() == []


@requirement("agentcli:rpc:inspect")
def test_inspect_reads_the_servers_database_or_the_given_one(client):
    with sqlite3.connect(client.folder / "other.db") as connection:
        connection.execute("CREATE TABLE runs (id TEXT, started_at TEXT)")
        connection.execute("INSERT INTO runs VALUES ('r', '2026')")
    connection.close()
    client.result("apply", manifest=manifest())

    assert client.result("inspect", fields=["id"])["items"] == [{"id": A}]
    assert client.result("inspect", entity="runs", dbPath="other.db")["count"] == 1
    error = client.error("inspect", entity="nope")
    assert (error["code"], error["message"]) == (-32602, "Unsupported inspect entity: nope")


@requirement("agentcli:rpc:registry")
def test_the_registry_is_served(client):
    assert client.result("registry.list") == {"ok": True, "entries": []}
    added = client.result("registry.add", name="disk", manifest=manifest())
    assert (added["name"], added["overwritten"]) == ("disk", False)
    assert client.result("registry.list")["entries"][0]["name"] == "disk"
    assert client.result("registry.show", name="disk") == {"ok": True, "name": "disk", "manifest": manifest()}
    assert client.result("registry.remove", name="disk") == {"ok": True, "name": "disk", "removed": True}
    assert "not found" in client.error("registry.show", name="disk")["message"]
    for method in ("show", "remove", "add"):
        for name in (None, "", "  ", 5):
            assert client.error(f"registry.{method}", name=name)["message"] == "name is required"


def test_import_and_merge_are_served(client):
    (client.folder / "p").mkdir()
    (client.folder / "p" / "agentcli.json").write_text(json.dumps(manifest()))

    assert client.result("import", path="p")["discovery"] == "agentcli.json"
    assert client.error("import")["message"] == "path is required"
    assert client.error("import", path="p", name=5)["message"] == "name must be a string"
    other = manifest(workflow={"id": "v"})
    merged = client.result("merge", manifests=[manifest(), other])
    assert [flow["id"] for flow in merged["manifest"]["workflows"]] == ["w", "v"]
    assert client.error("merge", manifests="x")["message"] == "manifests must be an array"


@requirement("agentcli:rpc:describe", "agentcli:rpc:paths", "agentcli:rpc:targets")
def test_descriptions_paths_and_targets_are_served(client):
    assert client.result("describe")["description"]["name"] == "commands"
    assert client.error("describe", target=None)["message"] == "Unknown description target: null"
    assert client.result("paths")["paths"]["root"] == str(client.folder / ".agentcli")
    assert [target["name"] for target in client.result("targets")["targets"]] == [
        "standalone", "openclaw-scheduler", "operable",
    ]  # fmt: skip


def test_without_a_home_only_what_needs_one_fails(tmp_path):
    client = Client(tmp_path)
    client.defaults = Defaults(cwd=str(tmp_path), environment={})

    assert "There is no home directory" in client.error("paths")["message"]
    assert "There is no home directory" in client.error("registry.list")["message"]
    assert client.result("describe")["ok"]
