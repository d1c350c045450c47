"""Applying to a scheduler: what is sent, what is reported, and that nothing is written before everything is known."""

import json
import sqlite3
import time
from typing import Any

import pytest

from operable.flow.canonical import canonical_digest, stable_id
from operable.flow.compile.job.fields import BY_VERSION
from operable.flow.compile.target import compile_manifest
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.scheduler.inspection import ENTITIES, Inspection, inspect
from operable.flow.scheduler.openclaw import apply_to_scheduler, check_capabilities, prepare
from operable.flow.scheduler.reconciliation import ApplyOptions
from operable.flow.scheduler.specs import Handoffs, create_spec, plain, update_spec
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered
from tests.flow.proofs.tokens import ISSUER, RSA, claims, pem, token
from tests.flow.schedulers import OLD, REAL, capabilities, either, newest, require_handoff
from tests.requirement import requirement

A, B = stable_id("w", "a"), stable_id("w", "b")
GOVERNED = manifest(shell_task(contract={"audit": "always"}), shell_task("b", **triggered("a")))


def apply(scheduler, value, *, around=None, warn=lambda _text: None, **options):
    surroundings = around or Surroundings(str(scheduler.folder), scheduler.environment)
    return apply_to_scheduler(value, scheduler.client(), ApplyOptions(**options), surroundings, warn)


def refused(scheduler, value, **options):
    with pytest.raises(FlowError) as caught:
        apply(scheduler, value, **options)
    return caught.value


@pytest.fixture
def scheduler(tmp_path):
    """The one that OPENCLAW_SCHEDULER_BIN names, or else the stand-in; both say that they know version 3."""
    return either(tmp_path, capabilities("3"))


@requirement("agentcli:apply:actions", "agentcli:apply:result")
def test_jobs_are_created_then_updated_and_the_result_has_its_shape(scheduler):
    created = apply(scheduler, GOVERNED, explain=True)
    updated = apply(scheduler, GOVERNED)

    assert created == {
        "ok": True,
        "target": "openclaw-scheduler",
        "dry_run": False,
        "scheduler": {"command": "openclaw-scheduler", "db_path": str(scheduler.database)},
        "capabilities": {
            "source": "runtime",
            "negotiated": True,
            "handoff_version": "3",
            "schema_version": 30,
            "handoff_contract": None,
        },
        "handoff": {"field_version": "3", "projected_fields": 70, "v02_fields_included": True},
        "job_count": 2,
        "actions": [
            {"action": "created", "job_id": A, "name": "A", "invocation_mode": "schedule"},
            {"action": "created", "job_id": B, "name": "B", "invocation_mode": "trigger"},
        ],
        "explain": created["explain"],
    }
    assert [entry["task_id"] for entry in created["explain"]] == ["a", "b"]
    assert [action["action"] for action in updated["actions"]] == ["updated", "updated"]
    assert "explain" not in updated
    assert scheduler.writes() == ["add", "add", "update", "update"]


@requirement("agentcli:apply:specs")
def test_a_new_job_has_no_nulls_and_an_update_has_them_but_neither_id_nor_origin(scheduler):
    apply(scheduler, manifest(prompt_task(identity={"subject": {"principal": "agent://x"}})))
    apply(scheduler, manifest(prompt_task(identity={"subject": {"principal": "agent://x"}})))

    add, update = (
        json.loads(words[-1]) for words in scheduler.calls() if words[1:2] in (["add"], ["update"])
    )
    assert None not in add.values()
    assert (add["id"], add["origin"], add["enabled"]) == (stable_id("w", "p"), "system", True)
    assert "source" not in add
    assert json.loads(add["identity"])["subject"]["principal"] == "agent://x"
    assert not {"id", "origin", "source"} & set(update)
    assert update["parent_id"] is None
    assert set(update) == set(BY_VERSION["3"]) - {"id", "origin"}


