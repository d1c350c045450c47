"""`operable agent logs`, `sessions` and `audit`: what happened, read from disk by any process at any time."""

import json
import signal
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from tests.cli.agents import steps
from tests.requirement import requirement


def test_a_log_is_read_by_cursor_page_by_page(scene):
    scene.user()
    scene("prompt", "scripted", "--prompt", steps({"say": "abcdef", "chunks": 6}), "--session", "ses_log")

    whole = scene("logs", "ses_log").results
    assert [event["id"] for event in whole] == list(range(1, len(whole) + 1))
    assert all(event["at"] > 0 for event in whole)
    first = scene("logs", "ses_log", "--limit", "2")
    assert first.results == whole[:2]
    rest = scene("logs", "ses_log", "--cursor", first.summary["next_cursor"])
    assert rest.results == whole[2:]
    assert scene("logs", "ses_log", "--after", "3").results == whole[3:]


def test_people_read_the_users_own_words_and_machines_find_them_in_the_data(scene):
    scene.user()
    scene("prompt", "scripted", "--prompt", "Where is \x1b[31mthe exit?", "--session", "ses_words")

    (said,) = [each for each in scene("logs", "ses_words").results if each.get("code") == "user_message"]
    assert (said["message"], said["data"]) == ("the user's message", {"text": "Where is \x1b[31mthe exit?"})
    shown = scene("logs", "ses_words", output=None).stdout.decode()
    (line,) = [line for line in shown.splitlines() if "user_message" in line]
    assert "the exit?" in line
    assert "\x1b" not in line
    assert "the user's message" not in shown


def test_a_running_session_is_followed_from_another_process_until_it_ends(scene):
    scene.user()
    said = steps({"say": "one"}, {"hang": True})

    with scene.running("prompt", "scripted", "--prompt", said, "--session", "ses_live") as prompt:
        prompt.event("text-delta")
        with scene.running("logs", "ses_live", "--follow") as logs:
            assert logs.event("text-delta")["text"] == "one"
            assert scene("sessions", "--alive").of("agent_session")[0]["id"] == "ses_live"
            prompt.signal(signal.SIGINT)
            assert logs.event("turn-end")["reason"] == "cancelled"
            followed = logs.finish()
        assert prompt.finish().exit_code == 130

    assert followed.exit_code == 0
    assert followed.results[-1]["code"] == "session_closed"
    assert followed.results == scene("logs", "ses_live").results


def test_a_session_whose_host_was_killed_does_not_run_for_ever(scene):
    scene.user()

    with scene.running("prompt", "scripted", "--prompt", steps({"say": "a"}, {"hang": True})) as prompt:
        prompt.event("text-delta")
        prompt.signal(signal.SIGKILL)
        prompt.wait()

    found = scene.session()
    assert (found["status"], found["error"]) == ("error", "interrupted")
    assert scene("sessions", "--alive").results == []


def test_sessions_come_newest_first_and_in_pages(scene):
    scene.user()
    for name in ("ses_a", "ses_b", "ses_c"):
        scene("prompt", "scripted", "--prompt", "x", "--session", name)

    page = scene("sessions", "--limit", "2")
    assert [each["id"] for each in page.results] == ["ses_c", "ses_b"]
    rest = scene("sessions", "--limit", "2", "--cursor", page.summary["next_cursor"])
    assert [each["id"] for each in rest.results] == ["ses_a"]
    assert [each["turns"] for each in rest.results] == [1]
    assert scene("sessions", "--agent", "other").results == []
    assert scene("sessions", "--workspace", str(scene.home)).results == []


def test_an_unknown_session_is_an_error(scene):
    for command in (["logs", "ses_nothing"], ["approvals", "--session", "ses_nothing"]):
        outcome = scene(*command)
        assert (outcome.exit_code, outcome.error["code"]) == (65, "NO_SUCH_SESSION")


