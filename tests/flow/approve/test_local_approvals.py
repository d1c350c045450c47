"""Approvals on this machine: for exactly one thing, once."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operable.flow.approve import audit_trail as approval_trail
from operable.flow.approve import local_approvals
from operable.flow.approve import store as approval_store
from operable.flow.approve.records import matches_scope
from operable.flow.audit import log as audit_log
from operable.flow.canonical import canonical_digest, canonical_text
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.run.caller import bind, content_of
from operable.flow.trust.identity.sessions import timestamp
from operable.gate.signatures.ssh_signatures import public_line
from tests.flow.callers import ME, PATH, caller, script, signing_caller, until
from tests.flow.manifests import manifest
from tests.flow.ssh_keys import written
from tests.requirement import requirement

NOW = 1_800_000_000.0


def task(**members):
    return manifest(script("true", approval={"policy": "manual", **members}))


class Scene:
    """A task that waits for approval, and somebody who may give it."""

    def __init__(self, by, value):
        self.by = by
        self.selected = select(value, "a")
        self.bound = bind(self.selected, by)
        self.store = by.approvals

    def grant(self, approver=ME, **options):
        return local_approvals.grant(
            self.store,
            self.selected,
            self.bound.binding,
            content=content_of(self.selected, self.bound, self.by),
            approver=approver,
            believing=self.by.believing(),
            **{"now": NOW, **options},
        )

    def consume(self, execution_id="e1", **options):
        return local_approvals.consume(
            self.store,
            self.selected,
            self.bound.binding,
            execution_id=execution_id,
            content=content_of(self.selected, self.bound, self.by),
            believing=self.by.believing(),
            **{"before": self.record(execution_id), "now": NOW + 1, **options},
        )

    def record(self, execution_id):
        """What an execution does before it uses an approval."""
        return lambda used: approval_trail.record_use(
            self.store.audit, self.selected.source, used, execution_id, timestamp(NOW)
        )

    def statuses(self, now=NOW + 1):
        return [each["status"] for each in local_approvals.listed(self.store, now=now)]

    def rewrite(self, change):
        """Edit the store behind everybody's back."""
        with open(self.store.path, encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        for event in events:
            change(event)
        with open(self.store.path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in events)


@pytest.fixture
def scene(tmp_path):
    return Scene(signing_caller(tmp_path), task())


def refused(work, *arguments, **options):
    with pytest.raises(FlowError) as caught:
        work(*arguments, **options)
    return caught.value


@requirement("agentcli:approvals:grant")
def test_a_grant_is_signed_listed_used_once_and_then_consumed(scene):
    made = scene.grant(reason="release")
    used = scene.consume()

    assert made["signature"]["method"] == "ssh-signature"
    assert used["approval_id"] == made["approval_id"]
    assert used["signature_verified"] is True
    assert refused(scene.consume).flow_code == "approval_required"
    (found,) = local_approvals.listed(scene.store, now=NOW)
    assert (found["status"], found["consumed_by_execution_id"], found["reason"]) == (
        "consumed",
        "e1",
        "release",
    )


@requirement("agentcli:approvals:list")
def test_lists_are_sorted_by_time_and_filtered(scene):
    later = scene.grant(now=NOW + 5)
    earlier = scene.grant(now=NOW)
    local_approvals.revoke(scene.store, earlier["approval_id"], now=NOW + 6)
    found = local_approvals.listed(scene.store, now=NOW + 7)

    assert [each["approval_id"] for each in found] == [earlier["approval_id"], later["approval_id"]]
    pick = functools.partial(local_approvals.listed, scene.store, now=NOW + 7)
    assert len(pick(status="pending")) == 1
    assert len(pick(status="all", workflow_id="w", task_id="a")) == 2
    assert pick(status="nonsense") == []
    assert pick(task_id="b") == []
    assert pick(workflow_id="v") == []


@requirement("agentcli:approvals:expiry")
def test_an_approval_ends_with_its_time_and_a_longer_one_than_the_task_allows_is_refused(tmp_path):
    scene = Scene(signing_caller(tmp_path), task(timeout_s=100))
    scene.grant(ttl=50)

    assert scene.statuses(NOW + 49) == ["pending"]
    assert scene.statuses(NOW + 50) == ["expired"]
    assert refused(scene.consume, now=NOW + 51).flow_code == "approval_required"
    assert "exceeds task approval.timeout_s 100s" in refused(scene.grant, ttl=101).message
    assert refused(scene.grant, ttl=0).flow_code == "invalid_argument"


@pytest.mark.parametrize("timeout_s", [2**40, 2**53, 1e300])
def test_an_approval_for_longer_than_dates_go_is_refused_and_a_shorter_one_is_not(tmp_path, timeout_s):
    scene = Scene(signing_caller(tmp_path), task(timeout_s=timeout_s))

    assert "at most" in refused(scene.grant).message
    assert refused(scene.grant, ttl=2**40).flow_code == "invalid_argument"
    assert scene.grant(ttl=50)["expires_at"] > scene.grant(ttl=40)["expires_at"]


@requirement("agentcli:approvals:expiry")
@pytest.mark.parametrize(
    "timeout_s, ttl, seconds",
    [(None, None, 3600), (None, 7200, 7200), (100, None, 100), (100, 1, 1), (100, 100, 100)],
)
def test_an_approval_holds_as_long_as_it_was_given_for_else_as_the_task_says_else_an_hour(
    tmp_path, timeout_s, ttl, seconds
):
    members = {} if timeout_s is None else {"timeout_s": timeout_s}
    made = Scene(signing_caller(tmp_path), task(**members)).grant(ttl=ttl)

    assert made["granted_at"] == "2027-01-15T08:00:00.000Z"
    assert made["expires_at"] == timestamp(NOW + seconds)


SIGNED = "approval_id workflow_id task_id task_hash risk_level approver_scope approver reason granted_at expires_at".split()


@requirement("agentcli:approvals:grant")
def test_events_have_the_documented_members_and_the_signature_is_of_the_documented_text(scene):
    made = scene.grant(reason="release")
    scene.consume()
    other = scene.grant(signer="none")
    local_approvals.revoke(scene.store, other["approval_id"], by="you", reason="no", now=NOW)
    first, used, unsigned, taken = scene.store.events()

    assert [name for name in first if name not in ("bound", "content")] == [
        "v",
        "kind",
        *SIGNED,
        "signature",
        "unsigned_explicit",
    ]
    assert (first["v"], first["kind"], first["unsigned_explicit"]) == (2, "grant", False)
    assert re.fullmatch("[0-9a-f]{32}", first["approval_id"])
    assert (first["workflow_id"], first["task_id"], first["approver"]) == ("w", "a", ME)
    assert first["task_hash"] == scene.bound.task_hash
    assert list(first["signature"]) == [
        "method",
        "key_fingerprint",
        "namespace",
        "signed_payload",
        "signature",
    ]
    assert first["signature"]["namespace"] == "agentcli"
    assert first["signature"]["signed_payload"] == canonical_text(
        {
            "v": 2,
            "kind": "approval",
            **{name: first[name] for name in SIGNED},
            "content_hash": canonical_digest(first["content"]),
        }
    )
    assert list(first["content"]) == [shutil.which(name, path=PATH) for name in ("sh", "true")]
    assert used == {
        "v": 2, "kind": "consume", "approval_id": made["approval_id"], "execution_id": "e1", "consumed_at": timestamp(NOW + 1),
        "recorded": True,
    }  # fmt: skip
    assert (unsigned["signature"], unsigned["unsigned_explicit"]) == (None, True)
    assert taken == {
        "v": 2, "kind": "revoke", "approval_id": other["approval_id"], "revoked_by": "you", "reason": "no",
        "revoked_at": timestamp(NOW),
    }  # fmt: skip


@requirement("agentcli:approvals:list")
@pytest.mark.parametrize(
    "events, later, status",
    [
        ((), 0, "pending"),
        ((), 3600, "expired"),
        (("consume",), 0, "consumed"),
        (("consume",), 3600, "consumed"),
        (("revoke",), 3600, "revoked"),
        (("consume", "revoke"), 0, "revoked"),
        (("revoke", "consume"), 3600, "revoked"),
    ],
)
def test_revoked_counts_before_consumed_and_that_before_expired(scene, events, later, status):
    made = scene.grant()
    with scene.store.locked():
        for kind in events:  # as another program might have written them
            scene.store.append(
                {"v": 2, "kind": kind, "approval_id": made["approval_id"], "execution_id": "e"}
            )

    assert scene.statuses(NOW + later) == [status]


@requirement("agentcli:approvals:gate")
def test_the_oldest_approval_is_used_first_wherever_it_stands_in_the_file(scene):
    newer = scene.grant(now=NOW + 0.5)
    older = scene.grant(now=NOW)

    assert [scene.consume()["approval_id"] for _ in range(2)] == [older["approval_id"], newer["approval_id"]]


@requirement("agentcli:approvals:revoke")
def test_a_revoked_approval_is_not_used_and_what_cannot_be_revoked_is_said(scene):
    made = scene.grant()
    local_approvals.revoke(scene.store, made["approval_id"], by="you", reason="no", now=NOW)
    local_approvals.revoke(scene.store, made["approval_id"], now=NOW)  # twice is once

    assert refused(scene.consume).flow_code == "approval_required"
    assert scene.statuses() == ["revoked"]
    assert "not found" in refused(local_approvals.revoke, scene.store, "nobody").message
    used = scene.grant()
    scene.consume()
    assert "already used" in refused(local_approvals.revoke, scene.store, used["approval_id"]).message


@requirement("agentcli:approvals:scope")
@pytest.mark.parametrize(
    "approver, scope, fits",
    [
        ("anyone", None, True),
        (ME, ME, True),
        ("you", ME, False),
        (ME, f"principal:{ME}", True),
        (ME, f"user:{ME}", True),
        (ME, "user:", False),
        (ME, "domain:EXAMPLE.com", True),
        ("me@evil@example.com", "domain:example.com", True),
        ("me@example.com.evil", "domain:example.com", False),
        ("@example.com", "domain:example.com", False),
        ("team:ops", "team:ops", True),
        ("ops", "team:ops", False),
    ],
)
def test_who_may_approve(approver, scope, fits):
    assert matches_scope(approver, scope) is fits


@requirement("agentcli:approvals:scope")
def test_an_approver_out_of_scope_cannot_grant_and_a_scope_that_changed_voids(tmp_path):
    scene = Scene(signing_caller(tmp_path), task(approver_scope="domain:example.com"))

    assert refused(scene.grant, approver="me@elsewhere").flow_code == "approval_scope_mismatch"
    scene.grant()
    scene.rewrite(lambda event: event.update(approver_scope=None))
    assert refused(scene.consume).flow_code == "approval_signature_invalid"


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize(
    "change",
    [
        {"approver": "boss@example.com"},
        {"reason": "because"},
        {"expires_at": "2100-01-01T00:00:00.000Z"},
        {"granted_at": "2000-01-01T00:00:00.000Z"},
        {"risk_level": "low"},
        {"signature": None},
        {"signature": None, "unsigned_explicit": 1},
        {"signature": "x"},
        {"signature": {"signed_payload": "{}"}},
    ],
)
def test_an_edited_record_is_refused_and_not_used_up(scene, change):
    scene.grant()
    scene.rewrite(lambda event: event.update(change))

    assert refused(scene.consume).flow_code == "approval_signature_invalid"
    assert scene.statuses() == ["pending"]


@requirement("agentcli:approvals:tampering")
def test_a_good_approval_is_used_although_a_forged_one_is_older(scene):
    scene.grant(reason="forged", now=NOW - 5)
    good = scene.grant(reason="good")
    scene.rewrite(lambda event: event.update(reason="edited") if event["reason"] == "forged" else None)

    assert scene.consume()["approval_id"] == good["approval_id"]


@requirement("agentcli:approvals:tampering")
def test_a_second_record_with_the_same_id_changes_nothing(scene):
    made = scene.grant(ttl=10)
    with open(scene.store.path, encoding="utf-8") as file:
        event = json.loads(file.read())
    with scene.store.locked():
        scene.store.append({**event, "expires_at": "2100-01-01T00:00:00.000Z"})

    assert scene.statuses(NOW + 11) == ["expired"]
    assert made["expires_at"] == local_approvals.listed(scene.store, now=NOW)[0]["expires_at"]


@requirement("agentcli:approvals:tampering")
def test_the_signature_of_somebody_who_is_not_believed_does_not_count(tmp_path, scene):
    scene.grant()
    _, stranger = written(tmp_path, name="stranger")
    with open(scene.by.place("allowed_signers"), "w", encoding="utf-8") as file:
        file.write(f"{ME} {public_line(stranger.public_key())}\n")

    assert refused(scene.consume).flow_code == "approval_signature_invalid"


@requirement("agentcli:approvals:unsigned")
def test_an_unsigned_approval_needs_that_word(tmp_path):
    scene = Scene(caller(tmp_path), task())

    assert refused(scene.grant).flow_code == "approval_signature_invalid"
    assert scene.grant(signer="none")["unsigned_explicit"] is True
    assert scene.consume()["signature_verified"] is False
    assert "Unknown signing provider" in refused(scene.grant, signer="pgp").message


@requirement("agentcli:approvals:policies")
@pytest.mark.parametrize(
    "approval, code, words",
    [
        (None, "invalid_argument", 'task "a" has no approval policy; nothing to approve'),
        ({"policy": "auto-approve"}, "invalid_argument", "approval grant not meaningful"),
        ({"risk_level": "low"}, "invalid_argument", "approval grant not meaningful"),
        ({"required": False}, "invalid_argument", "approval grant not meaningful"),
        ({"policy": "auto-reject"}, "policy_forbids_approval", "cannot override"),
        ({"policy": "auto-reject", "required": True}, "policy_forbids_approval", "cannot override"),
    ],
)
def test_only_what_waits_for_approval_can_be_approved(tmp_path, approval, code, words):
    scene = Scene(signing_caller(tmp_path), manifest(script("true", approval=approval)))
    problem = refused(scene.grant)

    assert problem.flow_code == code
    assert words in problem.message


@requirement("agentcli:approvals:binding")
def test_another_folder_variable_or_manifest_is_another_task_and_the_refusal_says_what_changed(tmp_path):
    by = signing_caller(tmp_path)
    scene = Scene(by, task())
    scene.grant()
    scene.bound = bind(scene.selected, caller(tmp_path, TERM="xterm"))
    problem = refused(scene.consume)

    assert problem.flow_code == "approval_required"
    assert problem.details["changed"] == ["command.env.TERM"]


def test_a_chosen_approval_is_used_and_one_that_does_not_fit_is_explained(scene):
    scene.grant()
    second = scene.grant(now=NOW + 0.5)

    assert scene.consume(approval_id=second["approval_id"])["approval_id"] == second["approval_id"]
    assert "consumed" in refused(scene.consume, approval_id=second["approval_id"]).message
    assert "unknown" in refused(scene.consume, approval_id="nobody").message


@requirement("agentcli:approvals:budget")
def test_no_more_approvals_wait_than_the_budget_says(tmp_path):
    value = manifest(script("true", approval={"required": True}, budgets={"max_pending_approvals": 2}))
    scene = Scene(signing_caller(tmp_path), value)
    scene.grant()
    scene.grant()

    assert refused(scene.grant).flow_code == "policy_forbids_approval"
    scene.consume()
    scene.grant()


@requirement("agentcli:approvals:unsigned")
def test_where_signers_are_named_an_unsigned_approval_does_not_count(scene):
    scene.grant(signer="none")
    with open(scene.by.place("allowed_signers"), "w", encoding="utf-8") as file:
        file.write("# nobody yet\n")

    assert refused(scene.consume).flow_code == "approval_signature_invalid"


CONSUMER = """
import json, os, sys, time
from operable.flow.approve import local_approvals
from operable.flow.approve.audit_trail import record_use
from operable.flow.run.caller import Caller, bind, content_of
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select

given = json.load(open("given.json"))
by = Caller(given["cwd"], given["environment"], given["home"])
selected = select(given["manifest"], "a")
bound = bind(selected, by)
content = content_of(selected, bound, by)
open(f"ready-{sys.argv[1]}", "w").close()
ends = time.monotonic() + 120
while not os.path.exists("go") and time.monotonic() < ends:
    time.sleep(0.001)
try:
    used = local_approvals.consume(
        by.approvals, selected, bound.binding, execution_id=sys.argv[1], content=content, believing=by.believing(),
        before=lambda used: record_use(by.place("audit"), selected.source, used, sys.argv[1], "2026-01-01T00:00:00Z"),
    )
    print(used["approval_id"])
except FlowError as problem:
    print(problem.flow_code)
"""


@requirement("agentcli:approvals:once")
def test_many_processes_at_once_use_each_approval_once(tmp_path):
    scene = Scene(signing_caller(tmp_path), task())
    made = {scene.grant(now=time.time())["approval_id"] for _ in range(3)}
    given = {
        "cwd": scene.by.cwd,
        "environment": dict(scene.by.environment),
        "home": scene.by.home,
        "manifest": scene.selected.original,
    }
    (tmp_path / "given.json").write_text(json.dumps(given))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CONSUMER, f"e{number}"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        for number in range(12)
    ]
    try:
        until(lambda: len(list(tmp_path.glob("ready-*"))) == len(processes))
        (tmp_path / "go").touch()
        answers = [process.communicate(timeout=120)[0].strip() for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()

    assert sorted(answers) == sorted([*made, *["approval_required"] * 9])
    used_by = [each["consumed_by_execution_id"] for each in local_approvals.listed(scene.store)]
    assert len(set(used_by)) == 3


@requirement("agentcli:approvals:lock")
def test_a_lock_that_its_owner_left_is_taken_and_a_fresh_one_is_waited_for(scene, monkeypatch):
    scene.grant()
    lock = f"{scene.store.path}.lock"
    with open(lock, "w", encoding="ascii") as file:
        file.write("operable 4194304\n")  # killed: nobody holds the kernel's lock
    scene.grant()
    with open(lock, "w", encoding="ascii") as file:
        file.write("4194304\n")  # of another program, which says nothing more
    os.utime(lock, (0, 0))
    scene.grant()
    with open(lock, "w", encoding="ascii") as file:
        file.write("4194304\n")
    monkeypatch.setattr("operable.flow.approve.store._FOREIGN_PATIENCE", 0.05)

    assert refused(scene.grant).flow_code == "approval_lock_timeout"
    assert os.path.exists(lock)


@requirement("agentcli:approvals:lock")
@pytest.mark.parametrize("age, code", [(20, "approval_lock_timeout"), (40, None)])
def test_a_lock_of_another_program_counts_as_left_after_half_a_minute(scene, monkeypatch, age, code):
    scene.grant()
    lock = f"{scene.store.path}.lock"
    with open(lock, "w", encoding="ascii") as file:
        file.write("4194304\n")
    os.utime(lock, (time.time() - age, time.time() - age))
    assert approval_store._FOREIGN_PATIENCE == 5.0
    monkeypatch.setattr("operable.flow.approve.store._FOREIGN_PATIENCE", 0.05 if code else 60.0)

    if code:
        assert refused(scene.grant).flow_code == code
    else:
        scene.grant()
        assert not os.path.exists(lock)


@requirement("agentcli:approvals:files")
def test_links_and_pipes_in_place_of_the_store_are_refused_without_waiting(tmp_path):
    by = caller(tmp_path)
    path = by.place("approvals")
    os.makedirs(os.path.dirname(path))
    os.symlink(tmp_path / "elsewhere", path)
    assert refused(by.approvals.events).flow_code == "approval_log_invalid"
    os.unlink(path)
    os.mkfifo(path)
    assert refused(by.approvals.events).flow_code == "approval_log_invalid"


@requirement("agentcli:approvals:malformed")
def test_lines_that_are_no_records_are_skipped_and_a_torn_one_is_closed(scene):
    scene.grant()
    with open(scene.store.path, "a", encoding="utf-8") as file:
        file.write('nonsense\n[]\n{"kind":["grant"],"approval_id":"x"}\n{"kind":"grant","approval')
    scene.grant()

    assert scene.statuses() == ["pending", "pending"]
    assert os.stat(scene.store.path).st_mode & 0o777 == 0o600


WORDS = st.sampled_from(
    "kind approval_id grant consume revoke workflow_id task_id task_hash approver expires_at granted_at signature bound "
    "unsigned_explicit w a 0001-01-01 9999-12-31T23:59:59Z".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@requirement("agentcli:approvals:malformed")
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(WORDS, VALUES, max_size=8), max_size=6))
def test_whatever_somebody_writes_into_the_store_is_no_approval(scene, events):
    os.makedirs(os.path.dirname(scene.store.path), exist_ok=True)
    with open(scene.store.path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)

    assert {each["status"] for each in local_approvals.listed(scene.store)} <= {
        "pending", "consumed", "expired", "revoked",
    }  # fmt: skip
    assert refused(scene.consume).flow_code in ("approval_required", "approval_signature_invalid")


