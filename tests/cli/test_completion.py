"""Completion of what exists on this machine: `operable --complete` offers what the commands list, and only reads."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import operable as operable_package
from operable.cli import tool
from operable.host.session.registry import Registry, SessionMeta
from operable.tool.discovery.candidates import kind_of, kinds
from tests.app.making import made
from tests.cli.drive import SURROUNDINGS, operable
from tests.tool.drive import Outcome
from tests.tool.shells import shell

SHELLS = [
    "bash",
    pytest.param("zsh", marks=pytest.mark.needs("zsh")),
    pytest.param("fish", marks=pytest.mark.needs("fish")),
]
# Parameters of a name that a kind has elsewhere, which are something else here.
OTHER = {
    "agent sessions:agent",  # the id of an agent's manifest counts, which is not always its name
    "agent prompt:session",  # the id of one that begins
    "agent chat:session",
}
# A process that may neither start another one, nor write, nor open a connection. It reports the modules that it loads.
WATCHED = """
import os, sys
def watch(event, args):
    writes = event == "open" and (set(str(args[1])) & set("wax+") if args[1] else args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    if writes or event.partition(".")[0] in ("subprocess", "socket") or event in (
        "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "os.mkdir"
    ):
        os.write(2, f"{event} {args!r}"[:500].encode() + b"\\n")
from operable.cli import main
sys.argv[0] = "operable"
sys.addaudithook(watch)
import operable.tool.process as process
leave = process.leave
def last(code):
    os.write(2, ("modules " + " ".join(sys.modules) + "\\n").encode())
    leave(code)
process.leave = last
main()
"""
HEAVY = {
    "ruamel.yaml",
    "msgspec",
    "asyncio",
    "subprocess",
    "rich",
    "jsonschema_rs",
    "socket",
    "ssl",
    "http",
    "operable.host",
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project and a home with something of each kind. Returns the project."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    made(project / "apps" / "one")
    made(project / "apps" / "folder", slug="two")
    made(tmp_path / "home" / "apps" / "three")
    bundled = Path(operable_package.__file__).parent / "host" / "agents" / "goose"
    for folder in (project / ".agents" / "mine", tmp_path / "home" / "config" / "agents" / "own"):
        shutil.copytree(bundled, folder)
        manifest = folder / "AGENT-CLI.md"
        manifest.write_text(manifest.read_text().replace("name: goose", f"name: {folder.name}-agent", 1))
    registry = Registry()
    for number in range(3):
        registry.create(SessionMeta(f"ses_{number}", "goose", "project-0123456789", str(project)))
    assert operable("flow", "init", output=None).exit_code == 0
    for words in (("flow", "apply", "workflow.json"), ("engine", "trigger", "default/run")):
        assert operable(*words, "--confirm").exit_code == 0
    return project


def offered(*words: str) -> list[str]:
    done = operable("--complete", *words, output=None)
    assert (done.exit_code, done.stderr) == (0, ""), done
    return [line.partition("\t")[0] for line in done.stdout.decode().splitlines()]


def listed(field: str, *words: str) -> set[str]:
    done: Outcome = operable(*words)
    assert done.exit_code == 0, done
    return {event[field] for event in done.results}


def test_what_the_commands_list_is_offered_and_nothing_else(machine):
    assert set(offered("agents", "")) == listed("name", "agent", "list")
    assert set(offered("apps", "")) == listed("slug", "app", "list") == {"one", "two", "three"}
    assert set(offered("sessions", "")) == listed("id", "agent", "sessions") == {"ses_0", "ses_1", "ses_2"}
    assert set(offered("runs", "")) == listed("run_id", "engine", "runs")
    assert set(offered("wrapped", "")) == listed("name", "wrap", "list")
    assert offered("jobs", "") == ["default/run"]
    assert offered("tasks", "", "flow", "exec", "workflow.json") == ["run"]
    assert set(offered("things", "")) >= {"goose", "mine-agent", "own-agent", "one", "git"}
    assert {"EXTRA_MISSING", "COUNT_DIFFERS", "usage", "78"} <= {
        *offered("codes", "E"),
        *offered("codes", "C"),
        *offered("codes", "u"),
        *offered("codes", "7"),
    }
    assert {"status", "worktree"} <= set(offered("wrapped-commands", "", "wrap", "git"))
    assert offered("wrapped-commands", "", "wrap", "nothing") == []


def test_the_commands_know_what_is_offered(machine):
    for name in offered("agents", ""):
        shown = operable("agent", "show", name)
        assert shown.exit_code == 0 or shown.error["code"] != "UNKNOWN_AGENT"
    assert operable("explain", *offered("codes", "AG")).exit_code == 0


def test_a_database_of_a_server_is_not_asked(machine, monkeypatch):
    monkeypatch.setenv("OPERABLE_DATABASE", "postgresql://user:secret@127.0.0.1:9/none")

    assert (offered("runs", ""), offered("jobs", "")) == ([], [])


def test_a_machine_that_has_nothing_offers_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)

    for kind in ("apps", "sessions", "runs", "jobs", "tasks"):
        assert offered(kind, "") == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "[" * 100_000,
        '{"workflows": 3}',
        '{"workflows": [{"tasks": [{"id": 3}, 4]}]}',
        "x" * 2_000_000,
    ],
)
def test_a_manifest_that_is_none_has_no_tasks(tmp_path, content):
    (tmp_path / "w.json").write_text(content)

    done = operable("--complete", "tasks", "", "flow", "exec", str(tmp_path / "w.json"), output=None)

    assert done.stdout == b""


def test_what_a_project_puts_in_the_way_delays_nothing_and_is_not_obeyed(machine):
    os.mkfifo(machine / "pipe.json")
    (machine / "apps" / "pipe").mkdir()
    os.mkfifo(machine / "apps" / "pipe" / "APP.md")
    (machine / ".agents" / "link").mkdir()
    (machine / ".agents" / "link" / "AGENT-CLI.md").symlink_to("/dev/zero")
    for name in ("json.py", "operable.py", "sitecustomize.py", "signal.py"):
        (machine / name).write_text("open('owned', 'w')")
    (machine / ".env").write_text("OPERABLE_HOME=/nonsense\n")

    assert set(offered("apps", "")) == {"one", "two", "three"}
    assert "mine-agent" in offered("agents", "")
    assert offered("tasks", "", "flow", "exec", "pipe.json") == []
    assert not (machine / "owned").exists()


@pytest.mark.parametrize("kind", sorted(kinds("operable.cli.completions")))
def test_an_answer_only_reads_and_loads_nothing_heavy(machine, kind):
    offered(kind, "", "wrap", "git", "workflow.json")  # what a plan of a wrapper keeps is kept now
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, "--complete", kind, "", "wrap", "git", "workflow.json"],
        capture_output=True, text=True, check=False, timeout=200, env=os.environ | SURROUNDINGS,
    )  # fmt: skip
    *events, modules = done.stderr.splitlines()

    assert (done.returncode, events) == (0, [])
    assert set(modules.split()) & HEAVY == set()


def test_every_place_is_a_word_of_a_command():
    found = [f"{command.name}:{param.name}" for command in commands() for param in command.params]
    known = kinds("operable.cli.completions")

    for place in (each for places in known.values() for each in places if ":" in each):
        assert any(kind_of({"this": (place,)}, *_parted(each)) for each in found), place


def test_a_name_of_a_session_a_run_a_job_or_a_task_is_completed_wherever_it_is_typed():
    known = kinds("operable.cli.completions")
    missing = {
        f"{command.name}:{param.name}"
        for command in commands()
        for param in command.params
        if param.name in {"session", "run", "job", "task", "app", "agent"}
        and param.kind.base in ("string", "array")
        if not kind_of(known, command, param.name)
    }

    assert missing - OTHER == set()


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_completes_what_exists(machine, name, tmp_path):
    (machine / "goose").mkdir()
    script = operable("completion", name, output=None).stdout.decode()
    env = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "OPERABLE_HOME": os.environ["OPERABLE_HOME"],
    }
    with shell(name, script, tmp_path / "shell", machine, env) as person:
        for typed, line in {
            "agent show mi": "agent show mine-agent ",
            "agent show goo": "agent show goose ",
            "agent logs ses_2": "agent logs ses_2 ",
            "app call tw": "app call two ",
            "app inspect thr": "app inspect three ",
            "wrap rg se": "wrap rg search ",
            "wrap show sqli": "wrap show sqlite3 ",
            "flow exec workflow.json r": "flow exec workflow.json run ",
            "flow run workflow.json --root r": "flow run workflow.json --root run ",
            "engine trigger def": "engine trigger default/run ",
            "engine logs run": f"engine logs {offered('runs', '')[0]} ",
            "catalog min": "catalog mine-agent ",
            "explain EXTRA_M": "explain EXTRA_MISSING ",
            "agent prompt goose --resume ses_1": "agent prompt goose --resume ses_1 ",
            "flow exec work": "flow exec workflow.json ",
        }.items():
            assert person.after(f"operable {typed}\t") == f"operable {line}"
        assert b"rror" not in person.screen


def commands():
    return [command for name in tool.names() if (command := tool.find(name)) is not None]


def _parted(place: str):
    name, _, parameter = place.partition(":")
    command = tool.find(name)
    assert command is not None
    return command, parameter