@requirement("aip45:lifecycle:turn-audit")
def test_the_audit_chain_tells_who_decided_what_and_any_edit_of_it_is_found(scene):
    scene.user()
    said = steps({"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True})
    scene("prompt", "scripted", "--prompt", said, "--allow", "execute:ls")

    records = scene("audit").of("audit_record")
    assert [record["seq"] for record in records] == list(range(len(records)))
    decision = next(record for record in records if record["action"] == "agent.decision")
    assert (decision["decision"], decision["subject"]["ref"]) == ("allow", "Bash")
    assert {"agent.tool-call", "agent.turn", "session.end"} <= {record["action"] for record in records}
    assert scene("audit", "--after", "1").results == records[2:]

    verdict = scene("audit", "verify")
    assert verdict.exit_code == 0
    good = verdict.of("audit_verdict")[0]
    assert (good["ok"], good["records"]) == (True, len(records))

    with open(good["path"]) as file:
        lines = file.read().splitlines(keepends=True)
    with open(good["path"], "w") as file:
        file.writelines([lines[0], lines[1].replace("allow", "deny").replace("Bash", "Bush"), *lines[3:]])
    broken = scene("audit", "verify")
    assert (broken.exit_code, broken.of("audit_verdict")[0]["ok"]) == (65, False)
    assert {"chain.seq_gap"} <= {problem["code"] for problem in broken.of("audit_problem")}
    assert scene("audit", "verify", "--limit", "1").exit_code == 65


def test_an_anchor_that_was_kept_elsewhere_finds_a_new_history(scene, tmp_path):
    scene.user()
    scene("prompt", "scripted", "--prompt", "x")
    good = scene("audit", "verify").of("audit_verdict")[0]
    number, digest = good["head"].split()
    forged = f"{number} {'0' * 64}"

    assert scene("audit", "verify", "--anchor", good["head"]).exit_code == 0
    assert scene("audit", "verify", "--anchor", forged).exit_code == 65
    assert len(digest) == 64
    assert scene("audit", "verify", "--anchor", "nonsense").error["code"] == "ANCHOR_INVALID"
    damaged = tmp_path / "chain.jsonl"
    damaged.write_text("nonsense\n")
    assert scene("audit", "--file", str(damaged)).error["code"] == "AUDIT_DAMAGED"
    assert scene("audit", "verify", "--file", str(damaged)).exit_code == 65
    assert scene("audit", "verify", "--file", str(tmp_path / "none")).error["code"] == "FILE_NOT_FOUND"


def test_a_workspace_without_a_chain_says_so_and_one_that_lost_its_chain_does_not_verify(scene):
    scene.user()
    fresh = scene("audit", "verify")
    assert (fresh.exit_code, fresh.of("audit_verdict")[0]["ok"]) == (0, True)
    assert [event["code"] for event in fresh.of("aoi:warning")] == ["AUDIT_EMPTY"]

    scene("prompt", "scripted", "--prompt", "x")
    good = scene("audit", "verify").of("audit_verdict")[0]
    for path in Path(good["path"]).parent.glob("audit.jsonl*"):
        path.unlink()

    lost = scene("audit", "verify")
    assert (lost.exit_code, lost.of("audit_verdict")[0]["ok"]) == (65, False)
    assert [problem["code"] for problem in lost.of("audit_problem")] == ["chain.truncated"]

    refused = scene("prompt", "scripted", "--prompt", "x", env={"OPERABLE_AUDIT_DAMAGED": "refuse"})
    assert refused.error["code"] == "AUDIT_DAMAGED"
    for _ in range(2):
        assert scene("prompt", "scripted", "--prompt", "x").exit_code == 0
        again = scene("audit", "verify")
        assert (again.exit_code, again.of("audit_verdict")[0]["ok"]) == (65, False)
        assert [problem["code"] for problem in again.of("audit_problem")] == ["chain.truncated"]


def test_a_chain_of_another_workspace_does_not_verify_in_the_place_of_this_one(scene, tmp_path):
    key = ed25519.Ed25519PrivateKey.generate()
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    scene.env["OPERABLE_AUDIT_KEY"] = str(tmp_path / "key")
    (tmp_path / "other").mkdir()
    scene.user()
    chains = []
    for more in ((), ("--workspace", str(tmp_path / "other"))):
        scene("prompt", "scripted", "--prompt", "x", *more)
        whole = scene("audit", "verify", "--key", str(tmp_path / "key"), *more).of("audit_verdict")[0]
        assert (whole["ok"], whole["signed_from"]) == (True, 0)
        chains.append(Path(whole["path"]))

    mine, other = chains
    for file in other.parent.glob("audit.jsonl*"):
        (mine.parent / file.name).write_bytes(file.read_bytes())

    replaced = scene("audit", "verify", "--key", str(tmp_path / "key"))
    assert replaced.exit_code == 65
    assert [problem["code"] for problem in replaced.of("audit_problem")] == ["chain.tampered"]


def test_people_see_the_head_to_keep_and_what_was_lost(scene):
    scene.user()
    scene("prompt", "scripted", "--prompt", "x")
    good = scene("audit", "verify").of("audit_verdict")[0]

    shown = scene("audit", "verify", output=None).stdout.decode()
    assert shown.split()[:4] == ["OK", "RECORDS", "LOST", "HEAD"]
    assert good["head"] in shown


@pytest.mark.parametrize(
    "name, value, hint",
    [
        ("OPERABLE_AUDIT_DAMAGED", "refues", "continue or refuse"),
        ("OPERABLE_AUDIT_KEEP", "many", "a number"),
        ("OPERABLE_AUDIT_KEY", "/nonexistent/key", "ssh-keygen"),
    ],
)
def test_an_audit_setting_that_cannot_be_followed_is_named(scene, name, value, hint):
    scene.user()
    failed = scene("prompt", "scripted", "--prompt", "x", env={name: value})

    assert (failed.exit_code, failed.error["code"]) == (78, "AUDIT_SETTING_INVALID")
    assert failed.error["target"] == name
    assert hint in failed.error["hint"]
    assert scene("audit", "verify").exit_code == 0


def test_no_session_starts_on_a_chain_with_a_changed_record_if_the_operator_refuses(scene):
    scene.user()
    env = {"OPERABLE_AUDIT_DAMAGED": "refuse"}
    assert scene("prompt", "scripted", "--prompt", "x", env=env).exit_code == 0
    path = Path(scene("audit", "verify").of("audit_verdict")[0]["path"])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0].replace(b"session.start", b"session.stort"), *lines[1:]]))

    refused = scene("prompt", "scripted", "--prompt", "x", env=env)
    assert refused.error["code"] == "AUDIT_DAMAGED"
    assert len(path.read_bytes().splitlines()) == len(lines)