def test_a_full_disk_leaves_no_half_of_a_record(scene, monkeypatch):
    scene.grant()
    size = os.path.getsize(scene.store.path)

    def full(fd, data):
        if os.readlink(f"/proc/self/fd/{fd}") != scene.store.path:
            return real(fd, data)
        real(fd, data[:10])
        raise OSError(28, "No space left on device")

    real = os.write
    monkeypatch.setattr("operable.flow.approve.store.os.write", full)
    problem = refused(scene.grant)
    monkeypatch.undo()

    assert problem.message == "the approvals cannot be written: No space left on device"
    assert os.path.getsize(scene.store.path) == size


def test_a_lock_that_could_not_be_made_is_not_held(scene, monkeypatch):
    approval = scene.grant()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("operable.flow.approve.store.link_new", full)
    problem = refused(scene.consume)
    monkeypatch.undo()

    assert problem.message == "the approvals cannot be locked: No space left on device"
    assert scene.consume()["approval_id"] == approval["approval_id"]


def test_what_is_announced_is_announced_before_it_is_used(scene):
    scene.grant()

    def refuse(used):
        assert used["approver"] == ME
        raise FlowError("internal_error", "the audit log cannot be written")

    assert refused(scene.consume, before=refuse).flow_code == "internal_error"
    assert scene.statuses() == ["pending"]