@requirement("agentcli:apply:dry-run")
def test_a_dry_run_asks_and_compares_but_writes_nothing(scheduler):
    preview = apply(scheduler, GOVERNED, dry_run=True)

    assert preview["dry_run"] is True
    assert [action["action"] for action in preview["actions"]] == ["created", "created"]
    assert scheduler.writes() == []
    assert scheduler.calls() == [["capabilities"], ["jobs", "list"]]


@requirement("agentcli:apply:actions")
def test_a_job_of_the_same_name_is_adopted_with_its_origin(scheduler):
    scheduler.store(OLD)

    result = apply(scheduler, manifest(), adopt_by="name")

    assert result["actions"] == [
        {
            "action": "adopted",
            "job_id": A,
            "adopted_from_job_id": "old-1",
            "name": "A",
            "invocation_mode": "schedule",
        }
    ]
    [row] = scheduler.rows()
    assert (row["id"], row["origin"]) == (A, "telegram:7")
    assert apply(scheduler, manifest(), adopt_by="name")["actions"][0]["action"] == "updated"


@requirement("agentcli:apply:actions")
def test_names_that_are_not_unique_cannot_be_adopted(scheduler):
    twice = manifest(shell_task(), shell_task("b", name="A"))
    problem = refused(scheduler, twice, adopt_by="name")
    assert (problem.flow_code, problem.message) == (
        "invalid_argument",
        "Cannot use --adopt-by name when compiled job names are not unique: A",
    )

    scheduler.store(OLD)
    scheduler.store({**OLD, "id": "old-2"})
    problem = refused(scheduler, manifest(), adopt_by="name")
    assert problem.message == (
        "Cannot use --adopt-by name because existing scheduler jobs have duplicate names: A"
    )
    assert len(scheduler.rows()) == 2


@requirement("agentcli:apply:rollback")
def test_an_adoption_that_cannot_remove_the_old_row_takes_the_new_one_back(scheduler):
    scheduler.store(OLD)
    scheduler.behave(jobs_delete={"old-1": "row is locked"})

    problem = refused(scheduler, manifest(), adopt_by="name")

    assert problem.flow_code == "scheduler_error"
    assert "taken back" in problem.message
    assert [row["id"] for row in scheduler.rows()] == ["old-1"]


@requirement("agentcli:apply:rollback")
def test_when_that_fails_too_both_rows_are_named(scheduler):
    scheduler.store(OLD)
    scheduler.behave(jobs_delete="row is locked")

    problem = refused(scheduler, manifest(), adopt_by="name")

    assert "check both rows yourself" in problem.message
    assert A in problem.message
    assert "old-1" in problem.message


def test_a_failure_in_the_middle_says_what_was_done_and_what_was_not(scheduler):
    apply(scheduler, manifest(shell_task("b")))
    scheduler.behave(jobs_update={B: "disk full"})

    problem = refused(scheduler, manifest(shell_task(), shell_task("b"), shell_task("c")))

    assert (problem.flow_code, problem.message) == ("scheduler_error", "disk full")
    assert [action["job_id"] for action in problem.details["actions"]] == [A]
    assert [action["job_id"] for action in problem.details["not_applied"]] == [B, stable_id("w", "c")]


@requirement("agentcli:apply:capability-errors", "agentcli:apply:capability-warnings")
def test_errors_stop_before_the_first_write_and_warnings_are_told_twice(tmp_path):
    old = either(tmp_path)
    problem = refused(old, manifest(shell_task(output={"format": "json"}, approval={"required": True})))
    assert problem.flow_code == "unsupported_capability"
    assert [error["feature"] for error in problem.details["capability_errors"]] == [
        "root_approval_gate",
        "structured_output_format",
    ]
    assert old.writes() == []

    told: list[str] = []
    profiles = [
        {
            "id": "i",
            "provider": "env-bearer",
            "auth": {"mode": "service", "provider_config": {"token_env": "T"}},
        }
    ]
    old.behave(capabilities_answer=capabilities("3", features={"runtime_identity_resolution": False}))
    result = apply(
        old, manifest(shell_task(identity={"ref": "i"}), identity_profiles=profiles), warn=told.append
    )
    assert [warning["message"] for warning in result["capabilities"]["warnings"]] == told
    assert len(told) == 1