def test_a_secret_in_a_call_is_not_in_the_audit_chain(scene):
    scene.user()
    key = "sk-ant-api03-" + "a" * 40
    said = steps({"call": "Bash", "kind": "execute", "args": {"command": "x", "api_key": key}, "ask": True})
    outcome = scene("prompt", "scripted", "--prompt", said)

    assert outcome.exit_code == 0
    shown = json.dumps(scene("audit").events)
    assert "agent.decision" in shown
    assert key not in shown


@pytest.mark.parametrize("action", ["show", "verify"])
def test_a_workspace_that_does_not_exist_has_no_sound_chain(scene, tmp_path, action):
    done = scene("audit", action, "--workspace", str(tmp_path / "mistyped"))

    assert (done.exit_code, done.error["code"]) == (65, "WORKSPACE_NOT_FOUND")


def test_the_chain_of_a_workspace_that_was_removed_is_still_verified(scene, tmp_path):
    scene.user()
    gone = tmp_path / "gone"
    gone.mkdir()
    assert scene("prompt", "scripted", "--prompt", "hello", "--workspace", str(gone)).exit_code == 0
    gone.rmdir()

    verdict = scene("audit", "verify", "--workspace", str(gone)).of("audit_verdict")[0]

    assert verdict["ok"] is True
    assert verdict["records"] > 0
