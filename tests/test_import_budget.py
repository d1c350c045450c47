"""What a start may import: we want time, and assert the import list, which does not depend on the machine.

The list is exact. A module that is missing here may be taken out of it; one that is too many costs every start of every
tool, so it needs a reason. `./dev bench` has the times.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Each of these costs at least a tenth of the interpreter's own start; none is needed to answer one machine-mode call.
HEAVY = {
    *("argparse", "asyncio", "collections", "contextlib", "dataclasses", "datetime", "enum", "functools"),
    *("hashlib", "importlib.metadata", "inspect", "json", "logging", "pathlib", "random", "re", "signal"),
    *("selectors", "socket", "sqlite3", "subprocess", "tempfile", "threading", "traceback", "typing", "uuid"),
    *("msgspec", "rich", "jsonschema_rs"),
}
TOOL = """
from operable.tool import Event, Page, Tool
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal
tool = Tool("small", version="1.0", schema_name="com.example.small.events")
class Hit(Event):
    "One hit."
    rank: int
    title: str
    score: "float | None" = None
@tool.command(cursor="rank")
def search(words: str, *, times: int = 10, kind: 'Literal["a", "b"]' = "a", page: Page) -> "Iterator[Hit]":
    "Search."
    for rank in range((page.after or 0) + 1, times + 1):
        yield Hit(rank=rank, title=f"{words} é \\n {rank}")
"""

# Declaring the tool with its events and a `Page`, and ending the process.
ALWAYS = {
    *("operable", "operable.tool", "operable.tool.tool", "operable.tool.process"),
    *("operable.tool.declaration", "operable.tool.kinds", "operable.tool.records", "operable.tool.signature"),
}
ERRORS = {"operable.kernel", "operable.kernel.errors"}
BUILDING = {
    "__future__",  # of the modules that build; those of a call write annotations in quotes
    *("_json", "operable.spec", "operable.spec.framework_events", "operable.tool.discovery"),
    *("operable.tool.discovery.commands", "operable.tool.discovery.schema", "operable.tool.document"),
    *("operable.tool.annotations", "operable.tool.encoders"),
    *("operable.state", "operable.state.cache"),  # once: what was built is kept
}
CALL = {
    "gc",  # switched off while a command starts
    "operable.tool.annotations",  # for the `Literal` of one option
    *("operable.tool.arguments", "operable.tool.front", "operable.tool.interrupt", "operable.tool.outflow"),
    *(
        "operable.tool.runner",
        "operable.tool.supervision",
        "operable.tool.writer",
    ),
}
NAMES = {"operable.kernel.redact", "operable.kernel.redact.names"}
# The watch over a run takes its first look after some milliseconds, which a busy machine makes of the shortest run.
WATCH = {"select"}
SHA256 = "_sha256" if sys.version_info < (3, 12) else "_sha2"
BUDGETS = {
    "schema --output json": BUILDING | ERRORS,
    "capabilities --output json": BUILDING
    | ERRORS
    | {
        *("operable.tool.arguments", "operable.tool.discovery.capabilities"),
        *("operable.tool.discovery.help_text", "operable.tool.discovery.versions"),
    },
    "search x --output jsonl": CALL | ERRORS,
    # An option of the tool's own might be a secret.
    "search x --kind b --times 5 --timeout 5 --output jsonl": CALL | ERRORS | NAMES,
    # There is more, so the summary has a cursor.
    "search x --limit 3 --output jsonl": CALL
    | ERRORS
    | NAMES
    | {
        "__future__",
        "_json",
        "binascii",
        "operable.kernel.canonical",
        "operable.tool.run",
        "operable.tool.run.cursor",
        SHA256,
    },
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "__init__.py").touch()
    (tmp_path / "small" / "cli.py").write_text(TOOL)
    return tmp_path


def imported(program: str, *words: str) -> set[str]:
    """The modules that a fresh interpreter looks for while it runs a program; it may end in any way."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=environment,
    )
    assert done.returncode in (0, 64), done.stderr
    lines = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line]
    return set(lines)


def beyond_the_interpreter(package: Path, *words: str) -> set[str]:
    program = f"import sys; sys.path.insert(0, {str(package)!r}); from small.cli import tool; tool.main()"
    return imported(program, *words) - imported("pass") - {"small", "small.cli"}