@requirement("agentcli:approvals:scope")
@pytest.mark.parametrize(
    "change", [{"approver_scope": None}, {"approver_scope": "domain:elsewhere"}, {"approver": "me@elsewhere"}]
)
def test_an_unsigned_approval_of_somebody_out_of_scope_is_refused_when_it_is_used(tmp_path, change):
    """No signature says that it was edited, and the hash of the task is right: the scope alone decides."""
    scene = Scene(signing_caller(tmp_path), task(approver_scope="domain:example.com"))
    scene.grant(signer="none")
    scene.rewrite(lambda event: event.update(change))

    assert refused(scene.consume).flow_code == "approval_scope_mismatch"
    assert scene.statuses() == ["pending"]


@pytest.mark.parametrize("moment", ["soon", "", None, "2100-13-01T00:00:00Z"])
def test_an_approval_that_does_not_say_until_when_holds_no_longer(scene, moment):
    scene.grant(signer="none")
    scene.rewrite(lambda event: event.update(expires_at=moment))

    assert scene.statuses() == ["expired"]
    assert refused(scene.consume).flow_code == "approval_required"


# -- what the audit log says of approvals holds, whatever the file of approvals says by now


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize("signer", ["ssh", "none"])
def test_a_revocation_that_was_removed_from_the_file_still_holds(scene, signer):
    made = scene.grant(signer=signer)
    local_approvals.revoke(scene.store, made["approval_id"], by="boss", now=NOW)
    drop(scene, "revoke")
    problem = refused(scene.consume)

    assert problem.flow_code == "approval_log_invalid"
    assert problem.message == (
        f"Approval {made['approval_id']} was revoked by boss, and the approvals do not say so"
    )
    assert scene.statuses() == ["revoked"]


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": "2100-01-01T00:00:00.000Z"},
        {"approver": "somebody@example.com"},
        {"reason": "another"},
        {"bound": {}},
    ],
)
def test_an_unsigned_approval_that_was_edited_is_not_what_was_granted(scene, change):
    made = scene.grant(signer="none", ttl=10)
    scene.rewrite(lambda event: event.update(change))
    problem = refused(scene.consume)

    assert problem.flow_code == "approval_log_invalid"
    assert problem.message == (
        f"Approval {made['approval_id']} is not what was granted: its record was edited"
    )


