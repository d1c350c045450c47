"""`operable flow …`: workflow manifests judged, compiled, converted and bound on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import BIN, operable
from tests.flow.manifests import manifest, prompt_task, shell_task
from tests.tool.drive import terminal


@pytest.fixture
def file(tmp_path):
    def write(value):
        path = tmp_path / "workflow.json"
        path.write_text(json.dumps(value), "utf-8")
        return str(path)

    return write


def test_a_good_manifest_gets_a_verdict_and_status_0(file):
    path = file(manifest())

    outcome = operable("flow", "validate", path)

    assert outcome.exit_code == 0
    assert outcome.of("flow_verdict") == [
        {"type": "flow_verdict", "source": path, "ok": True, "errors": 0, "warnings": 0}
    ]


def test_problems_are_told_one_by_one_and_the_status_is_65(file):
    outcome = operable("flow", "validate", file(manifest(shell_task(prompt="x", intent={"mode": "plan"}))))

    assert outcome.exit_code == 65
    assert [(found["path"], found["level"]) for found in outcome.of("flow_problem")] == [
        ("$.workflows[0].tasks[0].prompt", "error"),
        ("$.workflows[0].tasks[0].intent", "warning"),
    ]


def test_standard_input_is_read_also_in_machine_mode():
    outcome = operable("flow", "validate", input=b"{}")

    assert outcome.exit_code == 65
    assert outcome.of("flow_verdict")[0]["source"] == "-"


@pytest.mark.parametrize(
    "content, code",
    [
        (b"not json", "MANIFEST_NOT_JSON"),
        (b'{"a": NaN}', "MANIFEST_NOT_JSON"),
        (b"\xff", "MANIFEST_NOT_JSON"),
    ],
)
def test_what_is_no_json_is_a_structured_error(content, code):
    outcome = operable("flow", "validate", input=content)

    assert outcome.exit_code == 65
    assert outcome.of("aoi:error")[0]["code"] == code


@pytest.mark.parametrize("levels", [300, 800, 50_000])
@pytest.mark.parametrize("command", ["validate", "convert", "compile", "lint"])
def test_a_manifest_that_is_nested_too_deep_is_refused_with_the_limit(command, levels):
    outcome = operable("flow", command, input=b'{"a":' * levels + b"1" + b"}" * levels)

    assert outcome.exit_code == 65
    assert "nested deeper than 256 levels" in outcome.of("aoi:error")[0]["message"]


def test_a_manifest_that_is_as_deep_as_can_be_read_can_be_written_again():
    deep: Any = "\ud800"
    for _ in range(245):
        deep = {"a": deep}
    old = manifest(version="0.1", workflow={"identity": {"subject": {"attributes": deep}}})
    outcome = operable("flow", "convert", input=json.dumps(old).encode())

    assert outcome.exit_code == 0


def test_who_sends_nothing_is_told_where_it_was_looked_for():
    empty = operable("flow", "validate").error

    assert (empty["code"], empty["message"]) == ("MANIFEST_NOT_JSON", "standard input is empty")
    assert empty["hint"] == "name the file of the manifest, or send it there"


def test_who_is_waited_for_at_the_terminal_is_told():
    with terminal("flow", "validate", tool=Path(sys.executable).with_name("operable")) as person:
        person.read_until("reading a manifest from the terminal; Ctrl-D ends it")
        person.type(f"{json.dumps(manifest())}\n\x04")
        outcome = person.finish()

    assert outcome.exit_code == 0
    assert "✓ yes" in outcome.stderr


@pytest.mark.parametrize("words", [["describe"], ["schema"], ["inspect"], ["verify"]])
def test_a_wrong_argument_is_answered_with_where_the_right_ones_are(words, tmp_path):
    refused = operable("flow", *words, "nothing", env={"AGENTCLI_HOME": str(tmp_path), "HOME": str(tmp_path)})

    assert refused.exit_code == 64
    assert refused.error["hint"] == f"see operable flow {words[0]} --help"


def test_a_missing_file_is_a_structured_error():
    outcome = operable("flow", "compile", "nowhere.json")

    assert outcome.of("aoi:error")[0]["code"] == "MANIFEST_UNREADABLE"


def test_compiling_gives_what_the_backend_wants_and_refuses_what_is_no_manifest(file):
    compiled = operable("flow", "compile", file(manifest()), "--target", "openclaw-scheduler")
    refused = operable("flow", "compile", file({}))

    assert compiled.of("compiled_flow")[0]["output"]["jobs"][0]["payload_message"] == "'echo' 'hi'"
    assert refused.exit_code == 65
    assert refused.of("aoi:error")[0]["code"] == "MANIFEST_INVALID"


@pytest.mark.parametrize("verb", ["compile", "digests", "plan", "apply", "register"])
def test_what_is_nested_too_deep_to_have_a_digest_is_the_authors_mistake(file, verb):
    value: object = 1
    for _ in range(230):
        value = {"a": value}
    path = file(manifest(shell_task(identity={"subject": {"attributes": value}})))

    [error] = operable("flow", verb, path).of("aoi:error")

    assert (error["category"], error["code"]) == ("usage", "FLOW_ARGUMENT_INVALID")
    assert "nested deeper" in error["message"]


def test_old_manifests_are_converted(file):
    converted = operable("flow", "convert", file(manifest(prompt_task(), version="0.1")))

    assert converted.of("converted_flow")[0]["manifest"]["version"] == "0.2"


def test_schemas_and_digests_are_shown(file):
    schema = operable("flow", "schema", "task")
    digests = operable("flow", "digests", file(manifest()))

    assert schema.of("flow_schema")[0]["schema"]["$ref"] == "#/$defs/task"
    assert operable("flow", "schema", "nope").exit_code == 64
    assert digests.of("flow_digests")[0]["effective_task_hash"].startswith("sha256:")


def test_a_file_with_the_name_of_a_secret_hides_nothing_of_what_is_wrong_with_it(tmp_path):
    (tmp_path / "authorization-token.json").write_text("{}")
    refused = operable("flow", "compile", "authorization-token.json", cwd=tmp_path)

    assert "$.version must be one of: 0.1, 0.2" in refused.of("aoi:error")[0]["message"]


@pytest.mark.parametrize(
    "words",
    [
        ["operable", "flow", "exec", "FILE", "a"],
        ["operable", "flow", "plan", "FILE"],
        ["operable", "rpc"],
        ["operable-agentcli", "exec", "FILE", "a"],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_a_folder_that_was_removed_under_the_caller_is_named(tmp_path, words):
    flow, gone = tmp_path / "flow.json", tmp_path / "gone"
    flow.write_text(json.dumps(manifest()))
    gone.mkdir()
    argv = [str(BIN / words[0]), *(str(flow) if word == "FILE" else word for word in words[1:])]
    done = subprocess.run(
        ["/bin/sh", "-c", 'rmdir "$0"; exec "$@"', str(gone), *argv],
        cwd=gone, env={**os.environ, "HOME": str(tmp_path)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip

    assert done.returncode != 0
    assert "The current directory does not exist any more" in done.stderr
