"""Every durable writer on a file system that is really full: a clear error, the old content kept, nothing half-written."""

import ast
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.app.making import made
from tests.canary.scene import Scene
from tests.cli import agents as cli_agents
from tests.cli.drive import PROGRAM
from tests.distribution.test_signature import private_key
from tests.flow.disks import with_disk
from tests.full_disk_scenes import SCENES
from tests.host.launch.making import program, server
from tests.host.start.test_adapters import install as adapter
from tests.wrap.drive import CLI, TOOL, Made

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "operable"
# Calls that put something on disk to stay. `operable.state` has the mechanisms themselves: tests/state fills their disks.
DURABLE = {
    "write_whole",
    "write_together",
    "create_whole",
    "WholeFile",
    "link_new",
    "operator_log",
    "sqlite3.connect",
}
# Module -> the case below, or the test that fills its disk, or why nothing is lost with it.
WRITERS = {
    "agent.session.store": "tests/agent/test_surroundings.py::test_a_full_disk_is_told_once_and_the_conversation_goes_on",
    "cli.agent.drafts": "case: import",
    "cli.terminal.entry": "tests/cli/terminal/test_entry.py::test_a_full_disk_costs_the_history_and_nothing_else",
    "cli.app.packages": "case: signature",
    "cli.commands.init.client": "case: new client",
    "engine.backends.dbos": "scene: engine",
    "engine.place": "scene: engine",
    "engine.worker.attempt": "scene: output",
    "examples.outline.doctor": "memory",
    "flow.approve.store": "tests/flow/approve/test_local_approvals.py::test_a_full_disk_leaves_no_half_of_a_record",
    "flow.audit.log": "tests/flow/audit/test_log.py::test_a_full_disk_is_an_error_and_leaves_the_chain_whole",
    "flow.home": "tests/cli/commands/flow/test_durability.py::test_what_cannot_be_written_is_an_error_and_leaves_everything_as_it_was",
    "flow.scheduler.job_store": "tests/flow/scheduler/test_backends.py::test_a_full_disk_leaves_what_was_there_before",
    "flow.trust.proof_ledger": "tests/cli/commands/flow/test_durability.py::test_a_proof_whose_use_cannot_be_remembered_does_not_count",
    "gate.approvals": "scene: answer",
    "gate.audit.chain": "tests/host/session/test_session.py::test_a_full_disk_stops_the_session_and_tells_whoever_waits",
    "host.launch.ledger": "case: session",
    "host.installers.download": "case: install",
    "host.session.registry": "scene: registry",
    "host.session.session_requests": "scene: session request",
    "host.secrets.file": "case: secret",
    "lint.report": "tests/cli/lint/test_session.py::test_a_full_disk_leaves_the_old_file_whole_and_the_other_reports_written",
    "run.cassette": "case: recording",
    "serve.daemon": "scene: daemon",
    "serve.hooks": "scene: hook key",
    "serve.http.access.tokens": "scene: daemon tokens",
    "serve.mcp_transports": "case: token",
    "serve.session.prompt_queue": "scene: prompt queue",
    "serve.session.spawn": "scene: spawn request",
    "serve.session.workspaces": "scene: workspaces",
    "testing.cassettes": "scene: cassette",
    "tool.run.idempotency": "case: keyed",
    "wrap.author.verification": "case: verify",
    "wrap.wrappers.sqlite3.parser": "the database of the user: SQLite's own transactions",
}