@requirement("agentcli:approvals:tampering")
def test_a_signed_approval_does_not_become_an_unsigned_one(scene):
    scene.grant()
    scene.rewrite(lambda event: event.update(signature=None, unsigned_explicit=True))

    assert refused(scene.consume).flow_code == "approval_log_invalid"


@requirement("agentcli:approvals:tampering")
def test_an_unsigned_approval_under_another_name_was_granted_by_nobody(scene):
    """An expired or used one, copied with an id of its own and a later end."""
    scene.grant(signer="none", ttl=1)
    scene.rewrite(lambda event: event.update(approval_id="f" * 32, expires_at="2100-01-01T00:00:00.000Z"))
    problem = refused(scene.consume)

    assert problem.flow_code == "approval_log_invalid"
    assert "the audit log does not know that it was granted" in problem.message


def test_a_signed_approval_of_another_program_counts_without_a_record_in_our_log(scene):
    made = scene.grant()
    os.unlink(scene.store.audit)
    os.unlink(f"{scene.store.audit}.head")

    assert scene.consume()["approval_id"] == made["approval_id"]


def test_every_step_of_an_approval_is_in_the_audit_log(scene):
    made = scene.grant(reason="release")
    local_approvals.revoke(scene.store, made["approval_id"], by="boss", reason="no", now=NOW)
    (granted, revoked), _ = audit_log.read(scene.store.audit)

    assert (granted["status"], revoked["status"]) == ("approval_granted", "approval_revoked")
    assert granted["source"] == revoked["source"] == {"workflow_id": "w", "task_id": "a"}
    assert granted["approval"]["approver"] == ME
    assert granted["approval"]["expires_at"] == made["expires_at"]
    assert revoked["approval"] == {
        "approval_id": made["approval_id"], "revoked_by": "boss", "reason": "no", "revoked_at": timestamp(NOW),
    }  # fmt: skip
    assert audit_log.verify(scene.store.audit)["verified"] is True