@requirement("agentcli:apply:field-versions")
def test_a_scheduler_without_capabilities_gets_version_1_or_nothing(tmp_path):
    old = either(tmp_path)

    result = apply(old, manifest())
    assert result["capabilities"]["source"] == "static"
    assert result["handoff"] == {"field_version": "1", "projected_fields": 41, "v02_fields_included": False}
    [sent] = [json.loads(words[-1]) for words in old.calls() if words[1:2] == ["add"]]
    assert set(sent) <= set(BY_VERSION["1"])

    problem = refused(old, manifest(shell_task(contract={"audit": "always"}), version="0.1"))
    assert problem.details["required_handoff_version"] == "2"
    assert old.writes() == ["add"]


@requirement("agentcli:apply:v4")
def test_a_v4_runtime_gets_an_artifact_even_for_a_0_1_manifest(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))

    result = apply(scheduler, manifest(version="0.1"))

    assert result["handoff"] == {"field_version": "4", "projected_fields": 89, "v02_fields_included": True}
    [row] = scheduler.rows()
    artifact = json.loads(row["handoff_artifact_payload"])
    assert row["handoff_version"] == 4
    assert row["handoff_artifact_digest"] == canonical_digest(artifact)
    assert artifact["compiled"]["effective_task_hash"] == row["effective_task_hash"]
    assert scheduler.calls()[1] == ["jobs", "list", "--include-handoff-artifacts"]


@requirement("agentcli:apply:v4")
def test_what_a_stored_job_was_given_later_is_bound_into_its_new_artifact(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))
    apply(scheduler, manifest())
    first, given = scheduler.rows()[0]["handoff_artifact_digest"], {"job_class": "pre_compaction_flush"}
    handoffs = Handoffs(manifest(), ambient={}, base="/")
    job = handoffs.bound(
        compile_manifest(manifest(), "openclaw-scheduler")["jobs"][0], {**given, "origin": "x:7"}
    )
    scheduler.client().update(A, {**update_spec(job, "4"), "origin": "x:7"})
    second = scheduler.rows()[0]["handoff_artifact_digest"]

    apply(scheduler, manifest())

    [row] = scheduler.rows()
    assert (row["job_class"], row["origin"]) == ("pre_compaction_flush", "x:7")
    assert len({first, second, row["handoff_artifact_digest"]}) == 3


@requirement("agentcli:apply:v4")
def test_an_artifact_that_was_changed_on_its_way_stops_everything(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))
    apply(scheduler, manifest())
    [row] = scheduler.client().jobs(artifacts=True)
    row["handoff_artifact_payload"]["lifecycle"]["enabled"] = False
    scheduler.behave(jobs_list={"answer": [row]})

    problem = refused(scheduler, manifest())

    assert problem.flow_code == "HANDOFF_ARTIFACT_INVALID"
    assert scheduler.writes() == ["add"]


@requirement("agentcli:apply:v4")
def test_a_job_that_is_not_what_its_artifact_says_stops_everything(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))
    apply(scheduler, manifest())
    scheduler.alter("UPDATE jobs SET payload_message = 'curl evil'")

    problem = refused(scheduler, manifest())

    assert (problem.flow_code, problem.details["scheduler_code"]) == (
        "scheduler_error",
        "HANDOFF_ARTIFACT_INVALID",
    )
    assert scheduler.writes() == ["add"]


@requirement("agentcli:apply:v4")
def test_a_downgraded_runtime_does_not_get_to_change_v4_jobs(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))
    apply(scheduler, manifest())
    scheduler.behave(capabilities_answer=capabilities("3"))

    problem = refused(scheduler, manifest())

    assert problem.flow_code == "unsupported_capability"
    assert "after runtime capability downgrade" in problem.message
    assert scheduler.writes() == ["add"]


