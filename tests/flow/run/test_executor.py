"""One task: the work, and what it may cost."""

import json
import os

import pytest

from operable.flow.audit.attestation import command_hash
from operable.flow.canonical import hash_text
from operable.flow.compile.binding import child_environment
from operable.flow.run.executor import execute
from operable.flow.run.options import ExecOptions
from tests.flow.callers import audited, caller, script
from tests.flow.executions import CANARY, bearer, refused
from tests.flow.manifests import manifest, shell_task
from tests.requirement import requirement


@requirement("agentcli:exec:environment")
def test_the_environment_is_an_allow_list_also_for_verify(tmp_path):
    by = caller(tmp_path, AWS_SECRET_ACCESS_KEY=CANARY, LC_ALL="C", LD_PRELOAD_NOT="x")
    task = shell_task(
        shell={"program": "env", "env": {"MINE": "1"}},
        verify={"shell": "env; test -z $AWS_SECRET_ACCESS_KEY"},
    )
    done = execute(manifest(task), "a", by)
    names = {line.partition("=")[0] for line in done["result"]["stdout"].splitlines()}

    assert names == {"PATH", "HOME", "USER", "LC_ALL", "MINE"}
    assert done["verify"]["passed"] is True
    assert CANARY not in json.dumps(done)


@requirement("agentcli:exec:environment")
def test_exactly_the_listed_variables_are_inherited_and_those_of_the_task_count_more(tmp_path):
    listed = "PATH HOME TMPDIR TMP TEMP LANG SHELL USER LOGNAME TZ TERM SystemRoot WINDIR ComSpec PATHEXT LC_ALL LC_X"
    others = "AGENTCLI_HOME OPERABLE_HOME SSH_AUTH_SOCK PYTHONPATH LD_PRELOAD LC path GITHUB_TOKEN LANGUAGE"
    ambient = {name: f"ambient {name}" for name in f"{listed} {others}".split()}

    assert child_environment(ambient, None) == {name: ambient[name] for name in listed.split()}
    assert child_environment(ambient, {"TERM": "dumb", "PYTHONPATH": "mine"}) == {
        **{name: ambient[name] for name in listed.split()},
        "TERM": "dumb",
        "PYTHONPATH": "mine",
    }


@requirement("agentcli:exec:environment")
def test_a_verify_step_has_the_tasks_variables_and_folder_and_not_its_credentials(tmp_path):
    by = caller(tmp_path, SECRET=CANARY, OTHER=CANARY)
    (tmp_path / "work" / "inner").mkdir()
    task = shell_task(
        shell={"program": "true", "env": {"MINE": "1"}, "cwd": "inner"},
        verify={"shell": "pwd; env"},
        identity={"ref": "i"},
    )
    done = execute(manifest(task, **bearer(name="TOKEN")), "a", by)["verify"]
    where, *variables = done["stdout"].splitlines()

    assert where == f"{os.path.realpath(tmp_path)}/work/inner"
    assert {line.partition("=")[0] for line in variables} - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH", "HOME", "USER", "MINE",
    }  # fmt: skip
    assert list(done) == (
        "passed exit_code stdout stderr timed_out duration_ms stdout_bytes stderr_bytes".split()
    )


@requirement("agentcli:exec:verify")
def test_a_verify_step_that_takes_too_long_has_not_passed(tmp_path):
    task = script("true", verify={"shell": "sleep 600", "timeout_seconds": 1})
    problem = refused(manifest(task), "a", caller(tmp_path))

    assert problem.flow_code == "verify_failed"
    assert problem.message.startswith("Verify command failed (exit ")
    assert (problem.details["verify"]["timed_out"], problem.details["verify"]["passed"]) == (True, False)


ANSWER = (
    "ok execution_id source declared_identity resolved_identity identity principal_used contract command "
    "effective_task_hash manifest_digest result verify trust signer attestation attestation_note warnings audited approval_used"
).split()
GOVERNED = "actor_context step_up authorization_proof authorization evidence hashes handoff".split()
OURS = ["timestamp", "sandbox"]  # beyond the documented members