def test_an_approval_that_cannot_be_recorded_is_not_given_but_one_can_always_be_taken_back(scene):
    made = scene.grant()
    os.unlink(scene.store.audit)
    os.mkfifo(scene.store.audit)

    assert refused(scene.grant).flow_code == "internal_error"
    problem = refused(local_approvals.revoke, scene.store, made["approval_id"])
    assert problem.flow_code == "internal_error"
    assert problem.message.startswith(f"Approval {made['approval_id']} is revoked, but not recorded: ")
    os.unlink(scene.store.audit)
    assert scene.statuses() == ["revoked"]


def drop(scene, kind):
    with open(scene.store.path, encoding="utf-8") as file:
        kept = [line for line in file if json.loads(line)["kind"] != kind]
    with open(scene.store.path, "w", encoding="utf-8") as file:
        file.writelines(kept)


@requirement("agentcli:approvals:lock")
def test_a_lock_of_another_machine_is_not_taken_for_that_of_a_dead_process_of_this_one(scene, monkeypatch):
    """On a shared file system whose locks are local, its owner may well be alive."""
    scene.grant()
    with open(f"{scene.store.path}.lock", "w", encoding="ascii") as file:
        file.write("operable 4194304 another-kernel\n")
    monkeypatch.setattr("operable.flow.approve.store._FOREIGN_PATIENCE", 0.05)

    assert refused(scene.grant).flow_code == "approval_lock_timeout"