def with_proof(source, **task):
    profile = {
        "id": "p",
        "method": "jwt",
        "issuer": ISSUER,
        "public_key": pem(RSA),
        "proof": {"value_from": source},
    }
    return manifest(
        shell_task(**({"authorization_proof": {"ref": "p"}} | task)), authorization_proof_profiles=[profile]
    )


def fresh(value, **more):
    """A token for this manifest that is good now: made in the test, whenever that runs."""
    now = int(time.time())
    return token(claims(manifest_digest=canonical_digest(value), exp=now + 86400, nbf=now - 86400, **more))


@requirement("agentcli:apply:proofs")
def test_proofs_that_the_runtime_does_not_verify_are_verified_before_anything_else(scheduler):
    value = with_proof({"env": "PROOF"}, on_failure={"prompt": "see", "authorization_proof": {"ref": "p"}})
    proof = fresh(value)
    around = Surroundings(str(scheduler.folder), {**scheduler.environment, "PROOF": proof})

    result = apply(scheduler, value, around=around)

    assert [action["authorization_proof_verification"]["verified"] for action in result["actions"]] == [
        True,
        True,
    ]
    assert [entry["source"]["task_id"] for entry in result["authorization_proof_verifications"]] == [
        "a",
        "a.failure",
    ]
    assert result["authorization_proof_verifications"][0]["authorization_proof_ref"] == "p"
    assert proof not in json.dumps(scheduler.rows())
    assert proof not in json.dumps(scheduler.calls())
    assert proof not in json.dumps(result)


@requirement("agentcli:apply:proofs")
def test_a_proof_that_is_missing_or_wrong_stops_before_the_first_write(scheduler):
    value = with_proof({"env": "PROOF"})
    wrong = fresh(manifest(shell_task("other")))

    missing = refused(scheduler, value)
    bad = refused(
        scheduler, value, around=Surroundings("/", {**scheduler.environment, "PROOF": wrong}), dry_run=True
    )

    assert missing.flow_code == bad.flow_code == "authorization_proof_failed"
    assert missing.message.startswith('Authorization proof not available for profile "p"')
    assert bad.message.startswith('Authorization proof verification failed for profile "p"')
    assert scheduler.calls() == [["capabilities"]] * 2


@requirement("agentcli:apply:proofs")
def test_commands_give_proofs_only_when_that_is_allowed_and_in_the_callers_folder(scheduler):
    value = with_proof({"command": "cat proof.txt"})
    (scheduler.folder / "proof.txt").write_text(fresh(value))
    folder = str(scheduler.folder)

    assert "not allowed" in refused(scheduler, value).message
    around = Surroundings(folder, scheduler.environment, timeout=120)
    applied = apply(scheduler, value, around=around, allow_proof_command=True)
    assert applied["actions"][0]["authorization_proof_verification"]["verified"]


@requirement("agentcli:apply:proofs")
def test_a_literal_proof_is_refused_before_anybody_is_asked(scheduler):
    problem = refused(scheduler, with_proof({"literal": "x"}))

    assert problem.flow_code == "validation_error"
    assert scheduler.calls() == []


@requirement("agentcli:apply:proofs")
def test_claims_of_a_task_are_asked_of_its_proof(scheduler):
    value = with_proof({"env": "PROOF"}, authorization_proof={"ref": "p", "claims": {"run_id": "7"}})
    good, other = fresh(value, run_id="7"), fresh(value, run_id="8")

    def around(proof):
        return Surroundings("/", {**scheduler.environment, "PROOF": proof})

    assert refused(scheduler, value, around=around(other)).flow_code == "authorization_proof_failed"
    assert apply(scheduler, value, around=around(good))["ok"]


@requirement("agentcli:apply:proofs")
def test_a_runtime_that_verifies_proofs_itself_is_left_to_it(tmp_path):
    scheduler = either(tmp_path, capabilities("3", features={"authorization_proof_verification": True}))

    result = apply(scheduler, with_proof({"env": "PROOF"}))

    assert "authorization_proof_verifications" not in result