@requirement("agentcli:audit:record")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_an_answer_has_the_documented_members_in_their_order(tmp_path, version):
    done = execute(manifest(script("echo out; echo err >&2"), version=version), "a", caller(tmp_path))

    assert [name for name in done if name not in (*GOVERNED, *OURS)] == ANSWER
    assert [name for name in done if name in GOVERNED] == (GOVERNED if version == "0.2" else [])
    assert list(done["result"]) == (
        "exit_code signal timed_out duration_ms stdout stderr stdout_bytes stderr_bytes output_hash structured".split()
    )
    assert done["result"]["output_hash"] == hash_text("out\nerr\n")
    assert (done["result"]["stdout_bytes"], done["result"]["stderr_bytes"]) == (4, 4)
    assert (done["declared_identity"], done["resolved_identity"], done["trust"]) == (None, None, None)
    if version == "0.2":
        assert done["hashes"]["command"] == command_hash("sh", ["-c", "echo out; echo err >&2"], None)
        assert done["handoff"] == {"mode": "none", "prepared": False}
        assert list(done["hashes"]) == ["command", "result"]


@requirement("agentcli:exec:environment")
def test_input_folder_and_exit_code_are_the_tasks_own(tmp_path):
    by = caller(tmp_path)
    (tmp_path / "work" / "inner").mkdir()
    task = shell_task(
        shell={"program": "sh", "args": ["-c", "cat; pwd; exit 7"], "cwd": "inner", "stdin": "in\n"}
    )
    done = execute(manifest(task), "a", by)

    assert done["ok"] is False
    assert done["result"]["exit_code"] == 7
    assert done["result"]["stdout"] == f"in\n{os.path.realpath(tmp_path)}/work/inner\n"


@requirement("agentcli:exec:environment")
def test_a_program_that_is_not_there_is_a_failure_with_its_reason(tmp_path):
    done = execute(manifest(shell_task(shell={"program": "no-such-program"})), "a", caller(tmp_path))

    assert (done["ok"], done["result"]["exit_code"]) == (False, None)
    assert "no-such-program" in done["warnings"][0]


@requirement("agentcli:exec:timeouts")
@pytest.mark.parametrize("option, runtime", [(200, None), (None, 200), (200, 600_000)])
def test_a_task_that_takes_too_long_is_ended_and_the_callers_limit_counts_first(tmp_path, option, runtime):
    task = shell_task(
        shell={"program": "sleep", "args": ["30"]}, runtime={"timeout_ms": runtime} if runtime else None
    )
    done = execute(manifest(task), "a", caller(tmp_path), ExecOptions(timeout_ms=option))

    assert (done["result"]["exit_code"], done["result"]["signal"]) == (None, "SIGTERM")
    assert done["result"]["timed_out"] is True
    assert done["ok"] is False
    assert "it took longer than its limit of 200 ms and was ended" in done["warnings"]


@requirement("agentcli:exec:structured")
@pytest.mark.parametrize(
    "form, printed, structured, warned",
    [
        ("json", '{"a": 1}', {"a": 1}, False),
        ("ndjson", '{"a":1}\n\n[2]\n', [{"a": 1}, [2]], False),
        ("json", "", None, False),
        ("json", " \n\t", None, False),
        ("ndjson", "\n", None, False),
        ("json", "5", 5, False),
        ("json", "{} {}", None, True),
        ("json", "NaN", None, True),
        (None, "{}", None, False),
        ("json", "nope", None, True),
        ("json", "[" * 300 + "]" * 300, None, True),
        ("ndjson", "{}\nnope", None, True),
        ("text", "{}", None, False),
    ],
)
def test_structured_output_is_read_and_a_failure_to_is_a_warning(tmp_path, form, printed, structured, warned):
    output = None if form is None else {"format": form}
    task = shell_task(shell={"program": "cat", "stdin": printed}, output=output)
    done = execute(manifest(task), "a", caller(tmp_path))

    assert done["ok"] is True
    assert done["result"]["structured"] == structured
    assert bool(done["warnings"]) is warned


@requirement("agentcli:exec:verify")
def test_verify_decides_warns_or_is_not_asked(tmp_path):
    by = caller(tmp_path)
    bad = {"shell": "echo seen; exit 4"}
    problem = refused(manifest(script("true", verify=bad)), "a", by)
    warned = execute(manifest(script("true", verify={**bad, "on_failure": "warn"})), "a", by)
    failed = execute(manifest(script("false", verify=bad)), "a", by)

    assert problem.flow_code == "verify_failed"
    assert problem.message == "Verify command failed (exit 4)"
    assert "stdout" not in problem.details["verify"]
    assert warned["ok"] is True
    assert warned["warnings"] == ["Verify command failed (exit 4)"]
    assert warned["verify"]["stdout"] == "seen\n"
    assert failed["verify"] is None
    recorded = [record["verify"] for record in audited(by)]
    assert [entry and entry["passed"] for entry in recorded] == [False, False, None]
    assert "seen" not in json.dumps(recorded)