@requirement("agentcli:approvals:lock")
def test_who_lost_the_lock_to_another_program_writes_nothing_and_leaves_its_lock(scene):
    scene.grant()
    lock = f"{scene.store.path}.lock"

    def taken(_used):
        os.unlink(lock)
        with open(lock, "w", encoding="ascii") as file:
            file.write("4194304\n")

    problem = refused(scene.consume, before=taken)

    assert problem.flow_code == "approval_lock_timeout"
    assert os.path.exists(lock)
    os.unlink(lock)
    assert scene.statuses() == ["pending"]


@requirement("agentcli:approvals:lock")
def test_a_lock_that_vanishes_after_the_work_is_no_failure_of_it(scene):
    with scene.store.locked():
        scene.store.append({"v": 2, "kind": "revoke", "approval_id": "x"})
        os.unlink(f"{scene.store.path}.lock")

    assert len(scene.store.events()) == 1


@requirement("agentcli:approvals:gate")
def test_an_approval_of_the_future_is_not_one_yet_but_clocks_may_differ_by_a_minute(scene):
    made = scene.grant()

    problem = refused(scene.consume, now=NOW - 61)
    assert (problem.flow_code, made["approval_id"] in problem.message) == ("approval_log_invalid", True)
    assert "clock" in problem.message
    assert scene.consume(now=NOW - 59)["approval_id"] == made["approval_id"]