MODE = re.compile(r"[rwaxbt+|:gzx2]{1,5}")
PLAIN_CALLS = {
    "move",
    "tempfile.mkstemp",
    "shutil.copyfile",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copytree",
}
# Those that open a file to write it, or name one, without the mechanisms above: the case, the test, or why nothing is lost.
PLAIN = {
    "agent.front": "standard error",
    "cli.engine.service": "the log of a detached worker: its runs are in the store",
    "agent.secrecy": "memory of this process",
    "cli.terminal.checkpoint": "tests/cli/terminal/test_checkpoint.py::test_a_full_disk_means_no_undo_and_says_so",
    "state.database": "scene: runs",
    "engine.worker.deliveries": "scene: delivery",
    "engine.store.transitions": "a state of a run, in a transaction of the store",
    "examples.outline.transaction": "tests/examples/outline/test_importing.py::test_a_full_disk_stops_an_import_and_leaves_the_store_as_it_was",
    "distribution.fetch": "a package that is looked at, in a temporary folder",
    "distribution.folder": "case: added app",
    "distribution.installation": "a package that is looked at, in a temporary folder",
    "flow.run.credentials": "tests/cli/commands/flow/test_durability.py::test_a_credential_that_finds_no_room_is_an_error_and_the_task_does_not_run",
    "flow.trust.policy.evaluator": "a pipe",
    "host.launch.fetch": "case: download",
    "host.session.log": "scene: log",
    "lint.lab.lab": "a room of a lint, which is temporary",
    "lint.lab.probe": "a room of a lint, which is temporary",
    "lint.lab.output": "the pipe of a tool",
    "offer.result": "tests/offer/test_result.py::test_a_disk_without_room_does_not_spoil_a_call_that_was_made",
    "proc.bridge": "an archive that travels to another machine, in a temporary folder",
    "proc.tree.keeper": "memory",
    "proc.sandbox.cgroup": "a file of the kernel",
    "proc.sandbox.egress.tls": "the certificate of one session, in a temporary folder",
    "proc.sandbox.enclosure": "the certificate of one session, in a temporary folder",
    "proc.sandbox.entry": "a file of the kernel, and memory",
    "proc.sandboxes.daytona": "a temporary file",
    "state.atomic": "tests/state/test_atomic.py::test_a_disk_that_is_full_leaves_the_old_file_and_no_draft",
    "state.cache": "tests/state/test_cache.py::test_where_nothing_can_be_kept_nothing_is_and_nothing_is_left",
    "state.lock": "scene: owner",
    "state.real_file": "scene: agent files",
    "testing.player": "what the script of a test names",
    "state.sqlite": "a private copy of a foreign database, in a temporary folder",
    "wrap.wrappers.pytest.plugin.operable_report": "standard output",
    "wrap.wrappers.terraform.parser": "a plan in a temporary folder; the commands of Terraform do the rest",
}