def test_unchanged_jobs_are_left_alone_on_demand_and_a_plan_says_what_would_change(scheduler):
    apply(scheduler, GOVERNED)
    changed = manifest(shell_task(contract={"audit": "none"}), shell_task("b", **triggered("a")))
    around = Surroundings(str(scheduler.folder), scheduler.environment)

    steps = prepare(changed, scheduler.client(), ApplyOptions(), around).steps
    result = apply(scheduler, changed, skip_unchanged=True)

    assert [step.view()["changes"] for step in steps] == [
        [{"field": "contract_audit", "before": "always", "after": "none"}],
        [],
    ]
    assert [action["action"] for action in result["actions"]] == ["updated", "unchanged"]
    assert scheduler.writes() == ["add", "add", "update"]


def test_what_was_planned_is_what_is_applied_or_nothing_is(scheduler):
    around = Surroundings(str(scheduler.folder), scheduler.environment)
    planned = prepare(GOVERNED, scheduler.client(), ApplyOptions(), around).steps
    expected = tuple(step.fingerprint for step in planned)
    scheduler.store({**OLD, "id": A})

    problem = refused(scheduler, GOVERNED, expected=expected)

    assert problem.flow_code == "plan_changed"
    assert scheduler.writes() == ["add"]


def test_a_plan_is_of_the_manifest_that_was_looked_at(scheduler):
    def value(audience):
        profile = {"id": "i", "provider": "none", "provider_config": {"audience": audience}}
        return manifest(shell_task(identity={"ref": "i"}), identity_profiles=[profile])

    around = Surroundings(str(scheduler.folder), scheduler.environment)
    steps = prepare(value("good"), scheduler.client(), ApplyOptions(), around).steps
    expected = tuple(step.fingerprint for step in steps)

    assert refused(scheduler, value("evil"), expected=expected).flow_code == "plan_changed"
    assert scheduler.rows() == []
    assert apply(scheduler, value("good"), expected=expected)["job_count"] == 1


def test_only_jobs_whose_artifact_names_a_workflow_of_the_manifest_are_pruned(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))
    elsewhere = manifest(shell_task("z"), workflow={"id": "other"})
    apply(scheduler, elsewhere)
    apply(scheduler, GOVERNED)
    scheduler.store(OLD)

    result = apply(scheduler, manifest(shell_task(contract={"audit": "always"})), prune=True)

    assert [(action["action"], action["job_id"]) for action in result["actions"]] == [
        ("updated", A),
        ("pruned", B),
    ]
    assert {row["id"] for row in scheduler.rows()} == {stable_id("other", "z"), A, "old-1"}


def test_a_job_that_was_adopted_is_not_pruned_besides(tmp_path):
    scheduler = either(tmp_path, capabilities("4"))
    apply(scheduler, manifest(shell_task("old", name="A"), shell_task("gone")))
    swapped = manifest(shell_task())

    planned = prepare(
        swapped, scheduler.client(), ApplyOptions(adopt_by="name", prune=True), Surroundings("/")
    ).steps
    result = apply(scheduler, swapped, adopt_by="name", prune=True)

    expected = [("adopted", A), ("pruned", stable_id("w", "gone"))]
    assert [(step.action, step.job_id) for step in planned] == expected
    assert [(action["action"], action["job_id"]) for action in result["actions"]] == expected
    assert [row["id"] for row in scheduler.rows()] == [A]


def test_pruning_is_refused_where_nobody_knows_where_jobs_came_from(scheduler):
    problem = refused(scheduler, GOVERNED, prune=True)

    assert problem.flow_code == "unsupported_capability"
    assert scheduler.writes() == []