@pytest.mark.parametrize("line", BUDGETS)
def test_a_start_imports_exactly_what_it_needs(package, line):
    found = beyond_the_interpreter(package, *line.split())

    assert found & HEAVY == set()
    assert found - ALWAYS - BUDGETS[line] - WATCH == set(), "too many"
    assert (ALWAYS | BUDGETS[line]) - found == set(), "no longer needed: take it out of the list"


@pytest.mark.parametrize("name", ["schema", "capabilities"])
def test_a_kept_document_is_served_by_one_module_and_a_file(package, name):
    beyond_the_interpreter(package, name, "--output", "json")

    found = beyond_the_interpreter(package, name, "--output", "json")

    assert found == ALWAYS | {"operable.tool.document"}


def test_the_version_is_told_without_looking_for_a_command(package):
    assert beyond_the_interpreter(package, "--version") == ALWAYS


@pytest.mark.parametrize(
    "words",
    [["search", "x"], ["--help"], ["search", "--help"]],
    ids=" ".join,
)
def test_people_are_answered_without_what_they_do_not_see(package, words):
    assert beyond_the_interpreter(package, *words) & HEAVY == set()


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["agent", "--help"], ["wrap", "--help"]], ids=" ".join
)
def test_operable_is_explained_without_what_its_commands_need(words):
    assert imported("from operable.cli import main; main()", *words) & HEAVY == set()


@pytest.mark.parametrize(
    "words", [["search"], ["search", "x", "--bogus"], ["nonsense"], ["--help"], ["--version"]], ids=" ".join
)
def test_what_is_refused_or_explained_in_machine_mode_starts_no_libraries_of_others(package, words):
    found = beyond_the_interpreter(package, *words, "--output", "jsonl")

    assert found & {"msgspec", "rich", "asyncio", "argparse", "inspect", "dataclasses", "typing"} == set()


@pytest.mark.parametrize("module", ["operable", "operable.kernel.errors", "operable.tool"])
def test_loading_the_hot_path_loads_nothing_heavy(module):
    assert imported(f"import {module}") & HEAVY == set()


def test_a_session_starts_without_the_reader_of_shell_lines():
    """Twelve milliseconds; the first command line that is judged loads it."""
    found = imported("import operable.host.policy.gate, operable.host.session.client_methods")

    assert "operable.gate.policy.pattern" in found
    assert {name for name in found if name.startswith("operable.gate.policy.shell.")} == {
        "operable.gate.policy.shell.command_context",
        "operable.gate.policy.shell.text",
    }


def test_a_session_starts_without_compiling_the_methods_of_dataclasses():
    """Six for each class, a quarter of the start; `kernel.data_class` compiles one, for the first instance."""
    program = """if True:
        import sys
        import operable.cli.commands.agent.prompt, operable.host.start.sequence, operable.host.session.turns
        classes = {
            kind
            for name, module in list(sys.modules.items()) if name.startswith("operable.")
            for kind in vars(module).values() if isinstance(kind, type) and hasattr(kind, "__dataclass_params__")
        }
        compiled = sorted(kind.__qualname__ for kind in classes if kind.__dataclass_params__.init)
        print(len(classes), *compiled)
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=200, check=True
    )
    count, *compiled = done.stdout.split()

    assert int(count) > 50
    assert compiled == [], "use operable.kernel.data_class"


@pytest.mark.needs("git")
@pytest.mark.parametrize("command", ["log", "status"])
def test_a_wrapped_program_is_run_without_libraries_that_it_does_not_need(command):
    program = "from operable.wrap.front import shim_main; shim_main('git')"
    words = (command, "--limit", "1", "--output", "jsonl")
    imported(program, *words)  # its plan is kept from now on

    found = imported(program, *words)

    assert "operable.proc.child" in found
    assert found & HEAVY == set()


def test_a_task_is_run_without_the_gate_where_there_is_no_policy_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    task = {
        "id": "build",
        "name": "Build",
        "target": {"session_target": "shell"},
        "schedule": {"cron": "0 3 * * *"},
        "shell": {"program": "true"},
    }
    manifest = tmp_path / "nightly.json"
    manifest.write_text(
        json.dumps({"version": "0.1", "workflows": [{"id": "nightly", "name": "Nightly", "tasks": [task]}]})
    )

    found = imported("from operable.cli import main; main()", "flow", "run", str(manifest), "--root", "build")

    assert "operable.flow.run.executor" in found
    assert found & {"asyncio", "operable.gate.approvals"} == set()
