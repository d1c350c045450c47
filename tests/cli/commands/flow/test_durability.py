"""Every writer of a home on a disk that is full, read-only or without locks: a structured error, nothing half, nothing lost."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import PROGRAM, SURROUNDINGS
from tests.flow.callers import script, signing_caller
from tests.flow.disks import CONDITIONS, with_disk
from tests.flow.executions import bearer
from tests.flow.manifests import manifest, shell_task

pytestmark = pytest.mark.timeout(300)

MANUAL = {"policy": "manual"}


def flow(*words: str) -> list[str]:
    return [PROGRAM, "flow", *words, "--output", "jsonl"]


def agentcli(*words: str) -> list[str]:
    return [sys.executable, "-m", "operable.cli.agentcli", *words]


# writer: (what is there before, the command under test, what is asked after the repair)
LOOK = [flow("approvals"), flow("audit", "verify"), flow("registry"), flow("inspect")]
SEED = [
    flow("exec", "plain.json", "a"),
    flow("approve", "manual.json", "a"),
    flow("register", "plain.json", "--name", "kept"),
    flow("apply", "plain.json"),
]
WRITERS: dict[str, list[str]] = {
    "audit": flow("exec", "canary.json", "a"),
    "audit of a run": flow("run", "canary.json"),
    "use of an approval": flow("exec", "manual.json", "a"),
    "approval": flow("approve", "manual.json", "a"),
    "jobs": flow("apply", "other.json"),
    "pruned jobs": flow("prune", "other.json", "--confirm"),
    "registry": flow("register", "other.json", "--name", "new"),
    "registry, replaced": flow("register", "other.json", "--name", "kept"),
    "imported manifest": flow("import", "project"),
}


# Their files are replaced as a whole, or SQLite locks them by other means.
LOCKLESS = ("registry", "registry, replaced", "imported manifest", "jobs", "pruned jobs")


def prepared(tmp_path: Path) -> dict[str, Any]:
    signing_caller(tmp_path)
    work = tmp_path / "work"
    touch = f"touch {tmp_path}/ran"
    for name, value in {
        "plain": manifest(),
        "other": manifest(shell_task("b", name="x" * 20_000)),
        "canary": manifest(script(touch)),
        "elsewhere": manifest(workflow={"id": "other"}),
        "old": manifest(version="0.1"),
        "manual": manifest(script(touch, approval={**MANUAL, "timeout_s": 3600})),
    }.items():
        (work / f"{name}.json").write_text(json.dumps(value))
    (work / "project").mkdir()
    (work / "project" / "agentcli.json").write_text(json.dumps(manifest()))
    env = {
        **SURROUNDINGS,
        "HOME": str(tmp_path / "user"),
        "USER": "me",
        "HOSTNAME": "example.com",
        "AGENTCLI_HOME": str(tmp_path / "disk" / "home"),
    }
    return {"cwd": str(work), "env": env}


def events(outcome: list[Any]) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in outcome[1].splitlines()]
    return [event for event in found if event["type"] not in ("aoi:meta", "aoi:summary")]


@pytest.mark.parametrize(
    "writer, condition",
    [
        (writer, how)
        for writer in WRITERS
        for how in CONDITIONS
        if how != "no locks" or writer not in LOCKLESS
    ],
)
def test_what_cannot_be_written_is_an_error_and_leaves_everything_as_it_was(tmp_path, writer, condition):
    found = with_disk(
        tmp_path / "disk",
        condition,
        before=SEED + LOOK,
        command=WRITERS[writer],
        after=LOOK,
        **prepared(tmp_path),
    )
    status, stdout, stderr = found["command"]
    if status == 0:
        # Where there was room after all, what was acknowledged is there.
        assert condition == "full", stdout
        assert [events(each) for each in found["after"]] != [
            events(each) for each in found["before"][len(SEED) :]
        ]
        return
    assert [each[0] for each in found["before"]] == [0] * len(found["before"])
    (error,) = [
        event.get("record", {}).get("error") or event
        for event in events(found["command"])
        if event["type"] in ("aoi:error", "flow_task")
    ]
    assert error["code"] not in ("INTERNAL", "INTERNAL_ERROR")
    assert any(
        word in error["message"] for word in ("No space", "Read-only", "No locks", "full", "readonly")
    ), error
    assert "Traceback" not in stderr
    assert not (tmp_path / "ran").exists(), "the task ran without a record"
    for before, after in zip(found["before"][len(SEED) :], found["after"], strict=True):
        assert (after[0], events(after)) == (before[0], events(before))
    assert [name for name in found["left"] if ".new" in name or "/." in name] == []


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_revocation_takes_effect_or_is_an_error_that_says_what_became_of_it(tmp_path, condition):
    note = f'{" ".join(flow("approvals"))} | sed -n \'s/.*"approval_id":"\\([0-9a-f]*\\)".*/\\1/p\' > id'
    found = with_disk(
        tmp_path / "disk",
        condition,
        before=[flow("approve", "manual.json", "a"), ["sh", "-c", note]],
        command=["sh", "-c", f"{' '.join(flow('revoke'))} $(cat id)"],
        after=[flow("approvals"), flow("audit", "verify")],
        **prepared(tmp_path),
    )
    (listed,) = events(found["after"][0])
    if found["command"][0] == 0:
        assert (condition, listed["status"]) == ("full", "revoked")
    else:
        (error,) = [event for event in events(found["command"]) if event["type"] == "aoi:error"]
        assert listed["status"] == (
            "revoked" if "is revoked, but not recorded" in error["message"] else "pending"
        )
        assert "Traceback" not in found["command"][2]
    assert found["after"][1][0] == 0


@pytest.mark.parametrize("condition", CONDITIONS[:2])
@pytest.mark.parametrize(
    "command",
    [flow("init", "DISK/new.json"), agentcli("compile", "plain.json", "--write", "DISK/new.json"),
     agentcli("convert", "old.json", "--output", "DISK/new.json"), agentcli("merge", "plain.json", "elsewhere.json", "--output", "DISK/new.json")],
    ids=["init", "compile", "convert", "merge"],
)  # fmt: skip
def test_a_document_that_cannot_be_written_is_not_there(tmp_path, command, condition):
    place = prepared(tmp_path)
    disk = Path(place["cwd"]) / "disk"
    relative = [word.replace("DISK", "disk") for word in command]
    found = with_disk(disk, condition, before=[], command=relative, after=[], **place)
    status, stdout, stderr = found["command"]
    assert status != 0, stdout
    assert "Traceback" not in stderr
    assert "cannot be" in stdout + stderr or "Read-only" in stdout + stderr or "No space" in stdout + stderr
    assert found["left"] == []


def test_a_credential_that_finds_no_room_is_an_error_and_the_task_does_not_run(tmp_path):
    place = prepared(tmp_path)
    value = manifest(script(f"touch {tmp_path}/ran", identity={"ref": "i"}), **bearer("file", name="token"))
    (tmp_path / "work" / "secret.json").write_text(json.dumps(value))
    place["env"] |= {"SECRET": "zebra" * 20_000, "AGENTCLI_HOME": str(tmp_path / "home")}
    place["env"]["TMPDIR"] = str(tmp_path / "disk")
    words = flow("exec", "secret.json", "a")
    found = with_disk(tmp_path / "disk", "one page left", before=[], command=words, after=[], **place)

    assert found["command"][0] != 0
    (error,) = [event for event in events(found["command"]) if event["type"] == "aoi:error"]
    assert "Traceback" not in found["command"][2]
    assert error["flow_code"] == "presentation_target_invalid", error
    assert not (tmp_path / "ran").exists()
    assert [name for name in found["left"] if "token" in name] == []


LEDGER = """
import sys, time
from operable.flow.trust.proof_ledger import handoff_context
from operable.flow.trust.proof_verification import Unproven, claim_once
context = handoff_context("sha256:x", sys.argv[1])
try:
    claim_once(context, "key", sys.argv[2], time.time() + 60)
    print("claimed")