@cache
def writers() -> dict[Callable[[ast.Call, dict[str, str]], bool], set[str]]:
    """The modules that write durably, and those that write otherwise."""
    found: dict[Callable[[ast.Call, dict[str, str]], bool], set[str]] = {is_durable: set(), is_plain: set()}
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        tree = ast.parse(path.read_bytes())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        constants = {
            ast.unparse(node.targets[0]): ast.unparse(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
        }
        for writes, modules in found.items():
            if any(writes(node, constants) for node in calls):
                modules.add(module)
    return found


def is_durable(node: ast.Call, _: dict[str, str]) -> bool:
    return ast.unparse(node.func) in DURABLE


def is_plain(node: ast.Call, constants: dict[str, str]) -> bool:
    """Whether this opens a file to write it, or gives one its name, by whatever mechanism."""
    name = ast.unparse(node.func)
    # The first of `open` is the file; what is not on any disk is not meant.
    values = [*node.args[name == "open" :], *(word.value for word in node.keywords)]
    if any(ast.unparse(each) in ("os.devnull", "'/dev/tty'") for each in node.args):
        return False
    if name in PLAIN_CALLS or name.endswith((".write_text", ".write_bytes", ".touch")):
        return True
    if name in ("os.open", "open_private"):
        flags = " ".join(constants.get(ast.unparse(each), ast.unparse(each)) for each in values)
        return any(word in flags for word in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"))
    modes = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    opens = name == "open" or name.endswith(("fdopen", ".open", "NamedTemporaryFile", "TemporaryFile"))
    return opens and any(MODE.fullmatch(mode) and set(mode) & set("wax+") for mode in modes)


def test_every_durable_writer_has_its_full_disk():
    found = {module for module in writers()[is_durable] if not module.startswith("state.")}
    assert found == set(WRITERS)


def test_every_plain_writer_has_its_full_disk_or_a_reason():
    assert writers()[is_plain] - set(WRITERS) == set(PLAIN)


@pytest.mark.parametrize(
    "text, plain",
    [
        ("open('a', 'w')", True),
        ("open('a', mode='ab')", True),
        ("open('a', 'r+b')", True),
        ("os.open('a', os.O_APPEND | os.O_WRONLY)", True),
        ("FLAGS = os.O_CREAT | os.O_WRONLY\nos.open('a', FLAGS)", True),
        ("path.write_text('a')", True),
        ("move('a', 'b')", True),
        ("open('w')", False),
        ("open('a', 'rb')", False),
        ("os.open('a', os.O_RDONLY)", False),
        ("FLAGS = os.O_RDONLY\nos.open('a', FLAGS)", False),
    ],
)
def test_a_plain_writer_is_seen(text, plain):
    tree = ast.parse(text)
    constants = {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    assert any(isinstance(node, ast.Call) and is_plain(node, constants) for node in ast.walk(tree)) is plain


@pytest.mark.parametrize(
    "module", [name for name, place in {**WRITERS, **PLAIN}.items() if place.startswith("tests/")]
)
def test_the_test_that_fills_the_disk_of_a_writer_is_there(module):
    path, _, name = {**WRITERS, **PLAIN}[module].partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()


KEPT = ["sh", "-c", "printf old > DISK/x.cassette && mkdir -p DISK/home"]
SHOWN = ["sh", "-c", "cat DISK/x.cassette"]
SETTINGS = '{"agent_servers": {"Parrot": {"command": "parrot", "args": ["--acp"]}}}'
DRAFT = CLI | {"metadata": {"operable": {"unverified": True}}}
EXAMPLE = TOOL | {"examples": [{"name": "one", "input": {}, "note": "go --output jsonl"}]}
PROG = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\necho \'{"a":1}\'\n'
SECRET = {"id": "key", "kind": "prompt", "prompt": "Key?", "type": "secret", "persist": {"env": "KEY"}}
LARGE = b"#!/bin/sh\necho parrot 1.4.0\nexit\n" + b"#" * 1_000_000
ARCHIVE = gzip.compress(LARGE)  # fits into the room that is left, and what is in it does not
OWN_MANIFEST = ["sh", "-c", "printf mine > DISK/agents/parrot/AGENT-CLI.md"]


class Case(NamedTuple):
    """What is typed, and the error. `next`: the same words work when there is room again."""

    words: list[str]
    code: str
    status: int
    condition: str = "full"
    before: list[list[str]] = []  # noqa: RUF012 - read only
    env: dict[str, str] = {}  # noqa: RUF012 - read only
    next: bool = True


def cases(tmp_path: Path, address: str) -> dict[str, Case]:
    """Each writer, by the command line that reaches it; DISK is the full disk."""
    cwd = tmp_path / "cwd"
    canary = Scene(tmp_path / "scene", "local")
    agents = cli_agents.Scene(tmp_path / "agents")
    vendored: dict[str, Any] = {"bin": "parrot", "install": [{"method": "vendored", "path": "bin/parrot"}]}
    download = {"method": "download", "url": f"{address}/agent.gz", "extract_bin": "parrot"}
    download |= {"verify_sha256": hashlib.sha256(ARCHIVE).hexdigest()}
    large = {"method": "download", "url": f"{address}/agent", "extract_bin": "parrot"}
    large |= {"verify_sha256": hashlib.sha256(LARGE).hexdigest()}
    check = {"cmd": "parrot --version", "parse": r"(\d+\.\d+\.\d+)", "range": "^1.2"}
    parrot = agents.user("parrot", **vendored, version_check=check, setup=[SECRET])
    program(parrot / "bin" / "parrot", "echo parrot 1.4.0")
    agents.user("fetched", bin="parrot", install=[download], version_check=check)
    agents.user("large", bin="parrot", install=[large], version_check=check)
    (cwd / "settings.json").write_text(SETTINGS)
    (cwd / "answers.json").write_text(json.dumps({"key": "k" * 400_000}))
    (cwd / "key").write_bytes(private_key())
    (cwd / "key").chmod(0o600)
    (tmp_path / "site").mkdir()
    adapter(tmp_path / "site")
    (tmp_path / "wrapper").mkdir()
    wrapper = Made(tmp_path / "wrapper", PROG, cli=DRAFT, tool=EXAMPLE)
    wrapped = wrapper.env | {"OPERABLE_WRAPPERS": str(tmp_path / "disk" / "wrappers")}
    copied = [["cp", "-r", str(canary.folder / "home" / "config"), "DISK/home/"]]
    owned = [["cp", "-r", str(agents.home / "config"), "DISK/home/"]]
    imported = ["agent", "import", "zed", "settings.json", "--to", "DISK/agents"]
    record = ["record", "--exact", "--to", "DISK/y.cassette", "--", sys.executable, "-c", "print(1)"]
    manifest = str(canary.manifest)
    return {
        "recording": Case(record, "CANNOT_WRITE", 73, next=False),
        "consent": Case(["app", "approve", str(made(cwd / "apps" / "notes")), "--confirm"], "APPROVALS_NOT_WRITTEN", 74),
        "session": Case(["agent", "prompt", "leaking", "--prompt", "x"], "LEDGER_UNUSABLE", 74, before=copied, next=False),
        "manifest consent": Case(["agent", "approve", manifest], "APPROVALS_NOT_WRITTEN", 74),
        "adapter": Case(["agent", "approve", "@vendor/evil", "--adapter"], "APPROVALS_NOT_WRITTEN", 74, env={"PYTHONPATH": str(tmp_path / "site")}),
        "state folder": Case(["agent", "approve", manifest], "STATE_DIRECTORY_UNUSABLE", 74, "no names"),
        "import": Case(imported, "CANNOT_WRITE", 73),
        "import again": Case([*imported, "--force"], "CANNOT_WRITE", 73, "a single page", before=[[PROGRAM, *imported], OWN_MANIFEST]),
        "new app": Case(["init", "app", "notes", "--to", "DISK/apps"], "CANNOT_WRITE", 73),
        "new wrapper": Case(["init", "wrap", "ls", "--to", "DISK/wraps"], "CANNOT_WRITE", 73),
        "new client": Case(["init", "client", str(Path(sys.executable).parent / "outline"), "--to", "DISK"], "CANNOT_WRITE", 73),
        "token": Case(["mcp", "--http", "--port", "0"], "STATE_UNWRITABLE", 74, next=False),
        "verify": Case(["wrap", "verify", "prog"], "CANNOT_WRITE", 73, before=[["cp", "-r", str(wrapper.path.parent), "DISK"]], env=wrapped),
        "secret": Case(["agent", "setup", "parrot", "--answers", "answers.json"], "SETUP_FAILED", 74, "some room", before=[*owned, [PROGRAM, "agent", "install", "parrot"]]),
        "install": Case(["agent", "install", "fetched"], "INSTALL_FAILED", 74, "some room", before=[*owned, [PROGRAM, "agent", "list"]]),
        "download": Case(["agent", "install", "large"], "INSTALL_FAILED", 74, "some room", before=[*owned, [PROGRAM, "agent", "list"]]),
        "added wrapper": Case(["wrap", "add", str(wrapper.path), "--confirm"], "CANNOT_WRITE", 73),
        "added app": Case(["app", "add", str(made(cwd / "apps" / "added")), "--confirm"], "CANNOT_WRITE", 73),
        "signature": Case(["app", "sign", "DISK/signed", "--key", str(cwd / "key")], "CANNOT_WRITE", 73, before=[["cp", "-r", str(made(cwd / "apps" / "signed")), "DISK"]]),
        "keyed": Case(["init", "app", "keyed", "--idempotency-key", "k"], "STATE_DIRECTORY_UNUSABLE", 74),
    }  # fmt: skip


NAMES = [
    *("recording", "consent", "session", "manifest consent", "adapter", "state folder", "import"),
    *(
        "import again",
        "new app",
        "new wrapper",
        "new client",
        "token",
        "verify",
        "secret",
        "install",
        "download",
        "added wrapper",
        "added app",
    ),
    *("signature", "keyed"),
]


def test_every_case_of_the_table_is_run():
    told = {place.partition(": ")[2] for place in {**WRITERS, **PLAIN}.values() if place.startswith("case: ")}
    assert told <= set(NAMES)
    scenes = {
        place.partition(": ")[2] for place in {**WRITERS, **PLAIN}.values() if place.startswith("scene: ")
    }
    assert scenes <= set(SCENES)


@pytest.mark.parametrize("name", NAMES)
def test_a_writer_on_a_full_disk_says_so_and_keeps_what_was_there(tmp_path, name):
    for folder in ("cwd", "scene", "agents"):
        (tmp_path / folder).mkdir()
    with server({"/agent.gz": ARCHIVE, "/agent": LARGE}) as address:
        every = cases(tmp_path, address)
        assert list(every) == NAMES
        case = every[name]
        words = list(case.words)
        place = 1 if words[0] in ("record", "mcp") else 2
        words[place:place] = ["--output", "jsonl"]  # behind `--` it would be the tool's
        # An empty database may stay: the next start with room makes it anew.
        look = ["sh", "-c", "cd DISK && find . -type f ! -name fill ! -path './names/*' ! -name '*.sqlite*' ! -path '*/agents/locks/*' ! -name '*.lock' | sort | xargs sha256sum"]  # fmt: skip

        found = with_disk(
            tmp_path / "disk",
            case.condition,
            before=[KEPT, *case.before, look],
            command=[PROGRAM, *words],
            after=[look, *([[PROGRAM, *words]] if case.next else [])],
            cwd=str(tmp_path / "cwd"),
            env={"OPERABLE_HOME": str(tmp_path / "disk" / "home"), **case.env},
        )

    returned, stdout, stderr = found["command"]
    assert [each[0] for each in found["before"]] == [0] * len(found["before"]), found["before"]
    (error,) = [event for event in map(json.loads, stdout.splitlines()) if event["type"] == "aoi:error"]
    assert (returned, error["category"], error["code"]) == (case.status, "io", case.code), error
    assert error["hint"]
    assert any(word in error["message"] for word in ("No space left", "full", "disk I/O")), error["message"]
    assert "Traceback" not in stdout + stderr
    assert found["after"][0] == found["before"][-1]
    assert [each[0] for each in found["after"]] == [0] * len(found["after"]), found["after"]


@pytest.mark.parametrize("name", SCENES)
def test_a_writer_that_fills_its_disk_refuses_by_name_and_goes_on_when_there_is_room(tmp_path, name):
    (tmp_path / "cwd").mkdir()
    found = with_disk(
        tmp_path / "work",
        "sound",
        before=[],
        command=[sys.executable, "-m", "tests.full_disk_scenes", name, "DISK"],
        after=[],
        cwd=str(tmp_path / "cwd"),
        env={"PYTHONPATH": str(ROOT), "TESTS_START": "real"},  # the disk is not that of a server of forks
    )

    status, _, stderr = found["command"]
    assert status == 0, stderr