@requirement("agentcli:apply:capabilities")
def test_capabilities_can_be_checked_without_writing(scheduler):
    found = check_capabilities(manifest(shell_task(output={"format": "json"})), scheduler.client())

    assert found["capabilities"]["source"] == "runtime"
    assert found["effective"]["negotiated"] is True
    assert found["compatibility"] == {"ok": True, "errors": [], "warnings": []}
    assert scheduler.calls() == [["capabilities"]]


PROFILES: dict[str, Any] = {
    "identity_profiles": [
        {"id": kind, "provider": "env-bearer",
         "auth": {"mode": "service", "provider_config": {"token_env": "T"}},
         "presentation": {"bindings": [{"source": "access_token", "target": {"kind": kind, **names}}]}}
        for kind, names in (("env", {"name": "TOK"}), ("file", {"prefix": "p", "expose_as": "F"}), ("stdin", {}))
    ],
    "authorization_proof_profiles": [
        {"id": "p", "method": "jwt", "issuer": ISSUER, "public_key": pem(RSA), "proof": {"value_from": {"env": "PROOF"}}},
        {"id": "n", "method": "none"},
    ],
    "authorization_profiles": [
        {"id": "opa", "provider": "opa", "provider_config": {"endpoint": "http://127.0.0.1:1", "policy": "x"},
         "on_error": "deny", "request": {"include": ["command"]}, "decision": {"allow_values": ["permit"]}}
    ],
    "evidence_profiles": [
        {"id": "ssh", "provider": "ssh", "provider_config": {"key_path": "/k"},
         "payload": {"bind": ["command", "result"], "format": "canonical-json"}, "verify": {"required": True}}
    ],
}  # fmt: skip
SUBJECT = {
    "subject": {"kind": "agent", "principal": "agent://x", "attributes": {"a": 1}, "delegation_mode": "on-behalf-of"},
    "auth": {"delegation_policy": {"max_depth": 2, "allowed_delegators": ["b", "a"]}},
    "trust": {"level": "supervised"},
}  # fmt: skip
# Every block that reaches a scheduler, once.
EVERYTHING = manifest(
    shell_task(on_failure={"prompt": "look at it", "delivery": {"mode": "announce", "channel": "c", "to": "1"}}),
    shell_task("manual", approval={"required": True, "timeout_s": 60, "risk_level": "high"}),
    shell_task("never", approval={"policy": "auto-reject"}),
    prompt_task("silent", delivery={"mode": "none"}),
    prompt_task("main", target={"session_target": "main"}, prompt="ä€😀\n\t\u2028 '\"$`"),
    shell_task(
        "bounded",
        budgets={"max_queued_dispatches": 3, "max_pending_approvals": 2, "max_fanout": 4, "max_iterations": 5},
        runtime={"timeout_ms": 1000},
        reliability={"overlap_policy": "queue", "max_retries": 2, "guarantee": "at-least-once"},
        output={"format": "json", "preview_bytes": 64, "offload": "always", "retrieve": "inline"},
    ),
    shell_task(
        "contract",
        shell={"program": "echo", "args": ["it's"], "cwd": "/tmp"},
        verify={"shell": "true", "timeout_seconds": 5, "on_failure": "warn"},
        contract={"sandbox": "strict", "allowed_paths": ["/tmp", "/ä"], "network": "none", "max_cost_usd": 1.5},
        schedule={"cron": "0 9 * * *", "tz": "Europe/Berlin"},
    ),
    shell_task("env", identity={"ref": "env"}),
    shell_task("file", identity={"ref": "file"}),
    shell_task("stdin", identity={"ref": "stdin"}),
    prompt_task("isolated", identity={"ref": "env"}),
    shell_task("subject", identity=SUBJECT, delete_after_run=True, enabled=False),
    shell_task(
        "child",
        **triggered("subject", on="complete", delay_s=5, condition="regex:^a+$"),
        identity={"subject": {"principal": "y"}, "scope": "s"},
        child_credential_policy="downscope",
    ),
    shell_task("proof", authorization_proof={"ref": "p", "claims": {"k": "v"}}),
    shell_task("proofless", authorization_proof={"ref": "n"}),
    shell_task("asks", authorization={"ref": "opa"}),
    shell_task("signed", evidence={"ref": "ssh"}),
    **PROFILES,
)  # fmt: skip


