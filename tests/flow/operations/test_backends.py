"""apply, plan, inspect, registry, import, merge, describe and paths over JSON-RPC: params, results and errors."""

import json
import sqlite3
import time

import pytest

from operable.flow.canonical import canonical_digest, stable_id
from operable.flow.compile.job.binding import job_binding_digest, rebound
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.operation import Defaults
from operable.flow.rpc.protocol import answer_to
from operable.flow.scheduler.specs import create_spec
from tests.flow.manifests import manifest, shell_task
from tests.flow.proofs.tokens import ISSUER, RSA, claims, pem, token
from tests.flow.schedulers import StandIn, capabilities
from tests.requirement import requirement

A = stable_id("w", "a")


class Client:
    """Requests to the methods as a server with these defaults answers them."""

    def __init__(self, folder):
        self.scheduler = StandIn(folder, capabilities("3"))
        self.folder = folder
        self.told: list[BaseException] = []
        self.defaults = Defaults(
            cwd=str(folder),
            environment={**self.scheduler.environment, "HOME": str(folder)},
            db_path=str(self.scheduler.database),
            scheduler_bin=self.scheduler.script(),
        )

    def ask(self, method, **params):
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"agentcli.{method}", "params": params})
        self.told.clear()
        answer = answer_to(line.encode(), self.defaults, self.told.append)
        assert answer is not None
        assert all(isinstance(fault, FlowError) for fault in self.told)
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


BEARER = [
    {"id": "i", "provider": "env-bearer", "auth": {"mode": "service", "provider_config": {"token_env": "T"}}}
]


@requirement("agentcli:apply:capability-warnings", "agentcli:apply:result")
def test_warnings_are_in_the_result_and_on_stderr_line_by_line(client, capfd):
    client.scheduler.behave(
        capabilities_answer=capabilities(
            features={"runtime_identity_resolution": False, "credential_handoff": False}
        )
    )
    task = shell_task(identity={"ref": "i"}, child_credential_policy="downscope")
    result = client.result("apply", manifest=manifest(task, identity_profiles=BEARER), dryRun=True)

    warnings = result["capabilities"]["warnings"]
    assert [(each["code"], each["feature"]) for each in warnings] == [
        ("capability_warning", "runtime_identity_resolution"),
        ("capability_warning", "credential_handoff"),
    ]
    assert capfd.readouterr().err.splitlines() == [f"warning: {each['message']}" for each in warnings]
    assert "warnings" not in client.result("apply", manifest=manifest(), dryRun=True)["capabilities"]


@requirement("agentcli:apply:result")
def test_the_members_of_a_result_come_in_their_order(client):
    client.scheduler.behave(
        capabilities_answer=capabilities("3", schema_version=28, handoff_contract={"a": 1})
    )
    result = client.result("apply", manifest=manifest(), explain=True, dryRun=True)

    assert list(result) == (
        "ok target dry_run scheduler capabilities handoff job_count actions explain".split()
    )
    assert list(result["scheduler"]) == ["command", "db_path"]
    assert list(result["capabilities"].items()) == [
        ("source", "runtime"),
        ("negotiated", True),
        ("handoff_version", "3"),
        ("schema_version", 28),
        ("handoff_contract", {"a": 1}),
    ]
    assert list(result["handoff"]) == ["field_version", "projected_fields", "v02_fields_included"]
    assert list(result["actions"][0]) == ["action", "job_id", "name", "invocation_mode"]
    client.defaults = client.defaults._replace(db_path=None, environment=client.defaults.environment | {"SCHEDULER_DB": str(client.scheduler.database)})  # fmt: skip
    assert client.result("apply", manifest=manifest(), dryRun=True)["scheduler"]["db_path"] is None


