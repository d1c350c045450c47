"""`operable-agentcli`: every command of that program on a real process, with its output and its two exit codes."""

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from operable.cli.agentcli.words import verbs
from tests.cli import forks
from tests.cli.drive import BIN
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered
from tests.flow.schedulers import StandIn, capabilities
from tests.requirement import requirement

# Each test calls the program many times, and each call is a process of its own: a fork, unless it gets a terminal.
pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[3]
GOOD = manifest()
APPROVED = manifest(shell_task(approval={"policy": "manual"}))
PROVED = manifest(
    shell_task(authorization_proof={"ref": "none"}, authorization={"ref": "none"}, identity={"ref": "robot"}),
    authorization_proof_profiles=[{"id": "none", "method": "none"}],
    authorization_profiles=[{"id": "none", "provider": "none"}],
    identity_profiles=[{"id": "robot", "provider": "none", "subject": {"principal": "agent://robot"}}],
)


class Shell:
    """A folder, a home, and the program in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "agentcli"
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "user"),
            "AGENTCLI_HOME": str(self.home),
            "USER": "tester",
            "HOSTNAME": "host",
        }

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return str(path)

    def run(self, *words, input="", env=None, stdin=None):
        environment = forks.at_start(os.environ) | self.environment | (env or {})
        if stdin is None:
            done = forks.run(
                [str(BIN / "operable-agentcli"), *map(str, words)],
                input=input.encode("utf-8", "surrogateescape"),
                env=environment,
                cwd=str(self.folder),
                timeout=200,
                program=forks.AGENTCLI,
            )
            stdout, stderr = done.stdout.decode(), done.stderr.decode()
            return subprocess.CompletedProcess(done.args, done.returncode, stdout, stderr)
        return subprocess.run(
            [sys.executable, "-m", "operable.cli.agentcli", *map(str, words)],
            stdin=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment,
            timeout=200,
            check=False,
        )

    def ok(self, *words, **options):
        """The JSON of a call that succeeds; nothing on stderr."""
        done = self.run(*words, **options)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout.endswith("\n")
        return json.loads(done.stdout)

    def fails(self, *words, **options):
        """The JSON of a call that fails; nothing on stdout."""
        done = self.run(*words, **options)
        assert (done.returncode, done.stdout) == (1, ""), done
        said = json.loads(done.stderr)
        assert said["ok"] is False
        return said


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path.resolve())


TRIED: set[str] = set()


def answers(*commands):
    """This test calls these commands."""
    TRIED.update(commands)
    return lambda test: test


@requirement("agentcli:cli:binary")
@answers("version", "help")
def test_version_and_help_speak_text_and_json(shell):
    assert shell.ok("version") == shell.ok("-v") == shell.ok("--version")
    assert shell.ok("version")["manifest_version"] == "0.2"
    assert list(shell.ok("version")) == ["ok", "package_version", "manifest_version"]
    for text in (shell.run(), shell.run("help"), shell.run("-h")):
        assert (text.returncode, text.stderr) == (0, "")
        assert text.stdout.startswith("Usage: agentcli <command>")
        assert all(f"\n  {command}" in text.stdout for command in verbs())
    assert shell.ok("help", "--json") == {"ok": True, "usage": shell.run("help").stdout.removesuffix("\n")}
    assert shell.ok(env={"AGENTCLI_OUTPUT": "json"})["ok"] is True


@requirement("agentcli:cli:binary")
def test_failure_is_json_on_stderr_and_status_1(shell):
    assert shell.fails("nope") == {
        "ok": False,
        "error": "Unknown command: nope",
        "error_type": "unknown_command",
        "code": "unknown_command",
    }
    bad = shell.run("version", env={"AGENTCLI_OUTPUT": "xml"})
    assert bad.stderr.startswith('{\n  "ok": false,\n  "error": "Unknown AGENTCLI_OUTPUT value: xml')
    assert list(json.loads(bad.stderr)) == ["ok", "error", "error_type", "code"]
    assert shell.ok("version", "--json", env={"AGENTCLI_OUTPUT": "ndjson"})["ok"] is True
    invalid = shell.fails("validate", "{}")
    assert (invalid["error"], invalid["code"]) == ("Manifest validation failed", "validation_error")
    assert invalid["validation"]["ok"] is False


@requirement("agentcli:cli:binary")
def test_nobody_reading_ends_it_quietly(shell):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "operable.cli.agentcli", "schema"],
        stdout=write, stderr=subprocess.PIPE, env=shell.environment, timeout=200, check=False,
    )  # fmt: skip
    os.close(write)

    assert (done.returncode, done.stderr) == (1, b"")


@requirement("agentcli:cli:output")
def test_lines_and_colours_on_the_real_program(shell):
    assert shell.run("signing", "providers", "--ndjson").stdout.count("\n") == 1
    assert "\x1b[36m" in shell.run("version", "--pretty").stdout


@requirement("agentcli:cli:input")
@answers("validate")
def test_a_manifest_comes_from_stdin_a_file_the_home_or_the_argument(shell):
    text = json.dumps(GOOD)
    path = shell.write("flow.json", GOOD)
    shell.write("agentcli/manifests/kept.json", GOOD)
    shell.write("user/mine.json", GOOD)

    for source in ("-", path, "flow.json", "kept", "kept.json", text, f"  {text}", "~/mine.json"):
        assert shell.ok("validate", source, input=text)["ok"] is True
    missing = shell.fails("validate", "nowhere")
    assert missing["error"] == (
        "Input not found: nowhere. Pass a file path, a manifest name from AGENTCLI_HOME/manifests, or a JSON string."
    )
    for source, named in (
        ("-", "stdin"),
        (shell.write("bad.json", "{"), f"{shell.folder}/bad.json"),
        ("{", "argument"),
    ):
        bad = shell.fails("validate", source, input="{")
        assert bad["error"].startswith(f"Invalid JSON from {named}: ")
        assert bad["code"] == "parse_error"
    assert shell.fails("validate", '{"a": NaN}')["code"] == "parse_error"


@requirement("agentcli:cli:input")
def test_a_terminal_as_stdin_is_refused(shell):
    ours, theirs = pty.openpty()
    try:
        said = shell.fails("validate", "-", stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)

    assert said["error"] == "stdin is a TTY. Pipe JSON data or pass a file path."


@answers("schema", "describe", "targets", "paths", "skill-path")
def test_what_the_program_knows_is_shown(shell):
    assert shell.ok("schema")["schema"]["title"] == shell.ok("schema", "manifest")["schema"]["title"]
    assert shell.ok("schema", "task", "--legacy")["schema_format"] == "agentcli-legacy"
    assert shell.fails("schema", "nope")["error"] == "Unknown schema target: nope"
    assert shell.ok("describe")["description"]["name"] == "commands"
    assert shell.fails("describe", "nope")["error"] == "Unknown description target: nope"
    assert "standalone" in [target["name"] for target in shell.ok("targets")["targets"]]
    assert shell.ok("paths")["paths"]["root"] == str(shell.home)
    assert shell.ok("paths", "--home", "other")["paths"]["root"] == str(shell.folder / "other")


@requirement("agentcli:cli:skill-path")
def test_the_skill_is_there(shell):
    said = shell.ok("skill-path")

    assert Path(said["skill_path"]).read_text("utf-8").startswith("---\nname: manifest-authoring\n")
    assert said["home_skill_path"] == str(shell.home / "skills/manifest-authoring/SKILL.md")


@answers("compile")
def test_compiling_prints_and_writes(shell):
    path = shell.write("flow.json", GOOD)

    assert shell.ok("compile", path)["target"] == "standalone"
    assert shell.ok("compile", path, env={"AGENTCLI_TARGET": "openclaw-scheduler"})["output"]["jobs"]
    explained = shell.ok("compile", path, "--target", "standalone", "--explain", "--write", "out/plan.json")
    assert explained["written_to"] == str(shell.folder / "out/plan.json")
    assert json.loads((shell.folder / "out/plan.json").read_text()) == explained["output"]
    assert (shell.folder / "out/plan.json").stat().st_mode & 0o777 == 0o600
    assert shell.fails("compile", path, "--target", "nope")["error"] == "Unsupported compile target: nope"


@requirement("agentcli:cli:write-paths")
def test_nothing_is_written_outside_the_folder_or_through_a_link(shell):
    path = shell.write("flow.json", GOOD)
    outside = shell.folder.parent / f"{shell.folder.name}-outside"
    outside.mkdir()
    (shell.folder / "link").symlink_to(outside)
    (shell.folder / "file-link").symlink_to(path)
    (shell.folder / "folder").mkdir()

    for target, message in (
        ("../x.json", "Refusing to write outside the current working directory."),
        (str(outside / "x.json"), "Refusing to write outside the current working directory."),
        ("link/x.json", "Refusing to write through a symlink outside the current working directory."),
        ("file-link", "Refusing to overwrite a symbolic link."),
        ("folder", "Refusing to overwrite a non-regular file."),
        (".", "Output path must point to a file inside the current working directory."),
    ):
        assert shell.fails("compile", path, "--write", target)["error"] == message
    assert list(outside.iterdir()) == []


@requirement("agentcli:cli:convert")
@answers("convert")
def test_converting_prints_the_manifest_itself_or_says_where_it_is(shell):
    old = shell.write("old.json", manifest(prompt_task(), version="0.1"))

    assert shell.ok("convert", old)["version"] == "0.2"
    written = shell.ok("convert", old, "--output", "new.json")
    assert written == {"ok": True, "output": str(shell.folder / "new.json"), "version": "0.2"}
    assert shell.ok("validate", "new.json")["ok"] is True
    assert shell.fails("convert", "new.json")["error"] == "Input manifest must be version 0.1"


@requirement("agentcli:cli:merge")
@answers("merge")
def test_merging_concatenates_workflows(shell):
    one, two = shell.write("1.json", GOOD), shell.write("2.json", manifest(workflow={"id": "v"}))

    merged = shell.ok("merge", one, two, "--output", "both.json")
    assert [flow["id"] for flow in merged["manifest"]["workflows"]] == ["w", "v"]
    assert merged["written_to"] == str(shell.folder / "both.json")
    assert shell.fails("merge", one, one)["error"] == 'Duplicate workflow id "w"'


@requirement("agentcli:cli:registry", "agentcli:cli:import")
@answers("registry list", "registry add", "registry show", "registry remove", "import")
def test_the_registry_keeps_shows_and_forgets(shell):
    path = shell.write("flow.json", GOOD)
    shell.write("project/agentcli.json", GOOD)

    assert shell.ok("registry", "list") == {"ok": True, "entries": []}
    assert shell.ok("registry", "add", path)["name"] == "flow"
    assert shell.ok("registry", "add", path, "--name", "again")["overwritten"] is False
    assert shell.ok("registry", "show", "again")["manifest"] == GOOD
    assert shell.ok("import", "project")["discovery"] == "agentcli.json"
    names = [entry["name"] for entry in shell.ok("registry", "list")["entries"]]
    assert names == ["again", "flow", "project"]
    assert shell.ok("registry", "remove", "again") == {"ok": True, "name": "again", "removed": True}
    assert "not found" in shell.fails("registry", "show", "again")["error"]
    assert "No agentcli manifest found" in shell.fails("import", ".")["error"]
    assert shell.fails("registry", "nope")["code"] == "invalid_argument"


@requirement("agentcli:cli:init")
@answers("init")
def test_init_scaffolds_a_manifest_that_runs_and_never_overwrites(shell):
    made = shell.ok("init")
    task = made["manifest"]["workflows"][0]["tasks"][0]
    assert (made["manifest"]["workflows"][0]["id"], task["id"]) == ("default", "run")
    assert task["shell"] == {"program": "echo", "args": ["hello from agentcli"]}
    assert (task["schedule"], made["warnings"]) == ({"cron": "0 * * * *"}, [])
    assert (shell.home / "registry").stat().st_mode & 0o777 == 0o700
    assert shell.ok("validate", "agentcli.json")["ok"] is True
    assert shell.fails("init")["code"] == "invalid_argument"

    other = shell.ok(
        "init",
        "--tool",
        "no-such-tool-here",
        "--output",
        "sub/x.json",
        "--workflow-id",
        "w",
        "--task-id",
        "t",
    )
    assert other["manifest"]["workflows"][0]["tasks"][0]["shell"] == {
        "program": "no-such-tool-here",
        "args": [],
    }
    assert "not found on PATH" in other["warnings"][0]
    assert other["written_to"] == str(shell.folder / "sub/x.json")


@answers("apply", "inspect")
def test_applying_and_inspecting_a_scheduler(shell):
    stand_in = StandIn(shell.folder, capabilities("3", features={}))
    flags = ["--scheduler-bin", stand_in.script(), "--db", str(stand_in.database)]
    path = shell.write("flow.json", GOOD)

    checked = shell.ok("apply", path, "--check-capabilities", *flags)
    assert checked["compatibility"]["ok"] is True
    assert shell.ok("apply", path, "--dry-run", "--explain", *flags)["dry_run"] is True
    assert stand_in.rows() == []
    assert shell.ok("apply", path, "--adopt-by", "name", *flags)["actions"][0]["action"] == "created"
    lines = shell.run(
        "inspect", "jobs", "--db", str(stand_in.database), "--fields", "name", "--limit", "5", "--ndjson"
    )
    assert lines.stdout == '{"name":"A"}\n'
    assert (
        shell.ok("inspect", "--sanitize", "basic", env={"AGENTCLI_SCHEDULER_DB": str(stand_in.database)})[
            "count"
        ]
        == 1
    )
    for words, message in (
        (["apply", path, "--adopt-by", "x"], "Invalid --adopt-by value: x. Accepted values: id, name"),
        (["inspect", "--limit", "0"], "Invalid --limit value: 0. Must be a positive integer."),
        (["inspect", "--sanitize", "x"], "Unsupported sanitize mode: x. Accepted values: none, basic"),
    ):
        assert shell.fails(*words)["error"] == message


@requirement("agentcli:cli:binary")
@answers("exec", "audit", "verify")
def test_executing_a_task_is_recorded_and_a_failed_task_is_an_answer(shell):
    path = shell.write("flow.json", manifest(shell_task(), shell_task("bad", shell={"program": "false"})))

    dry = shell.ok("exec", path, "a", "--dry-run")
    assert dry["result"] == {"status": "dry_run"}
    done = shell.ok("exec", path, "a", "--signer", "none", "--timeout", "50000")
    assert done["result"]["stdout"] == "hi\n"
    failed = shell.ok("exec", path, "bad", "--signer", "none")
    assert (failed["ok"], failed["result"]["exit_code"]) == (False, 1)
    assert [record["execution_id"] for record in shell.ok("audit", "--limit", "2")["records"]] == [
        done["execution_id"],
        failed["execution_id"],
    ]
    verdict = shell.ok("verify", done["execution_id"])
    assert (verdict["ok"], verdict["verified"]) == (True, False)
    assert shell.fails("verify", "nope")["error"] == "Execution not found in audit log: nope"
    wrong = shell.fails("exec", path, "a", "--timeout", "x")
    assert wrong["error"] == "Invalid --timeout value: x. Must be a positive integer (milliseconds)."


@requirement("agentcli:cli:delegation")
def test_a_prompt_is_given_to_a_scheduler_once_or_refused_without_one(shell):
    path = shell.write(
        "flow.json", manifest(prompt_task(), prompt_task("no", approval={"policy": "auto-reject"}))
    )
    stand_in = StandIn(shell.folder, capabilities("3", features={"root_approval_gate": True}))

    refused = shell.fails("exec", path, "p")
    assert (refused["code"], "requires runtime delegation" in refused["error"]) == ("no_runtime", True)
    dry = shell.ok("exec", path, "p", "--dry-run")
    assert (dry["delegated"], dry["job_spec"]["delete_after_run"]) == (True, 1)
    assert "handoff_version" not in dry["job_spec"]
    assert shell.fails("exec", path, "no", "--dry-run")["code"] == "approval_auto_rejected"
    flags = ["--scheduler-bin", stand_in.script(), "--db", str(stand_in.database)]
    sent = shell.ok("exec", path, "p", *flags)
    assert (sent["status"], sent["execution_mode"]) == ("dispatched", "scheduler-dispatch")
    (row,) = stand_in.rows()
    assert (row["id"], row["delete_after_run"], row["payload_message"]) == (sent["job_id"], 1, "do it")


@requirement("agentcli:cli:delegation")
def test_a_scheduler_of_version_4_gets_an_artifact_for_one_run(shell):
    path = shell.write("flow.json", manifest(prompt_task()))
    stand_in = StandIn(shell.folder, capabilities("4"))
    env = {"AGENTCLI_SCHEDULER_BIN": stand_in.script(), "AGENTCLI_SCHEDULER_DB": str(stand_in.database)}

    assert shell.ok("exec", path, "p", env=env)["handoff_version"] == "4"
    (row,) = stand_in.rows()
    assert row["handoff_artifact_digest"].startswith("sha256:")
    assert json.loads(row["handoff_artifact_payload"])["lifecycle"]["delete_after_run"] is True


@requirement("agentcli:cli:binary")
@answers("run")
def test_running_a_workflow(shell):
    path = shell.write("flow.json", manifest(shell_task(), shell_task("b", **triggered("a"))))

    dry = shell.ok("run", path, "--all-roots", "--dry-run")
    assert [task["status"] for task in dry["tasks"]] == ["planned", "planned"]
    done = shell.ok("run", path, "--root", "a", "--signer", "none")
    assert done["summary"]["succeeded"] == 2
    failing = shell.write("failing.json", manifest(shell_task(shell={"program": "false"})))
    assert shell.ok("run", failing, "--signer", "none")["ok"] is False, "status 0 all the same"
    both = shell.fails("run", path, "--root", "a", "--all-roots")
    assert both["error"] == "Specify either --root or --all-roots, not both."


@answers("approve", "approvals list", "approvals revoke")
def test_a_grant_is_used_once_and_can_be_revoked(shell):
    path = shell.write("flow.json", APPROVED)
    unsigned = ["--signer", "none"]

    assert shell.fails("exec", path, "a", *unsigned)["code"] == "approval_required"
    granted = shell.ok("approve", path, "a", "--by", "boss", "--reason", "why", "--ttl-s", "3000", *unsigned)
    assert granted["approval"]["approver"] == "boss"
    assert shell.ok("exec", path, "a", *unsigned)["approval_used"]
    assert shell.fails("exec", path, "a", *unsigned)["code"] == "approval_required"
    second = shell.ok("approve", path, "a", *unsigned)["approval"]["approval_id"]
    assert shell.ok("approvals", "revoke", second, "--by", "boss") == {
        "ok": True,
        "approval_id": second,
        "status": "revoked",
    }
    listed = shell.ok("approvals", "list", "--workflow", "w", "--task", "a", "--status", "all")
    assert [record["status"] for record in listed["records"]] == ["consumed", "revoked"]
    assert shell.fails("approve", path, "a", "--ttl-s", "1.5")["error"] == (
        "Invalid --ttl-s value: 1.5. Must be a positive integer (seconds)."
    )


@answers(
    "identity providers", "identity schema", "identity resolve", "identity validate-delegation", "whoami",
    "authorization-proof methods", "authorization-proof schema", "authorization-proof verify",
    "authorization providers", "authorization schema", "authorization evaluate",
    "evidence providers", "evidence schema", "signing providers",
)  # fmt: skip
def test_providers_answer_in_the_shapes_of_that_program(shell):
    path = shell.write("flow.json", PROVED)

    assert shell.ok("identity", "providers")["providers"][0]["name"] == "stripe-api-key"
    assert shell.ok("identity", "schema", "env-bearer")["capabilities"]["auth_modes"] == ["service"]
    assert shell.ok("identity", "resolve", path, "a", "--workflow", "w")["principal_used"] == "agent://robot"
    assert shell.ok("identity", "validate-delegation", path, "a")["delegation"]["valid"] is True
    assert shell.ok("authorization-proof", "methods")["methods"][:2] == ["none", "jwt"]
    assert shell.ok("authorization-proof", "schema", "jwt")["verifier"]
    assert shell.ok("authorization-proof", "verify", path, "a")["authorization_proof"]["method"] == "none"
    assert shell.ok("authorization", "providers")["providers"][:2] == ["none", "opa"]
    assert shell.ok("authorization", "schema", "opa")["capabilities"]["escalation"] is True
    evaluated = shell.ok("authorization", "evaluate", path, "a")
    assert evaluated["authorization"]["decision"] == "permit"
    assert list(evaluated) == ["ok", "authorization"]
    assert shell.ok("evidence", "providers")["providers"][:2] == ["none", "ssh"]
    assert shell.ok("evidence", "schema", "ssh")["methods"] == ["ssh-signature"]
    assert [found["name"] for found in shell.ok("signing", "providers")["providers"]] == ["ssh", "none"]
    assert shell.fails("identity", "schema", "nope")["error"] == "Unknown identity provider: nope"


@requirement("agentcli:cli:whoami")
def test_whoami_says_as_whom_a_task_would_act(shell):
    path = shell.write("flow.json", PROVED)

    said = shell.ok("whoami", path, "a")
    assert list(said) == ["ok", "principal_used", "declared_identity", "resolved_identity", "trust"]
    assert (said["principal_used"], said["declared_identity"]["provider"]) == ("agent://robot", "none")
    assert shell.ok("whoami", json.dumps(GOOD), "a")["principal_used"] == "tester@host"


@answers("serve")
def test_serving_speaks_json_rpc_with_the_home_that_was_named(shell):
    asked = {"jsonrpc": "2.0", "id": 1, "method": "agentcli.paths"}
    done = shell.run("serve", "--db", "x.db", "--home", "other", input=json.dumps(asked) + "\n")

    ready, paths = map(json.loads, done.stdout.splitlines())
    assert ready["method"] == "agentcli.ready"
    assert paths["result"]["paths"]["root"] == str(shell.folder / "other")
    assert done.returncode == 0


def test_every_command_is_called_by_a_test_above():
    assert set(verbs()) == TRIED


def test_the_console_script_is_declared():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]

    assert scripts["operable-agentcli"] == "operable.cli.agentcli:main"
