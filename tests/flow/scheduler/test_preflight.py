"""What a scheduler is asked before the first write, and that it gets parents before their children."""

import pytest

from operable.flow.canonical import stable_id
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.scheduler.openclaw import apply_to_scheduler, parents_first, prepare
from operable.flow.scheduler.reconciliation import ApplyOptions, JobStep
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered
from tests.flow.proofs.tokens import ISSUER, RSA, pem
from tests.flow.schedulers import capabilities, either, newest

A, B = stable_id("w", "a"), stable_id("w", "b")


def apply(scheduler, value, **options):
    around = Surroundings(str(scheduler.folder), scheduler.environment)
    return apply_to_scheduler(value, scheduler.client(), ApplyOptions(**options), around)


def refused(scheduler, value, **options):
    with pytest.raises(FlowError) as caught:
        apply(scheduler, value, **options)
    return caught.value


def step(name, parent=None, action="created"):
    row = {"parent_id": parent}
    return JobStep(
        action, name, name, "trigger", *((None, row) if action == "pruned" else (row,))
    )  # a pruned one has no job


@pytest.mark.parametrize(
    "given, order",
    [
        ("a b c", "a b c"),
        ("c>b b>a a", "a b c"),
        ("b>a c>a a d", "a b c d"),
        ("a>elsewhere b", "a b"),
        ("a>b b>a", "b a"),  # a circle, which others refuse
        ("-a -b>a -c>b d>e e", "e d -c -b -a"),
    ],
)
def test_parents_come_before_their_children_and_what_is_removed_comes_last_the_other_way(given, order):
    steps = []
    for word in given.split():
        name, _, parent = word.removeprefix("-").partition(">")
        steps.append(step(name, parent or None, "pruned" if word.startswith("-") else "created"))

    found = [("-" if each.action == "pruned" else "") + each.job_id for each in parents_first(steps)]

    assert found == order.split()


def test_a_child_may_be_declared_before_its_parent_and_is_reported_where_it_is(tmp_path):
    scheduler = newest(tmp_path)

    result = apply(scheduler, manifest(shell_task("b", **triggered("a")), shell_task("a")))

    assert [action["job_id"] for action in result["actions"]] == [B, A]
    assert [row["id"] for row in scheduler.rows()] == [A, B]


def profiles():
    proof = {"id": "p", "method": "jwt", "issuer": ISSUER, "public_key": pem(RSA)}
    return {
        "authorization_proof_profiles": [{**proof, "proof": {"value_from": {"command": "cat proof"}}}],
        "evidence_profiles": [
            {"id": "nothing", "provider": "none"},
            {"id": "strange", "provider": "ssh", "payload": {"bind": ["declared_identity"]}},
        ],
    }


REFUSED = [
    shell_task("cron", schedule={"cron": "99 * * * *"}),
    shell_task("zone", schedule={"cron": "0 9 * * *", "tz": "Mars/Olympus"}),
    shell_task("ahead", **triggered("a", condition="regex:(?=x)y")),
    prompt_task("key", session={"preferred_key": "a/b"}),
    shell_task("proof", authorization_proof={"ref": "p"}),
    shell_task("nothing", evidence={"ref": "nothing"}),
    shell_task("strange", evidence={"ref": "strange"}),
]


@pytest.mark.parametrize("dry_run", [True, False])
def test_everything_that_the_scheduler_refuses_is_told_at_once_and_nothing_is_written(tmp_path, dry_run):
    scheduler = newest(tmp_path)

    problem = refused(scheduler, manifest(shell_task(), *REFUSED, **profiles()), dry_run=dry_run)

    ids = [stable_id("w", task["id"]) for task in REFUSED]
    assert [entry["job_id"] for entry in problem.details["refused"]] == ids
    assert {entry["scheduler_code"] for entry in problem.details["refused"]} == {"COMMAND_FAILED"}
    assert problem.flow_code == "invalid_argument"  # the caller can mend it
    assert problem.message == (
        f'The scheduler refuses job "CRON": {problem.details["refused"][0]["message"]} (and 6 more)'
    )
    assert problem.details["actions"] == []
    assert [action["job_id"] for action in problem.details["not_applied"]] == [A, *ids]
    assert scheduler.writes() == []
    assert scheduler.rows() == []


def test_a_change_that_the_scheduler_refuses_leaves_the_stored_jobs_alone(tmp_path):
    scheduler = newest(tmp_path)
    apply(scheduler, manifest(shell_task(), shell_task("b")))
    before = scheduler.rows()

    changed = manifest(shell_task(name="New"), shell_task("b", schedule={"cron": "99 * * * *"}))
    problem = refused(scheduler, changed)

    assert [entry["job_id"] for entry in problem.details["refused"]] == [B]
    assert scheduler.rows() == before


def test_only_what_would_change_is_asked_about(tmp_path):
    scheduler = newest(tmp_path)
    apply(scheduler, manifest(shell_task(), shell_task("b")))
    asked = len(scheduler.calls())

    apply(scheduler, manifest(shell_task(), shell_task("b")), skip_unchanged=True)

    assert [words[:2] for words in scheduler.calls()[asked:]] == [["capabilities"], ["jobs", "list"]]


def test_a_plan_is_asked_about_and_its_application_is_not_again(tmp_path):
    scheduler = newest(tmp_path)
    around = Surroundings(str(tmp_path), scheduler.environment)

    planned = prepare(manifest(), scheduler.client(), ApplyOptions(), around).steps
    apply(scheduler, manifest(), expected=tuple(step.fingerprint for step in planned))

    assert len([words for words in scheduler.calls() if "--dry-run" in words]) == 1
    assert scheduler.writes() == ["add"]


def test_a_scheduler_that_cannot_judge_is_a_failure_and_no_refusal(tmp_path):
    scheduler = newest(tmp_path)
    scheduler.behave(jobs_add_dry_run="the disk is on fire")

    problem = refused(scheduler, manifest())

    assert problem.message == "the disk is on fire"
    assert "refused" not in problem.details
    assert scheduler.writes() == []


def test_an_older_scheduler_is_not_asked_and_says_what_was_done_before_it_refused(tmp_path):
    scheduler = either(tmp_path, capabilities("3"))

    problem = refused(scheduler, manifest(shell_task(), shell_task("b", schedule={"cron": "99 * * * *"})))

    assert not [words for words in scheduler.calls() if "--dry-run" in words]
    assert problem.details["scheduler_code"] == "COMMAND_FAILED"
    assert [action["job_id"] for action in problem.details["actions"]] == [A]
    assert [action["job_id"] for action in problem.details["not_applied"]] == [B]


def chain(length):
    return manifest(
        shell_task("t0"), *[shell_task(f"t{n}", **triggered(f"t{n - 1}")) for n in range(1, length + 1)]
    )


def test_a_chain_that_the_scheduler_does_not_follow_is_refused_before_anything_is_written(tmp_path):
    scheduler = either(tmp_path, capabilities("3"))

    problem = refused(scheduler, chain(11))
    assert problem.flow_code == "unsupported_capability"
    assert 'Job "T11" is more than 10 triggers away' in problem.message
    assert scheduler.writes() == []

    assert len(apply(scheduler, chain(10))["actions"]) == 11