@requirement("agentcli:apply:specs")
@pytest.mark.parametrize("made", [newest, lambda folder: either(folder, capabilities("3"))])
def test_what_is_stored_is_what_was_sent_field_by_field_and_nothing_is_left_to_do(tmp_path, made):
    scheduler = made(tmp_path)
    value = EVERYTHING
    if made is not newest:  # of evidence and proofs an older one keeps less
        require_handoff(3)
        tasks = [
            t for t in value["workflows"][0]["tasks"] if not {"evidence", "authorization_proof"} & set(t)
        ]
        value = manifest(*tasks, **PROFILES)
    around = Surroundings(str(tmp_path), scheduler.environment)

    result = apply(scheduler, value)

    assert {action["action"] for action in result["actions"]} == {"created"}
    again = prepare(value, scheduler.client(), ApplyOptions(), around)
    assert [step.changes for step in again.steps if step.action != "unchanged"] == []
    stored = {row["id"]: row for row in scheduler.rows()}
    for step in again.steps:
        sent = create_spec(step.job or {}, again.version)
        kept = {name: plain(stored[step.job_id][name], name) for name in sent}
        assert kept == {name: plain(value, name) for name, value in sent.items()}
    assert len(stored) == len(again.steps)


@requirement("agentcli:apply:actions")
def test_a_changed_task_is_updated_and_a_removed_one_stays_until_it_is_pruned(tmp_path):
    scheduler = newest(tmp_path)
    apply(scheduler, GOVERNED)
    changed = manifest(shell_task(contract={"audit": "none"}, shell={"program": "date"}))

    plan = prepare(
        changed, scheduler.client(), ApplyOptions(), Surroundings(str(tmp_path), scheduler.environment)
    )
    assert {change["field"] for change in plan.steps[0].changes} == {
        "payload_message", "contract_audit", "handoff_artifact_digest", "handoff_artifact_payload", "effective_task_hash",
    }  # fmt: skip
    assert [action["action"] for action in apply(scheduler, changed)["actions"]] == ["updated"]
    assert {row["id"]: row["payload_message"] for row in scheduler.rows()} == {
        A: "'date'",
        B: "'echo' 'hi'",
    }
    assert [action["action"] for action in apply(scheduler, changed, prune=True)["actions"]] == [
        "updated",
        "pruned",
    ]
    assert [row["id"] for row in scheduler.rows()] == [A]


@requirement("agentcli:apply:actions")
def test_a_job_that_somebody_disabled_is_what_the_manifest_says_again(tmp_path):
    scheduler = newest(tmp_path)
    apply(scheduler, GOVERNED)
    scheduler.client().update(A, {"enabled": False})

    result = apply(scheduler, GOVERNED, skip_unchanged=True)

    assert [action["action"] for action in result["actions"]] == ["updated", "unchanged"]
    assert [row["enabled"] for row in scheduler.rows()] == [1, 1]


@requirement("agentcli:apply:actions", "agentcli:apply:v4")
def test_a_family_is_adopted_by_name_into_artifacts_that_keep_its_origin(tmp_path):
    scheduler = newest(tmp_path)
    scheduler.store({**OLD, "payload_timeout_seconds": 77})
    scheduler.store({**OLD, "id": "old-2", "name": "B", "parent_id": "old-1", "trigger_on": "success"})

    result = apply(scheduler, GOVERNED, adopt_by="name")

    assert [(action["action"], action["adopted_from_job_id"]) for action in result["actions"]] == [
        ("adopted", "old-1"),
        ("adopted", "old-2"),
    ]
    rows = {row["id"]: row for row in scheduler.rows()}
    assert [(rows[name]["origin"], rows[name]["handoff_version"]) for name in (A, B)] == [
        ("telegram:7", 4)
    ] * 2
    assert (rows[A]["payload_timeout_seconds"], rows[B]["parent_id"], len(rows)) == (77, A, 2)
    assert [action["action"] for action in apply(scheduler, GOVERNED, adopt_by="name")["actions"]] == [
        "updated",
        "updated",
    ]