KILLED = """
import os, random, signal, sys, time
from operable.flow.approve.store import ApprovalStore

store = ApprovalStore(sys.argv[1], sys.argv[2])
random.seed(int(sys.argv[3]))
for _ in range(int(sys.argv[4])):
    ready, said = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            with store.locked():
                os.write(said, b".")
    os.read(ready, 1)
    time.sleep(random.random() / 200)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    os.close(said)
    with store.locked():
        pass
"""


@requirement("agentcli:approvals:lock")
def test_a_kill_at_any_moment_locks_nobody_out(scene):
    """A lock that looked like another program's would be waited for, for longer than anybody's patience."""
    os.makedirs(os.path.dirname(scene.store.path), exist_ok=True)
    words = [sys.executable, "-c", KILLED, scene.store.path, scene.store.audit, "7", "150"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@requirement("agentcli:approvals:lock")
@pytest.mark.parametrize("left", [b"", b"operable 1"])
def test_what_a_killed_process_left_of_a_lock_is_used_again(scene, left):
    os.makedirs(os.path.dirname(scene.store.path), exist_ok=True)
    with open(f"{scene.store.path}.lock.new", "wb") as file:
        file.write(left)
    scene.grant()

    assert not os.path.exists(f"{scene.store.path}.lock.new")


@requirement("agentcli:approvals:tampering")
def test_both_looking_for_an_approval_and_using_one_need_the_log_of_earlier_uses(scene):
    scene.grant()
    scene.consume()
    scene.grant()
    for name in os.listdir(os.path.dirname(scene.store.audit)):
        if name.startswith("audit"):
            os.unlink(os.path.join(os.path.dirname(scene.store.audit), name))
    wanted = {
        "content": content_of(scene.selected, scene.bound, scene.by),
        "believing": scene.by.believing(),
        "now": NOW + 1,
    }

    pending = refused(
        local_approvals.require_pending, scene.store, scene.selected, scene.bound.binding, **wanted
    )
    used = refused(scene.consume, "e2")
    assert pending.flow_code == used.flow_code == "approval_log_invalid"
    assert pending.details["lost"] == used.details["lost"]


def test_an_approval_whose_use_only_the_log_knows_cannot_be_revoked(scene):
    """Its user was killed between the two."""
    made = scene.grant()
    scene.record("e1")(made)
    problem = refused(local_approvals.revoke, scene.store, made["approval_id"])

    assert problem.message == f"Approval {made['approval_id']} was already used by execution e1"
    assert scene.statuses() == ["consumed"]


class Watched(approval_store.ApprovalStore):
    """Tells when its events were read for the first time."""

    def __init__(self, store):
        super().__init__(store.path, store.audit)
        self.read = threading.Event()

    def events(self):
        found = super().events()
        self.read.set()
        return found


def test_a_look_at_an_approval_while_it_is_being_used_is_no_alarm(scene):
    made = scene.grant()
    watched, problems = Watched(scene.store), []

    def look():
        with pytest.raises(FlowError) as caught:
            local_approvals.require_pending(
                watched,
                scene.selected,
                scene.bound.binding,
                content=content_of(scene.selected, scene.bound, scene.by),
                believing=scene.by.believing(),
                now=NOW + 1,
            )
        problems.append(caught.value.flow_code)

    looker = threading.Thread(target=look)
    with scene.store.locked():
        scene.record("e1")(made)
        looker.start()
        assert watched.read.wait(100)
        used = {"kind": "consume", "approval_id": made["approval_id"], "execution_id": "e1"}
        scene.store.append({"v": 2, **used, "consumed_at": timestamp(NOW), "recorded": True})
    looker.join(100)

    assert problems == ["approval_required"]
