"""Applying to our own engine's store: all or nothing, whatever happens; and what a plan shows before."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from operable.flow.canonical import canonical_digest, stable_id
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.scheduler.backends import apply_to_store, plan_for_store
from operable.flow.scheduler.inspection import Inspection, inspect
from operable.flow.scheduler.job_rows import JobReader
from operable.flow.scheduler.job_store import open_jobs, store_path, stored_jobs, writing
from operable.flow.scheduler.reconciliation import ApplyOptions
from tests.flow.manifests import manifest, shell_task, triggered
from tests.flow.scheduler.test_openclaw import fresh, with_proof

LIMIT = 240  # seconds for processes on a very busy machine
A, B = stable_id("w", "a"), stable_id("w", "b")
TWO = manifest(shell_task(), shell_task("b", **triggered("a")))


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "home" / "state" / "jobs.db")


def apply(store, value, environment=None, **options):
    return apply_to_store(value, store, ApplyOptions(**options), Surroundings("/", environment or {}))


def plan(store, value, **options):
    steps = plan_for_store(value, store, ApplyOptions(**options), Surroundings("/"))
    return [(step.action, step.job_id) for step in steps]


def ids(store):
    return [job["id"] for job in stored_jobs(store)]


def python(program, *words, **options):
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, timeout=LIMIT, check=False, **options
    )


def test_jobs_are_created_left_alone_updated_and_pruned_on_demand(store):
    created = apply(store, TWO)
    again = apply(store, TWO)
    changed = apply(store, manifest(shell_task(name="Z")))
    pruned = apply(store, manifest(shell_task(name="Z")), prune=True)

    def actions(result):
        return [(action["action"], action["job_id"]) for action in result["actions"]]

    assert actions(created) == [("created", A), ("created", B)]
    assert actions(again) == [("unchanged", A), ("unchanged", B)]
    assert actions(changed) == [("updated", A)]
    assert actions(pruned) == [("unchanged", A), ("pruned", B)]
    assert ids(store) == [A]
    [job] = stored_jobs(store)
    assert (job["name"], job["revision"]) == ("Z", 2)


def test_the_number_of_the_last_apply_grows_with_each_change(store):
    numbers = [open_jobs(store).read(JobReader.latest_apply) or 0]
    for value in (TWO, TWO, manifest(shell_task(name="Z"))):
        apply(store, value)
        numbers.append(open_jobs(store).read(JobReader.latest_apply) or 0)

    assert numbers == [0, 1, 1, 2]


def test_the_result_has_the_shape_of_every_backend(store):
    result = apply(store, TWO, explain=True)

    assert list(result) == [
        "ok", "target", "dry_run", "scheduler", "capabilities", "handoff", "job_count", "actions", "explain",
    ]  # fmt: skip
    assert result["target"] == "operable"
    assert result["scheduler"] == {"command": "operable", "db_path": store}
    assert result["actions"][1] == {
        "action": "created",
        "job_id": B,
        "name": "B",
        "invocation_mode": "trigger",
    }


def test_a_dry_run_and_a_plan_do_not_even_make_the_store(store):
    assert plan(store, TWO) == [("created", A), ("created", B)]
    assert apply(store, TWO, dry_run=True)["dry_run"] is True
    assert not os.path.exists(os.path.dirname(store))


def test_a_plan_says_field_by_field_what_would_change_and_shows_no_secret(store):
    def value(secret, program="x"):
        return manifest(shell_task(shell={"program": program, "env": {"TOKEN": secret}}))

    apply(store, value("canary-one"))
    [step] = plan_for_store(value("canary-two", "y"), store, ApplyOptions(), Surroundings("/"))

    changes = {change["field"]: (change["before"], change["after"]) for change in step.view()["changes"]}
    assert set(changes) == {"execution.payload.env_hash", "execution.payload.program", "manifest_digest"}
    assert changes["execution.payload.program"] == ("x", "y")
    assert "canary" not in json.dumps(step.view())


def test_only_jobs_of_the_manifests_workflows_are_pruned(store):
    apply(store, manifest(shell_task(), workflow={"id": "other"}))
    apply(store, TWO)

    apply(store, manifest(), prune=True)

    assert ids(store) == [stable_id("other", "a"), A]


def test_a_job_of_the_same_name_is_adopted_and_not_pruned_besides(store):
    apply(store, manifest(shell_task("old", name="A")))

    result = apply(store, manifest(), adopt_by="name", prune=True)

    assert result["actions"] == [
        {
            "action": "adopted",
            "job_id": A,
            "adopted_from_job_id": stable_id("w", "old"),
            "name": "A",
            "invocation_mode": "schedule",
        }
    ]
    assert ids(store) == [A]


def test_a_job_that_gives_its_name_to_a_new_one_is_kept_beside_it(store):
    apply(store, manifest())
    swapped = manifest(shell_task(name="Z"), shell_task("b", name="A"))

    planned = plan(store, swapped, adopt_by="name")
    apply(store, swapped, adopt_by="name")

    assert planned == [("updated", A), ("created", B)]
    assert [(job["id"], job["name"]) for job in stored_jobs(store)] == [(A, "Z"), (B, "A")]


def test_proofs_are_verified_before_the_store_is_touched(store):
    value = with_proof({"env": "PROOF"})

    with pytest.raises(FlowError) as refused:
        apply(store, value)
    assert refused.value.flow_code == "authorization_proof_failed"
    assert not os.path.exists(store)
    result = apply(store, value, {"PROOF": fresh(value)})
    assert result["actions"][0]["authorization_proof_verification"]["verified"] is True
    assert result["authorization_proof_verifications"][0]["authorization_proof_ref"] == "p"


def test_a_plan_that_is_no_longer_true_changes_nothing(store):
    steps = plan_for_store(TWO, store, ApplyOptions(), Surroundings("/"))
    expected = tuple(step.fingerprint for step in steps)
    apply(store, manifest(shell_task(name="faster")))

    with pytest.raises(FlowError) as refused:
        apply(store, TWO, expected=expected)

    assert refused.value.flow_code == "plan_changed"
    assert [job["name"] for job in stored_jobs(store)] == ["faster"]


def governed(endpoint):
    return manifest(
        shell_task(authorization={"ref": "z"}),
        authorization_profiles=[{"id": "z", "provider": "opa", "provider_config": {"endpoint": endpoint}}],
    )


def test_a_plan_is_of_the_manifest_that_was_looked_at_also_where_jobs_do_not_show_it(store):
    steps = plan_for_store(governed("https://good.example/"), store, ApplyOptions(), Surroundings("/"))
    expected = tuple(step.fingerprint for step in steps)

    with pytest.raises(FlowError) as refused:
        apply(store, governed("https://evil.example/"), expected=expected)

    assert refused.value.flow_code == "plan_changed"
    assert ids(store) == []
    assert apply(store, governed("https://good.example/"), expected=expected)["job_count"] == 1


def test_the_manifest_is_kept_as_long_as_a_job_needs_it_and_each_apply_is_recorded(store):
    apply(store, TWO)
    apply(store, manifest(shell_task(name="Z")), prune=True)

    with writing(store) as transaction:
        digests = [row[0] for row in transaction.connection.execute("SELECT digest FROM manifests")]
    assert digests == [canonical_digest(manifest(shell_task(name="Z")))]
    shown = inspect(store, Inspection("applies", target="operable"))
    assert [[action["action"] for action in item["actions"]] for item in shown["items"]] == [
        ["updated", "pruned"],
        ["created", "created"],
    ]


def test_folders_and_files_are_private_and_links_are_refused(store, tmp_path):
    apply(store, TWO)

    assert stat.S_IMODE(os.stat(store).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(store)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(os.path.dirname(os.path.dirname(store))).st_mode) == 0o700
    assert os.listdir(os.path.dirname(store)) == ["jobs.db"]
    link = tmp_path / "link.db"
    link.symlink_to(store)
    for call in (lambda: apply(str(link), TWO), lambda: stored_jobs(str(link))):
        with pytest.raises(FlowError, match="Refusing to use a non-regular file"):
            call()


def test_a_store_of_another_version_or_of_something_else_is_left_alone(store, tmp_path):
    apply(store, TWO)
    with writing(store) as transaction:
        transaction.connection.execute("PRAGMA user_version = 2")
    with pytest.raises(FlowError, match="is of version 2; this program knows version 1"):
        apply(store, manifest())

    other = tmp_path / "notes.txt"
    other.write_text("dear diary, " * 1000)
    for call in (lambda: apply(str(other), TWO), lambda: stored_jobs(str(other))):
        with pytest.raises(FlowError) as refused:
            call()
        assert refused.value.flow_code == "scheduler_error"
    assert other.read_text() == "dear diary, " * 1000


@pytest.mark.parametrize("text", ["{", "5", "{}", '{"name": 5}', '{"id": "x", "name": "y"}', "[" * 100_000])
def test_a_damaged_job_is_named_and_left_and_can_be_looked_at(store, text):
    apply(store, TWO)
    with writing(store) as transaction:
        transaction.connection.execute("UPDATE jobs SET document = ? WHERE id = ?", (text, B))
    for call in (lambda: apply(store, manifest()), lambda: plan(store, TWO)):
        with pytest.raises(FlowError, match=f"{B} in the job store is damaged") as refused:
            call()
        assert refused.value.flow_code == "scheduler_error"

    assert B in json.dumps(inspect(store, Inspection(target="operable")))


def test_the_home_says_where_the_store_is_unless_the_caller_does(tmp_path):
    home = str(tmp_path)

    assert store_path(home, cwd="/") == f"{home}/state/jobs.db"
    assert store_path(home, "my.db", cwd="/x") == "/x/my.db"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FlowError, match="Refusing to use symbolic-link directory"):
        store_path(home, cwd="/")


APPLY = """
import json, sys
from operable.flow.scheduler.reconciliation import ApplyOptions
from operable.flow.scheduler.backends import apply_to_store
from operable.flow.errors import FlowError
from operable.flow.contracts import Surroundings
sys.stdin.readline()
try:
    apply_to_store(json.loads(sys.argv[2]), sys.argv[1], ApplyOptions(), Surroundings("/"))