except Unproven as problem:
    print(problem)
"""


@pytest.mark.parametrize("condition", [*CONDITIONS[:2], "no names"])
def test_a_proof_whose_use_cannot_be_remembered_does_not_count(tmp_path, condition):
    ask = [sys.executable, "-c", LEDGER, "DISK/ledger"]
    prepare = ["sh", "-c", "mkdir -p DISK/ledger && : > DISK/ledger/revoked"]
    found = with_disk(
        tmp_path / "disk", condition, before=[prepare, [*ask, "one"]], command=[*ask, "two"], after=[[*ask, "one"], [*ask, "two"]],
        **prepared(tmp_path),
    )  # fmt: skip
    assert found["before"][1][1] == "claimed\n"
    said = found["command"][1]
    again, second = (each[1] for each in found["after"])
    assert again == "the proof was already used, or that is unknown\n"
    if said == "claimed\n":  # an empty file needs no room
        assert condition == "full"
        assert second == again
    else:
        assert said.startswith(("a check failed: No space left", "a check failed: Read-only"))
        assert second == "claimed\n"


def test_nothing_of_it_reaches_the_machine(tmp_path):
    with_disk(tmp_path / "disk", "full", before=[], command=["true"], after=[], **prepared(tmp_path))
    assert os.listdir(tmp_path / "disk") == []