@requirement("agentcli:apply:actions")
def test_a_job_that_is_as_it_should_be_is_sent_to_a_scheduler_again_and_our_own_engine_leaves_it_alone(
    client,
):
    for target, actions in (
        ("openclaw-scheduler", ["created", "updated"]),
        ("operable", ["created", "unchanged"]),
    ):
        found = [
            client.result("apply", manifest=manifest(), target=target)["actions"][0]["action"]
            for _ in range(2)
        ]
        assert found == actions
    assert client.scheduler.writes() == ["add", "update"]


# A row that somebody else added, whole enough for any scheduler.
OLD = {
    **create_spec(compile_manifest(manifest(), "openclaw-scheduler")["jobs"][0], "1"),
    "id": "old-1",
    "origin": "telegram:7",
}


@requirement("agentcli:apply:actions", "agentcli:apply:dry-run")
def test_a_job_is_adopted_by_adding_the_new_row_and_then_deleting_the_old_one(client):
    client.scheduler.store(OLD)

    assert client.result("apply", manifest=manifest(), dryRun=True)["actions"][0]["action"] == "created"
    preview = client.result("apply", manifest=manifest(), adoptBy="name", dryRun=True)
    assert client.scheduler.writes() == ["add"]
    adopted = client.result("apply", manifest=manifest(), adoptBy="name")

    assert preview["actions"] == adopted["actions"]
    assert list(adopted["actions"][0].items()) == [
        ("action", "adopted"),
        ("job_id", A),
        ("adopted_from_job_id", "old-1"),
        ("name", "A"),
        ("invocation_mode", "schedule"),
    ]
    assert client.scheduler.writes() == ["add", "add", "delete"]
    assert [(row["id"], row["origin"]) for row in client.scheduler.rows()] == [(A, "telegram:7")]


@requirement("agentcli:apply:actions", "agentcli:apply:capability-errors")
def test_what_is_wrong_with_one_job_keeps_the_others_from_being_written_in_earnest_and_in_a_dry_run(client):
    two = manifest(shell_task("z"), shell_task())
    client.scheduler.store(OLD)
    client.scheduler.store({**OLD, "id": "old-2"})
    client.scheduler.behave(
        capabilities_answer=capabilities("3", features={"structured_output_format": False})
    )
    before = client.scheduler.writes()

    for dry in (True, False):
        error = client.error("apply", manifest=two, adoptBy="name", dryRun=dry)
        assert (error["code"], error["message"]) == (
            -32602,
            "Cannot use --adopt-by name because existing scheduler jobs have duplicate names: A",
        )
        needs = manifest(shell_task("z"), shell_task(output={"format": "json"}))
        error = client.error("apply", manifest=needs, dryRun=dry)
        assert error["data"]["code"] == "unsupported_capability"
    assert client.scheduler.writes() == before


@requirement("agentcli:apply:proofs")
def test_a_proof_by_command_needs_the_callers_word(client):
    profile = {
        "id": "p", "method": "jwt", "issuer": "i", "public_key": pem(RSA), "proof": {"value_from": {"command": "cat proof"}},
    }  # fmt: skip
    value = manifest(shell_task(authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])
    (client.folder / "proof").write_text("no.such.token")

    for allowed in (None, False):
        error = client.error("apply", manifest=value, allowProofCommand=allowed)
        assert (error["code"], error["data"]["code"]) == (-32000, "authorization_proof_failed")
        assert error["message"].startswith('Authorization proof not available for profile "p": ')
    error = client.error("apply", manifest=value, allowProofCommand=True)
    assert error["message"].startswith('Authorization proof verification failed for profile "p": ')
    assert client.scheduler.writes() == []