except FlowError as problem:
    sys.exit(f"{problem.flow_code}: {problem.message}")
"""


def test_any_number_of_applies_at_once_leave_one_of_them_whole(store):
    values = [manifest(*[shell_task(f"t{n}", name=f"{mark}-{n}") for n in range(20)]) for mark in "abcdef"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", APPLY, store, json.dumps(value)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for value in values
    ]  # fmt: skip
    try:
        for process in running:
            assert process.stdin is not None
            process.stdin.write(b"now\n")
            process.stdin.flush()
        for process in running:
            _, errors = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, errors
    finally:
        for process in running:
            process.kill()
            process.communicate(timeout=LIMIT)

    names = [job["name"] for job in stored_jobs(store)]
    assert len(names) == 20
    assert len({name.split("-")[0] for name in names}) == 1
    assert inspect(store, Inspection("applies", target="operable"))["count"] == len(values)


HALF = """
import json, sys, time
from operable.flow.scheduler.job_store import writing
from operable.flow.compile.target import compile_manifest
value = json.loads(sys.argv[2])
compiled = compile_manifest(value, "operable")
with writing(sys.argv[1]) as transaction:
    transaction.keep_manifest(compiled["manifest_digest"], value)
    for row in transaction.jobs():
        transaction.remove(row["id"])
    transaction.write(compiled["jobs"][0], compiled["manifest_digest"], None)
    print("half", flush=True)
    time.sleep(3600)
