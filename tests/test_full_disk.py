"""Every durable writer on a file system that is really full: a clear error, the old content kept, nothing half-written."""

import ast
import json
import sys
from pathlib import Path

import pytest

from tests.app.making import made
from tests.canary.scene import Scene
from tests.cli.drive import PROGRAM
from tests.flow.disks import with_disk

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "operable"
# Calls that put something on disk to stay. `operable.state` has the mechanisms themselves: tests/state fills their disks.
DURABLE = {"write_whole", "create_whole", "WholeFile", "link_new", "operator_log", "sqlite3.connect"}
# Module -> the case below, or the test that fills its disk, or why nothing is lost with it.
WRITERS = {
    "agent.store": "tests/agent/test_surroundings.py::test_a_full_disk_is_told_once_and_the_conversation_goes_on",
    "cli.agents_drafts": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "flow.approve.store": "tests/flow/approve/test_local_approvals.py::test_a_full_disk_leaves_no_half_of_a_record",
    "flow.audit.log": "tests/flow/audit/test_log.py::test_a_full_disk_is_an_error_and_leaves_the_chain_whole",
    "flow.home": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "flow.scheduler.job_store": "tests/flow/scheduler/test_operable.py::test_a_full_disk_leaves_what_was_there_before",
    "flow.trust.proof_ledger": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "host.approvals": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "host.audit": "tests/host/test_session.py::test_a_full_disk_stops_the_session_and_tells_whoever_waits",
    "host.launch.ledger": "case: session",
    "host.launch.unpack": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "host.registry": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "host.secrets.file": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "lint.reporting": "tests/cli/test_linting.py::test_a_full_disk_leaves_the_old_file_whole_and_the_other_reports_written",
    "lint.tree": "opens a database to read",
    "run.recording": "case: recording",
    "serve.mcp_transports": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "tool.idempotency": "tests/tool/test_mutation.py::test_with_a_full_disk_a_mutation_does_not_begin",
    "wrap.verifying": "writes whole files only (tests/state/test_atomic.py); its own error has no test yet",
    "wrap.wrappers.sqlite3.parser": "the database of the user: SQLite's own transactions",
}


def durable_modules() -> set[str]:
    found = set()
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in DURABLE:
                found.add(module)
    return {module for module in found if not module.startswith("state.")}


def test_every_durable_writer_has_its_full_disk():
    assert durable_modules() == set(WRITERS)


@pytest.mark.parametrize("module", [name for name, place in WRITERS.items() if place.startswith("tests/")])
def test_the_test_that_fills_the_disk_of_a_writer_is_there(module):
    path, _, name = WRITERS[module].partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()


KEPT = ["sh", "-c", "printf old > DISK/x.cassette && mkdir -p DISK/home"]
SHOWN = ["sh", "-c", "cat DISK/x.cassette"]


@pytest.mark.parametrize(
    "case, code, status",
    [
        ("recording", "CANNOT_WRITE", 73),
        ("consent", "APPROVALS_NOT_WRITTEN", 74),
        ("session", "LEDGER_UNUSABLE", 74),
    ],
)
def test_a_writer_on_a_full_disk_says_so_and_keeps_what_was_there(tmp_path, case, code, status):
    for name in ("cwd", "scene"):
        (tmp_path / name).mkdir()
    scene = Scene(tmp_path / "scene", "local")
    commands = {
        "recording": ["record", "--exact", "--to", "DISK/y.cassette", "--", sys.executable, "-c", "print(1)"],
        "consent": ["app", "approve", str(made(tmp_path / "cwd" / "apps" / "notes")), "--confirm"],
        "session": ["agent", "prompt", "leaking", "--prompt", "x"],
    }
    words = commands[case]
    place = 1 if case == "recording" else 2
    before = [KEPT, ["cp", "-r", str(scene.folder / "home" / "config"), "DISK/home/"]]
    words[place:place] = ["--output", "jsonl"]  # behind `--` it would be the tool's

    found = with_disk(
        tmp_path / "disk",
        "full",
        before=before,
        command=[PROGRAM, *words],
        after=[SHOWN],
        cwd=str(tmp_path / "cwd"),
        env={"OPERABLE_HOME": str(tmp_path / "disk" / "home")},
    )

    returned, stdout, stderr = found["command"]
    (error,) = [event for event in map(json.loads, stdout.splitlines()) if event["type"] == "aoi:error"]
    assert [each[0] for each in found["before"]] == [0, 0]
    assert (returned, error["category"], error["code"]) == (status, "io", code)
    assert error["hint"]
    assert "Traceback" not in stdout + stderr
    assert found["after"] == [[0, "old", ""]]
    drafts = [name for name in found["left"] if name.endswith((".new", ".draft", ".tmp", "y.cassette"))]
    assert drafts == []