@requirement("agentcli:apply:proofs", "agentcli:apply:result")
def test_a_proof_that_holds_is_told_with_its_job_and_at_the_top(client):
    profile = {
        "id": "p", "method": "jwt", "issuer": ISSUER, "public_key": pem(RSA), "proof": {"value_from": {"file": "proof"}},
    }  # fmt: skip
    governed = shell_task(
        authorization_proof={"ref": "p"}, on_failure={"prompt": "see", "authorization_proof": {"ref": "p"}}
    )
    value = manifest(governed, shell_task("b"), authorization_proof_profiles=[profile])
    now = int(time.time())
    bound = claims(manifest_digest=canonical_digest(value), exp=now + 86400, nbf=now - 86400)
    (client.folder / "proof").write_text(f" {token(bound)}\n")

    result = client.result("apply", manifest=value, dryRun=True)

    parent, handler, other = result["actions"]
    assert list(parent) == ["action", "job_id", "name", "invocation_mode", "authorization_proof_verification"]
    assert "authorization_proof_verification" not in other
    assert result["authorization_proof_verifications"] == [
        {
            "source": {"workflow_id": "w", "task_id": task},
            "authorization_proof_ref": "p",
            "verification": action["authorization_proof_verification"],
        }
        for task, action in (("a", parent), ("a.failure", handler))
    ]
    assert list(result["authorization_proof_verifications"][0]) == [
        "source",
        "authorization_proof_ref",
        "verification",
    ]
    assert parent["authorization_proof_verification"]["verified"] is True
    assert list(result)[-1] == "authorization_proof_verifications"


@requirement("agentcli:apply:v4")
def test_an_adopted_job_is_bound_with_what_the_old_row_was_given(client):
    client.scheduler.behave(capabilities_answer=capabilities("4"))
    client.scheduler.store({**OLD, "job_class": "batch", "payload_timeout_seconds": 7})

    client.result("apply", manifest=manifest(), adoptBy="name")

    [row] = client.scheduler.rows()
    assert (row["id"], row["origin"], row["job_class"], row["payload_timeout_seconds"]) == (
        A,
        "telegram:7",
        "batch",
        7,
    )
    artifact = json.loads(row["handoff_artifact_payload"])
    assert row["handoff_artifact_digest"] == canonical_digest(artifact)
    made = compile_manifest(manifest(), "openclaw-scheduler")["jobs"][0]
    given = {"origin": "telegram:7", "job_class": "batch", "payload_timeout_seconds": 7}
    assert artifact["scheduler_job_binding"]["digest"] == job_binding_digest(rebound(made, given))


@requirement("agentcli:apply:v4")
@pytest.mark.parametrize("adopt_by, verb", [("id", "update"), ("name", "adopt")])
def test_after_a_downgrade_a_job_with_an_artifact_is_neither_updated_nor_adopted(client, adopt_by, verb):
    client.scheduler.behave(capabilities_answer=capabilities("4"))
    client.result("apply", manifest=manifest())
    client.scheduler.behave(capabilities_answer=capabilities("3"))
    other = manifest(workflow={"id": "other"} if verb == "adopt" else None)

    error = client.error("apply", manifest=other, adoptBy=adopt_by)

    assert (error["code"], error["data"]["code"]) == (-32602, "unsupported_capability")
    assert error["message"].startswith(
        f'Cannot {verb} handoff v4 scheduler job "{A}" after runtime capability downgrade'
    )
    assert client.scheduler.writes() == ["add"]


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
    assert [str(fault) for fault in client.told] == ["secret words of the scheduler"]


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


@pytest.mark.parametrize("wrong", [5, 0, True, False, [], {}])
def test_a_database_that_is_no_path_is_told_and_another_one_is_not_read_instead(client, wrong):
    for target in ("openclaw-scheduler", "operable"):
        error = client.error("inspect", dbPath=wrong, target=target)

        assert (error["code"], error["message"]) == (-32602, "dbPath must be a string")


@pytest.mark.parametrize("wrong", [[], {}])
def test_what_is_no_target_and_no_workflow_is_not_taken_for_none_given(client, wrong):
    assert client.error("apply", manifest=manifest(), target=wrong)["message"].startswith(
        "Unsupported apply target: "
    )
    missing = client.error("identity.resolve", manifest=manifest(), taskId="a", workflowId=wrong)
    assert missing["message"].startswith("Workflow not found: ")