"""


def test_kill_9_in_the_middle_leaves_what_was_there_before(store):
    apply(store, TWO)
    value = manifest(*[shell_task(f"n{n}", shell={"program": "x" * 2000}) for n in range(40)])
    process = subprocess.Popen([sys.executable, "-c", HALF, store, json.dumps(value)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LIMIT)

    assert ids(store) == [A, B]
    assert inspect(store, Inspection(target="operable"))["count"] == 2
    assert apply(store, manifest(), prune=True)["actions"][1]["action"] == "pruned"


FULL = (
    "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (int(__import__('sys').argv[3]),) * 2)\n"
    + APPLY
)


@pytest.mark.parametrize("room", [100, 70_000])
def test_a_full_disk_leaves_what_was_there_before(store, room):
    before = manifest(shell_task("old"))
    apply(store, before)
    value = manifest(*[shell_task(f"n{n}", shell={"program": "x" * 2000}) for n in range(40)])

    done = python(FULL, store, json.dumps(value), str(room), input=b"now\n")

    assert done.returncode == 1
    assert done.stderr.startswith(b"scheduler_error: The job store "), done.stderr
    assert ids(store) == [stable_id("w", "old")]
    assert plan(store, before) == [("unchanged", stable_id("w", "old"))]


def test_a_disk_that_is_full_from_the_beginning_gets_no_half_made_store(store):
    done = python(FULL, store, json.dumps(TWO), "100", input=b"now\n")

    assert done.returncode == 1
    assert done.stderr.startswith(b"scheduler_error: "), done.stderr
    assert os.listdir(os.path.dirname(store)) == []


def test_names_that_no_utf_8_can_hold_are_refused(store):
    with pytest.raises(FlowError) as refused:
        apply(store, manifest(shell_task(name="a\ud800b")))
    (error,) = refused.value.details["validation"]["errors"]
    assert error["path"] == "$.workflows[0].tasks[0].name"
    assert not os.path.exists(store)
