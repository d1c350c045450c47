"""What a command that changes nothing gets beyond nothing: only what its manifest names, and everybody is told."""

import asyncio
import json
from pathlib import Path

import pytest

from operable.gate.call_gate import CallGate
from operable.kernel.errors import Fail
from operable.offer.gate_call import effect_of
from operable.serve.mcp_tools import Toolbox
from operable.serve.sources.wrap import find
from operable.wrap import load
from operable.wrap.needs import NEEDS
from operable.wrap.plan.cache import plan_of
from tests.cli.drive import operable
from tests.wrap.drive import CHANGES, CLI, TOOL, Made, wrap

PROGRAM = "#!/bin/sh\necho '{\"a\":1}'\n"


def _folder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def refused(folder, tool) -> str:
    made = Made(folder, PROGRAM, tool=tool)
    with pytest.raises(Fail) as caught:
        plan_of(str(made.path))
    return caught.value.message


@pytest.mark.parametrize(
    ("needs", "says"),
    [
        ({"networks": "x"}, "there is no need 'networks'"),
        ({"network": ""}, "has no reason"),
        (["network"], "is a mapping"),
        ({"write": "x"}, "cannot write everywhere"),
    ],
)
def test_a_need_that_is_none_is_refused(tmp_path, needs, says):
    metadata = {"operable": {"parse": {"kind": "jsonl"}, "needs": needs}}

    assert says in refused(tmp_path, TOOL | {"metadata": metadata})


def test_a_command_that_runs_code_of_the_project_has_to_be_a_change(tmp_path):
    metadata = {"operable": {"parse": {"kind": "jsonl"}, "project_code": "the tests"}}

    assert "needs mutates" in refused(tmp_path, TOOL | {"metadata": metadata})


def test_without_needs_everything_is_given_up_for_reads_and_for_dry_runs(tmp_path):
    plain = {"operable": {"parse": {"kind": "jsonl"}, "needs": {}}}
    read = plan_of(str(Made(_folder(tmp_path, "read"), PROGRAM, tool=TOOL | {"metadata": plain}).path))
    rule = {"action": "go", "target": "prog", "needs": {}}
    changing = CHANGES | {"metadata": {"operable": {"parse": {"kind": "jsonl"}, "plan": rule}}}
    change = plan_of(str(Made(_folder(tmp_path, "change"), PROGRAM, tool=TOOL | changing).path))

    everything = {"writes", "network", "processes", "signals", "sockets"}
    reading, planning = read.commands["go"].sandbox, change.commands["go"].plan_sandbox
    assert reading is not None
    assert planning is not None
    assert set(reading.gives_up) == everything
    assert set(planning.gives_up) == everything
    assert change.commands["go"].sandbox is None


def test_show_says_what_enforces_it_and_without_a_sandbox_nothing_is_called_read_only():
    confined = operable("wrap", "show", "git")
    free = operable("wrap", "show", "git", env={"OPERABLE_UNCONFINED": "1"})

    shown = {row["name"]: row for row in confined.results}
    assert (shown["status"]["read_only"], shown["status"]["enforced_by"]) == (True, "Landlock and seccomp")
    assert "files outside" in shown["status"]["stays_open"]
    assert not {"writes outside", "network", "unix sockets"} & set(shown["status"]["stays_open"])
    assert set(shown["push"]["dry_run"]["needs"]) == {"network", "programs", "sockets"}
    assert shown["commit"]["project_code"]
    assert not any(row["read_only"] for row in free.results)


def test_over_mcp_a_dry_run_that_runs_code_of_the_project_needs_a_yes(tmp_path):
    operables = [each for each in find(str(tmp_path)) if each.name in ("terraform", "pip")]
    tools = asyncio.run(Toolbox(operables, gate=CallGate(), workspace="/", enabled=True).tools())

    assert effect_of(tools["terraform_apply"].action, {"dry-run": True}) == "destroy"
    # pip plans without that code, and refuses what it cannot plan so.
    assert effect_of(tools["pip_install"].action, {"dry-run": True}) == "read"
    assert effect_of(tools["pip_install"].action, {"dry-run": True}, runs_code=True) == "destroy"
    for tool in tools.values():
        assert "run-project-code" not in json.dumps(tool.schema)
        plan = load(tool.operable.name).plan.commands[tool.action.name]
        assert tool.action.read_only == (
            not plan.mutates and plan.sandbox is not None and set(plan.sandbox.needs) <= {"scratch"}
        )


@pytest.mark.parametrize(
    ("needs", "read_only"),
    [((), True), (("scratch",), True), *(((need,), False) for need in NEEDS if need != "scratch")],
)
def test_a_command_that_needs_more_than_scratch_is_nowhere_called_read_only(tmp_path, needs, read_only):
    (tmp_path / "kept").mkdir()
    files = {"read": ["**"], "write": [str(tmp_path / "kept")], "deny": []}
    metadata = {"operable": {"parse": {"kind": "jsonl"}, "needs": dict.fromkeys(needs, "a test")}}
    made = Made(
        tmp_path,
        PROGRAM,
        cli={"sandbox": CLI["sandbox"] | {"fs": files}},
        tool=TOOL | {"metadata": metadata},
    )

    (shown,) = operable("wrap", "show", "prog", env=made.env).results
    listing = operable("catalog", "--kind", "wrap", env=made.env)
    (listed,) = [each for each in listing.results if each["name"] == "prog"]
    document = json.loads(wrap("prog", "capabilities", env=made.env, output="json").stdout)
    claimed = next(entry for entry in document["commands"] if entry["name"] == "go")

    assert shown["read_only"] is read_only
    assert listed["commands"][0]["read_only"] is read_only
    assert listed["risk"] == ("read-only" if read_only else "changes")
    assert claimed["read_only"] is read_only
    assert made.go().exit_code == 0
