"""Discovery: equal answers in every way to ask, from nothing but the command itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from operable.kernel.errors import Fail
from operable.tool import Check, Event, Tool
from operable.tool.discovery.capabilities import capabilities_document
from operable.tool.discovery.commands import schema_document
from operable.tool.front import understand
from tests.requirement import requirement
from tests.tool import notebook
from tests.tool.drive import Outcome, run

NOTEBOOK = Path(notebook.__file__)
MANIFEST = capabilities_document(notebook.tool)
COMMANDS: dict[str, Any] = {command["name"]: command for command in MANIFEST["commands"]}


class Hit(Event):
    rank: int


def document(outcome: Outcome) -> Any:
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    return json.loads(outcome.stdout)


# -- equal answers ---------------------------------------------------------------------------------------------------------


@requirement(
    "aoi:3:flags-equal-subcommands", "aoi:16.2:schema", "aoi:16.2:capabilities", "aoi:17:single-object"
)
@pytest.mark.parametrize("name", ["schema", "capabilities"])
def test_flags_and_subcommands_answer_the_same_in_every_output(name):
    expected = schema_document(notebook.tool, "2.1.0") if name == "schema" else MANIFEST
    for words in ([name], [f"--{name}"], [f"aoi-{name}"]):
        assert document(run(*words, output="json", tool=NOTEBOOK)) == expected
        stream = run(*words, tool=NOTEBOOK)
        assert [result["content"] for result in stream.results] == [expected]
        assert stream.summary["count"] == 1
        assert json.loads(run(*words, output=None, tool=NOTEBOOK).stdout) == expected
    assert document(run("--format", "json", name, output=None, tool=NOTEBOOK)) == expected


@requirement("aoi:10.1:schema-by-name", "aoi:10.1:schema-version", "aoi:19.2:schema")
def test_a_schema_is_had_by_version_and_by_name():
    old = document(run("schema", "--schema-version", "1", output="json", tool=NOTEBOOK))
    assert old["version"] == "1.0.0"
    assert "name" in old["$defs"]["hit"]["properties"]
    assert document(run("--schema", "--schema-version=1.0.0", output="json", tool=NOTEBOOK)) == old
    assert (
        document(
            run("schema", "--accept-schema", "com.example.notebook.events@1", output="json", tool=NOTEBOOK)
        )
        == old
    )
    by_name = document(run("schema", "--name", "com.example.notebook.events", output="json", tool=NOTEBOOK))
    assert by_name["version"] == "2.1.0"
    jsonschema_rs.meta.validate(old)


@requirement("aoi:10.1:schema-by-name")
@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["schema", "--name", "com.example.other"], "UNKNOWN_SCHEMA", 65),
        (["schema", "--schema-version", "7"], "UNSUPPORTED_SCHEMA_VERSION", 64),
        (["schema", "extra"], "UNEXPECTED_OPERAND", 64),
        (["input-schema"], "MISSING_OPTION", 64),
        (["input-schema", "--command", "serch"], "UNKNOWN_COMMAND", 64),
        (["input-schema", "--command", "search", "--items"], "NO_STRUCTURED_INPUT", 65),
        (["completion", "csh"], "INVALID_VALUE", 64),
        (["search", "x"], "INVALID_VALUE", 64),
        (["capabilities", "--limit", "3"], "UNKNOWN_OPTION", 64),
        (["capabilities", "--schema-version", "9"], "UNSUPPORTED_SCHEMA_VERSION", 64),
        (["completion", "bash", "--accept-schema", "x@1"], "UNSUPPORTED_SCHEMA_VERSION", 64),
    ],
)
def test_what_cannot_be_answered_is_one_structured_error_as_the_document(words, code, exit_code):
    refused = run(*words, output="json", tool=NOTEBOOK)

    error = json.loads(refused.stdout)
    assert (refused.exit_code, error["type"], error["code"]) == (exit_code, "aoi:error", code)
    assert error["hint"]
    streamed = run(*words, tool=NOTEBOOK)
    if words != ["search", "x"]:  # an output that it has not is no mistake in another one
        assert (streamed.exit_code, streamed.error["code"]) == (exit_code, code)


def test_an_unknown_schema_or_command_is_answered_with_the_known_ones():
    error = json.loads(run("schema", "--name", "x", output="json", tool=NOTEBOOK).stdout)
    assert error["supported"] == ["com.example.notebook.events"]
    error = json.loads(run("input-schema", "--command", "serch", output="json", tool=NOTEBOOK).stdout)
    assert error["hint"] == "did you mean notebook search?"


def test_flags_mean_our_commands_also_where_the_author_has_commands_of_those_names():
    tool = Tool("t", version="1.5", schema_name="x")

    @tool.command()
    def version(of: str) -> Iterator[Hit]:
        """Show the version of something."""
        yield Hit(rank=1)

    @tool.command("help")
    def help_(topic: str) -> Iterator[Hit]:
        """Help with something."""
        yield Hit(rank=1)

    assert understand(tool, ["version", "x"])[0].command is version
    assert understand(tool, ["help", "x"])[0].command is help_
    for words in (["--version"], ["--help"], ["-h"], ["help", "-h"], ["version", "--help"]):
        call, refused = understand(tool, words)
        assert refused is None
        assert call.command not in (version, help_)
        assert call.command.document


# -- from nothing ----------------------------------------------------------------------------------------------------------

# Watches from inside what the interpreter is asked for after the tool was loaded, and says so at the end.
WATCHED = """
import os, sys
seen = []
def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.system", "sqlite3.")):
        seen.append(event)
    elif event == "open" and (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+") or (arguments[2] or 0) & 3):
        seen.extend([f"write {arguments[0]}"] if arguments[0] not in ("/dev/null", "/dev/tty") else [])
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.putenv"):
        seen.append(event)
sys.path.insert(0, PLACE)
sys.argv = ["notebook", *WORDS]
exit_, os._exit = os._exit, lambda code: (os.write(2, repr(seen).encode()), exit_(code))
import notebook
sys.addaudithook(watch)
notebook.tool.main()
"""


@requirement("aoi:3:offline-discovery", "aoi:3.2:schema-needs-nothing", "aoi:3.1:sidecar-not-required")
@pytest.mark.parametrize(
    "words",
    [
        ["schema", "--output", "json"],
        ["--schema", "--output", "json"],
        ["schema", "--schema-version", "1", "--output", "jsonl"],
        ["capabilities", "--output", "json"],
        ["--capabilities", "--output", "jsonl"],
        ["input-schema", "--command", "import", "--output", "json"],
        ["completion", "bash", "--output", "json"],
        ["--version"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_discovery_needs_no_environment_no_home_no_network_and_writes_nothing(words, tmp_path):
    program = WATCHED.replace("PLACE", repr(str(NOTEBOOK.parent))).replace(
        "*WORDS", ", ".join(map(repr, words))
    )

    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={},
        cwd="/proc",
    )

    assert (done.returncode, done.stderr) == (0, "[]")
    assert done.stdout


@requirement("aoi:3.2:schema-needs-nothing")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take away the network and the right to write")
@pytest.mark.parametrize("words", [["schema"], ["capabilities"], ["doctor"]])
def test_discovery_works_without_network_on_a_read_only_file_system(words):
    cut_off = ["unshare", "--net", "--mount", "sh", "-c", 'mount -o remount,ro,bind / && exec "$@"', "sh"]
    if subprocess.run([*cut_off, "true"], capture_output=True, timeout=200, check=False).returncode:
        pytest.skip("this machine does not let root make namespaces")
    output = "jsonl" if words == ["doctor"] else "json"
    command = [sys.executable, str(NOTEBOOK), *words, "--output", output]
    env = {"PATH": os.environ["PATH"]}

    done, usual = (
        subprocess.run([*before, *command], capture_output=True, timeout=200, check=False, env=env)
        for before in (cut_off, [])
    )

    assert (done.stderr, done.returncode) == (b"", 65 if words == ["doctor"] else 0)
    assert said(done) == said(usual)


def said(done):
    """What a call has printed, without what differs from call to call."""
    return [
        {
            name: value
            for name, value in json.loads(line).items()
            if name not in ("elapsed_ms", "trace_id", "timestamp")
        }
        for line in done.stdout.splitlines()
    ]


@requirement("aoi:16.1:version")
def test_the_version_is_the_one_of_the_tool():
    assert run("--version", output=None, tool=NOTEBOOK).stdout == b"notebook 2.3.4\n"
    assert run("--version", tool=NOTEBOOK).results[0]["content"] == "notebook 2.3.4"


# -- input schemas ---------------------------------------------------------------------------------------------------------


@requirement("aoi:16.2:input-schema", "aoi:12.1:input-schema")
def test_input_schemas_are_had_for_every_command_and_its_items():
    for name in COMMANDS:
        arguments = document(
            run("input-schema", "--command", name, "--arguments", output="json", tool=NOTEBOOK)
        )
        jsonschema_rs.meta.validate(arguments)
        assert arguments["title"] == f"Arguments of notebook {name}"
    items = document(run("input-schema", "--command", "import", "--items", output="json", tool=NOTEBOOK))
    assert items["title"] == "One item of the input of notebook import"
    assert items["required"] == ["title"]


@requirement("aoi:12.1:input-schema")
def test_the_input_schema_of_a_command_is_that_of_its_structured_input_where_it_has_one():
    imports = document(run("input-schema", "--command", "import", output="json", tool=NOTEBOOK))
    search = document(run("input-schema", "--command", "search", output="json", tool=NOTEBOOK))
    both = run("input-schema", "--command", "import", "--items", "--arguments", output="json", tool=NOTEBOOK)

    assert imports["title"] == "One item of the input of notebook import"
    assert search["title"] == "Arguments of notebook search"
    assert both.exit_code == 64


# -- doctor ----------------------------------------------------------------------------------------------------------------


@requirement("aoi:16.2:doctor", "aoi:8.3:check", "aoi:19.3:doctor")
def test_the_doctor_makes_every_check_and_fails_when_one_that_matters_does():
    outcome = run("doctor", tool=NOTEBOOK)

    assert outcome.of("aoi:check") == [
        {"type": "aoi:check", "name": "paper", "ok": True, "severity": "info", "detail": "white"},
        {
            "type": "aoi:check",
            "name": "ink",
            "ok": False,
            "severity": "error",
            "detail": "The pen is empty",
            "hint": "buy ink",
        },
        {"type": "aoi:check", "name": "weather", "ok": False, "severity": "warning", "detail": "rain"},
    ]
    assert outcome.exit_code == 65
    assert (outcome.summary["ok"], outcome.summary["count"], outcome.summary["error_count"]) == (False, 3, 1)


def doctored(**checks: Any) -> list[dict[str, Any]]:
    tool = Tool("t", version="1.2", schema_name="x")
    for name, function in checks.items():
        tool.check(name)(function)
    command = tool.find("doctor")
    assert command is not None
    return [check.fields for check in command()]


def test_a_check_that_breaks_has_found_something_and_the_others_are_still_made():
    def fails() -> Check:
        raise Fail("config", "NO_CONFIG", "There is none", hint="make one")

    def breaks() -> Check:
        raise ValueError("cannot read https://user:hunter2@example.com/x")

    def unreadable() -> Check:
        raise PermissionError(13, "Permission denied", "/x")

    async def slow() -> Check:
        return Check(ok=True, detail="late but fine")

    checks = doctored(fails=fails, breaks=breaks, unreadable=unreadable, slow=slow)

    assert [(check["name"], check["ok"]) for check in checks] == [
        ("fails", False),
        ("breaks", False),
        ("unreadable", False),
        ("slow", True),
    ]
    assert (checks[0]["detail"], checks[0]["hint"]) == ("There is none", "make one")
    assert checks[1]["detail"].startswith("ValueError: cannot read https://")
    assert "hunter2" not in checks[1]["detail"]
    assert "Permission denied" in checks[2]["detail"]


def test_a_check_that_is_none_is_the_mistake_of_its_author():
    with pytest.raises(TypeError, match="'yes' returned bool; a check returns a Check"):
        doctored(yes=lambda: True)


def test_a_tool_without_checks_still_has_a_doctor():
    assert doctored() == [
        {"type": "aoi:check", "name": "tool", "ok": True, "severity": "info", "detail": "t 1.2 starts"}
    ]


def test_authors_may_call_an_event_document_because_ours_is_called_otherwise():
    tool = Tool("t", version="1", schema_name="x")

    class Document(Event):
        text: str

    def show() -> Iterator[Any]: ...  # type: ignore[empty-body]

    show.__annotations__["return"] = Iterator[Document]
    tool.command()(show)

    assert {"document", "discovery_document"} <= set(schema_document(tool, "1.0.0")["$defs"])