@requirement("agentcli:apply:v4")
def test_jobs_of_an_older_scheduler_get_their_artifacts_when_it_is_renewed(scheduler):
    require_handoff(4)
    apply(scheduler, GOVERNED)
    scheduler.behave(capabilities_answer=capabilities("4"))

    result = apply(scheduler, GOVERNED)

    assert [action["action"] for action in result["actions"]] == ["updated", "updated"]
    assert [row["handoff_version"] for row in scheduler.rows()] == [4, 4]


@requirement("agentcli:apply:capabilities")
def test_the_newest_scheduler_enforces_everything_but_who_may_approve(tmp_path):
    scheduler = newest(tmp_path)
    scoped = manifest(shell_task(approval={"required": True, "approver_scope": "user:alex"}))

    found = check_capabilities(EVERYTHING, scheduler.client())
    problem = refused(scheduler, scoped)

    assert found["compatibility"] == {"ok": True, "errors": [], "warnings": []}
    assert found["effective"]["handoff_version"] == "4"
    assert [error["feature"] for error in problem.details["capability_errors"]] == [
        "approval_scope_enforcement"
    ]
    assert scheduler.writes() == []


def test_a_scheduler_that_is_killed_in_the_middle_is_told_and_the_rest_follows_later(tmp_path):
    scheduler = newest(tmp_path)
    apply(scheduler, manifest())
    scheduler.behave(jobs_add="die")

    problem = refused(scheduler, GOVERNED)
    scheduler.behave(jobs_add=None)
    result = apply(scheduler, GOVERNED)

    assert problem.flow_code == "scheduler_error"
    assert [action["job_id"] for action in problem.details["actions"]] == [A]
    assert [action["job_id"] for action in problem.details["not_applied"]] == [B]
    assert [action["action"] for action in result["actions"]] == ["updated", "created"]


@requirement("agentcli:inspect:result")
def test_what_a_scheduler_keeps_can_be_inspected_while_it_is_at_work(tmp_path):
    scheduler = newest(tmp_path)
    apply(scheduler, GOVERNED)
    database = str(scheduler.database)
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")

    counts = {name: inspect(database, Inspection(name))["count"] for name in ENTITIES}
    [job] = inspect(database, Inspection(where={"id": A}, fields=("name", "enabled")))["items"]
    artifacts = inspect(database, Inspection("artifacts", fields=("workflow_id", "payload.compiled.job_id")))
    writer.execute("ROLLBACK")
    writer.close()

    assert counts == {**dict.fromkeys(ENTITIES, 0), "jobs": 2, "artifacts": 2}
    assert job == {"name": "A", "enabled": 1}
    assert {item["payload"]["compiled"]["job_id"] for item in artifacts["items"]} == {A, B}
    assert {item["workflow_id"] for item in artifacts["items"]} == {"w"}


@pytest.mark.skipif(
    REAL is None, reason="OPENCLAW_SCHEDULER_BIN names no real scheduler; of the stand-in it says nothing"
)
def test_a_real_scheduler_takes_85_tasks(tmp_path):
    tasks = [
        shell_task("t0"),
        *[shell_task(f"t{n}", **triggered(f"t{n - 1}" if n % 8 else "t0")) for n in range(1, 85)],
    ]
    scheduler = newest(tmp_path)

    result = apply(scheduler, manifest(*reversed(tasks)))

    assert len([action for action in result["actions"] if action["action"] == "created"]) == 85
    assert len(scheduler.rows()) == 85
    again = apply(scheduler, manifest(*reversed(tasks)), skip_unchanged=True)
    assert {action["action"] for action in again["actions"]} == {"unchanged"}
