"""`operable flow plan|apply|prune|inspect|capabilities`: jobs of a manifest in our own engine and in a scheduler."""

import json
import threading

import pytest

from operable.flow.canonical import stable_id
from tests.cli.drive import operable
from tests.flow.manifests import manifest, shell_task, triggered
from tests.flow.schedulers import StandIn, capabilities
from tests.requirement import requirement

A, B = stable_id("w", "a"), stable_id("w", "b")
TWO = manifest(shell_task(), shell_task("b", **triggered("a")))


class Flow:
    """`operable flow …` with a home and a scheduler of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.scheduler = StandIn(folder, capabilities("4"))
        self.env = {"AGENTCLI_HOME": str(folder / "home")}
        self.remote = (
            "--target", "openclaw-scheduler", "--scheduler-bin", self.scheduler.script(), "--db", str(self.scheduler.database),
        )  # fmt: skip

    def __call__(self, verb, value=None, *words, output: str | None = "jsonl"):
        given = b"" if value is None else json.dumps(value).encode()
        return operable("flow", verb, *words, input=given, env=self.env, cwd=self.folder, output=output)


@pytest.fixture
def flow(tmp_path):
    return Flow(tmp_path)


def done(outcome, kind="applied_job"):
    assert outcome.exit_code == 0, outcome
    return [(event["action"], event["job_id"]) for event in outcome.of(kind)]


def test_a_manifest_is_planned_applied_once_and_then_left_alone(flow):
    assert done(flow("plan", TWO), "planned_job") == [("created", A), ("created", B)]
    assert done(flow("apply", TWO)) == [("created", A), ("created", B)]
    assert done(flow("apply", TWO)) == []
    assert done(flow("plan", TWO), "planned_job") == [("unchanged", A), ("unchanged", B)]


def test_jobs_that_the_manifest_no_longer_has_are_named_until_they_are_pruned(flow):
    flow("apply", TWO)
    one = manifest(shell_task())
    for verb in ("plan", "apply", "apply"):
        (left,) = [each for each in flow(verb, one).of("aoi:warning") if each["code"] == "JOBS_LEFT"]
        assert left["jobs"] == [B]
        assert left["hint"] == "operable flow prune - --dry-run"
    flow("prune", one, "--confirm")
    assert "JOBS_LEFT" not in str(flow("apply", one).of("aoi:warning"))


def test_what_only_the_engine_refuses_is_not_sent_to_the_validator(flow):
    """It takes such a manifest."""
    wrong = manifest(shell_task(schedule={"cron": "61 * * * *"}))
    assert flow("validate", wrong).exit_code == 0
    error = flow("apply", wrong).error
    assert (error["code"], error["hint"]) == (
        "MANIFEST_INVALID",
        "change these members: the manifest is valid, and the target operable cannot do what they say",
    )
    assert "flow validate" in flow("apply", {"version": "0.2"}).error["hint"]


def test_a_dry_run_writes_nothing_and_its_digest_applies_exactly_that(flow):
    preview = flow("apply", TWO, "--dry-run")
    digest = preview.summary["plan_digest"]

    assert [plan["action"] for plan in preview.of("aoi:plan")] == ["create", "create"]
    assert not (flow.folder / "home").exists()
    flow("apply", manifest(shell_task(name="faster")))
    refused = flow("apply", TWO, "--confirm", digest)
    assert refused.of("aoi:error")[0]["code"] == "PLAN_CHANGED"
    assert done(flow("plan", TWO), "planned_job") == [("updated", A), ("created", B)]


def test_applies_at_the_same_time_come_one_after_the_other(flow):
    """What nobody looked at before is done as it is by then; all of them succeed, and the last one is what is there."""
    manifests = [
        manifest(*(shell_task(f"t{number}", name=f"{turn}-{number}") for number in range(40)))
        for turn in range(4)
    ]
    outcomes = []
    threads = [
        threading.Thread(target=lambda value=value: outcomes.append(flow("apply", value)))
        for value in manifests
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.exit_code for outcome in outcomes] == [0] * 4, outcomes
    names = {
        item["item"]["name"].partition("-")[0]
        for item in flow("inspect", None, "jobs", "--limit", "100").of("backend_item")
    }
    assert len(names) == 1


def test_people_see_a_diff(flow):
    flow("apply", TWO)

    shown = flow("plan", manifest(shell_task(name="Z")), "--prune", output=None)

    assert shown.exit_code == 0
    lines = shown.stdout.decode().splitlines()
    assert lines[0] == f"~ updated    Z  {A}"
    assert '    name: "A" -> "Z"' in lines
    assert lines[-1] == f"- pruned     B  {B}"


def test_pruning_needs_a_confirmation_and_removes_only_what_is_gone(flow):
    flow("apply", manifest(shell_task(), shell_task("b"), shell_task("c")))
    flow("apply", manifest(workflow={"id": "other"}))

    unconfirmed = flow("prune", manifest())
    pruned = flow("prune", manifest(), "--confirm-count", "2")

    assert unconfirmed.of("aoi:error")[0]["code"] == "CONFIRMATION_REQUIRED"
    assert done(pruned) == [("pruned", stable_id("w", "c")), ("pruned", B)]
    left = flow("inspect", None, "--fields", "id")
    assert {event["item"]["id"] for event in left.of("backend_item")} == {A, stable_id("other", "a")}


def test_a_repeated_idempotency_key_applies_once(flow):
    first = flow("apply", TWO, "--idempotency-key", str(flow.folder))
    again = flow("apply", TWO, "--idempotency-key", str(flow.folder))

    assert done(first) == done(again) == [("created", A), ("created", B)]
    assert len(flow("inspect", None, "applies").of("backend_item")) == 1


def test_records_are_filtered_masked_and_paged(flow):
    flow("apply", manifest(*[shell_task(f"t{n}", enabled=n % 2 == 0) for n in range(5)]))

    page = flow("inspect", None, "jobs", "--fields", "task_id", "--where", "enabled=1", "--limit", "2")
    rest = flow("inspect", None, "jobs", "--fields", "task_id", "--where", "enabled=1", "--limit", "2",
                "--cursor", page.summary["next_cursor"])  # fmt: skip

    assert [event["item"]["task_id"] for event in page.of("backend_item")] == ["t4", "t2"]
    assert [event["item"]["task_id"] for event in rest.of("backend_item")] == ["t0"]
    for words, code in (
        (("nope",), "FLOW_ARGUMENT_INVALID"),
        (("jobs", "--where", "enabled"), "CONDITION_INVALID"),
        (("jobs", "--where", "nope=1"), "FLOW_ARGUMENT_INVALID"),
        (("jobs", "--db", "missing.db"), "FLOW_ARGUMENT_INVALID"),
    ):
        assert flow("inspect", None, *words).of("aoi:error")[0]["code"] == code, words


def test_before_anything_was_applied_there_is_nothing_to_see(flow):
    assert flow("inspect").of("backend_item") == []
    assert flow("inspect", None, "runs").of("aoi:error")[0]["code"] == "FLOW_ARGUMENT_INVALID"


@requirement("agentcli:apply:actions")
def test_a_scheduler_gets_creates_updates_and_prunes(flow):
    assert done(flow("apply", TWO, *flow.remote)) == [("created", A), ("created", B)]
    assert done(flow("apply", TWO, *flow.remote)) == []  # an update that changes nothing is not sent
    assert done(flow("plan", manifest(), "--prune", *flow.remote), "planned_job") == [
        ("updated", A),
        ("pruned", B),
    ]
    assert done(flow("prune", manifest(), "--confirm", *flow.remote)) == [("pruned", B)]
    shown = flow("inspect", None, "--fields", "id", *flow.remote[:2], *flow.remote[4:])
    assert [event["item"] for event in shown.of("backend_item")] == [{"id": A}]


@pytest.mark.parametrize("how", ["--dry-run", "--confirm"])
def test_jobs_that_a_scheduler_refuses_are_all_named_and_nothing_is_written(flow, how):
    bad = {"schedule": {"cron": "99 * * * *"}}

    value = manifest(shell_task(), shell_task("b", **bad), shell_task("c", **bad))
    [error] = flow("apply", value, *flow.remote, how).of("aoi:error")

    assert (error["category"], error["code"]) == ("validation", "JOBS_REFUSED")
    assert [(job["job_id"], job["name"]) for job in error["refused"]] == [
        (B, "B"),
        (stable_id("w", "c"), "C"),
    ]
    assert flow.scheduler.writes() == []


def test_a_scheduler_that_fails_in_the_middle_says_what_was_done(flow):
    flow("apply", manifest(shell_task("b")), *flow.remote)
    flow.scheduler.behave(jobs_update={B: "disk full"})

    [error] = flow("apply", manifest(shell_task(), shell_task("b", name="Z")), *flow.remote).of("aoi:error")

    assert (error["category"], error["code"], error["message"]) == ("io", "BACKEND_FAILED", "disk full")
    assert [action["job_id"] for action in error["actions"]] == [A]
    assert [action["job_id"] for action in error["not_applied"]] == [B]


def test_what_a_scheduler_does_not_enforce_is_said_before_and_refused_then(flow):
    flow.scheduler.behave(capabilities_answer=capabilities("3", features={"structured_output_format": False}))
    value = manifest(shell_task(output={"format": "json"}))

    asked = flow("capabilities", value, *flow.remote[2:])
    refused = flow("apply", value, *flow.remote)

    [found] = asked.of("backend_capabilities")
    assert asked.exit_code == 65
    assert (found["compatible"], found["source"], found["handoff_version"]) == (False, "runtime", "3")
    assert found["errors"][0]["feature"] == "structured_output_format"
    assert refused.of("aoi:error")[0]["code"] == "CAPABILITY_MISSING"
    assert flow.scheduler.writes() == []


def test_a_missing_scheduler_and_a_missing_proof_are_structured_errors(flow):
    nobody = flow("apply", TWO, "--target", "openclaw-scheduler", "--scheduler-bin", "/nowhere/s")
    profile = {
        "id": "p",
        "method": "jwt",
        "issuer": "i",
        "jwks_uri": "https://127.0.0.1:1/k",
        "proof": {"value_from": {"env": "NO"}},
    }
    unproven = manifest(shell_task(authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])

    assert nobody.of("aoi:error")[0]["code"] == "BACKEND_FAILED"
    error = flow("apply", unproven).of("aoi:error")[0]
    assert (error["category"], error["code"]) == ("authz", "PROOF_FAILED")
    assert not (flow.folder / "home").exists()
