"""Commands about documents: their results member by member."""

import json
import stat

import pytest

from operable.cli.agentcli.words import verbs
from tests.cli.agentcli.calls import Calls
from tests.flow.manifests import manifest, prompt_task
from tests.requirement import requirement

VERBS = verbs()
GROUPS = sorted({name.split()[0] for name in VERBS if " " in name})


@pytest.fixture
def calls(tmp_path, monkeypatch):
    return Calls(tmp_path.resolve(), monkeypatch)


SCAFFOLD = {
    "version": "0.2",
    "workflows": [
        {
            "id": "default",
            "name": "default",
            "tasks": [
                {
                    "id": "run",
                    "name": "run",
                    "target": {"session_target": "shell"},
                    "shell": {"program": "echo", "args": ["hello from agentcli"]},
                    "schedule": {"cron": "0 * * * *"},
                    "output": {"format": "text"},
                    "contract": {"sandbox": "permissive", "network": "unrestricted", "audit": "always"},
                }
            ],
        }
    ],
}


@requirement("agentcli:cli:init")
def test_init_writes_the_documented_manifest_prepares_the_home_and_never_overwrites(calls):
    made = calls.ok("init")

    assert made == {
        "ok": True,
        "written_to": str(calls.folder / "agentcli.json"),
        "manifest": SCAFFOLD,
        "warnings": [],
    }
    assert list(made) == ["ok", "written_to", "manifest", "warnings"]
    text = (calls.folder / "agentcli.json").read_text("utf-8")
    assert text == json.dumps(SCAFFOLD, indent=2) + "\n"
    assert stat.S_IMODE((calls.folder / "agentcli.json").stat().st_mode) == 0o600
    for folder in ("", "manifests", "output", "state", "registry"):
        assert stat.S_IMODE((calls.home / folder).stat().st_mode) == 0o700
    assert calls.refused("init", "--task-id", "other").flow_code == "invalid_argument"
    assert (calls.folder / "agentcli.json").read_text("utf-8") == text


@requirement("agentcli:cli:init")
@pytest.mark.parametrize("tool, warned", [("sh", False), ("no-such-tool-here", True)])
def test_init_takes_ids_a_tool_and_a_place_and_warns_once_of_a_tool_that_is_not_there(calls, tool, warned):
    words = ["--tool", tool, "--workflow-id", "w1", "--task-id", "t1", "--output", "a/b.json"]
    made = calls.ok("init", *words)
    flow = made["manifest"]["workflows"][0]

    assert (flow["id"], flow["tasks"][0]["id"]) == ("w1", "t1")
    assert flow["tasks"][0]["shell"] == {"program": tool, "args": []}
    assert made["written_to"] == str(calls.folder / "a/b.json")
    assert not (calls.folder / "agentcli.json").exists()
    assert ["not found on PATH" in warning for warning in made["warnings"]] == [True] * warned


@requirement("agentcli:cli:init")
@pytest.mark.parametrize("words", [("--task-id", "a b"), ("--workflow-id", "-"), ("--tool", "rm -rf")])
def test_init_with_what_can_be_no_name_is_a_validation_error_and_writes_nothing(calls, words):
    assert calls.refused("init", *words).flow_code == "validation_error"
    assert not (calls.folder / "agentcli.json").exists()


@requirement("agentcli:cli:convert")
@pytest.mark.parametrize("flag", ["--output", "--write"])
def test_a_conversion_is_printed_as_it_is_or_written_and_reported(calls, flag):
    old = calls.write("old.json", manifest(prompt_task(contract={"max_cost_usd": 10.0}), version="0.1"))

    assert calls.ok("convert", old) == manifest(prompt_task(contract={"max_cost_usd": 10.0}))
    assert calls.ok("convert", old, flag, "new/m.json") == {
        "ok": True,
        "output": str(calls.folder / "new/m.json"),
        "version": "0.2",
    }
    assert '"max_cost_usd": 10\n' in (calls.folder / "new/m.json").read_text("utf-8")
    assert calls.said("convert", "new/m.json") == ("invalid_argument", "Input manifest must be version 0.1")
    both = calls.said("convert", old, "--output", "x", "--write", "y")
    assert both == ("invalid_argument", "Specify either --output or --write, not both.")


@requirement("agentcli:cli:merge")
def test_what_is_merged_is_printed_and_written(calls):
    one, two = calls.write("1.json", manifest()), calls.write("2.json", manifest(workflow={"id": "v"}))
    whole = {
        "version": "0.2",
        "workflows": [manifest()["workflows"][0], manifest(workflow={"id": "v"})["workflows"][0]],
    }

    assert calls.ok("merge", one, two) == {"ok": True, "manifest": whole}
    assert calls.ok("merge", one, two, "--output", "m.json") == {
        "ok": True,
        "manifest": whole,
        "written_to": str(calls.folder / "m.json"),
    }
    assert json.loads((calls.folder / "m.json").read_text("utf-8")) == whole


@requirement("agentcli:cli:registry", "agentcli:cli:import")
def test_the_registry_answers_with_its_documented_members(calls):
    path = calls.write("disk.v1.json", manifest())
    calls.write("project/agentcli.json", manifest())
    place = str(calls.home / "registry")

    assert calls.ok("registry", "add", path) == {
        "ok": True, "name": "disk.v1", "path": f"{place}/disk.v1.json", "overwritten": False,
    }  # fmt: skip
    assert calls.ok("registry", "add", path)["overwritten"] is True
    assert calls.ok("import", "project", "--name", "p") == {
        "ok": True, "name": "p", "path": f"{place}/p.json", "overwritten": False,
        "imported_from": str(calls.folder / "project/agentcli.json"), "discovery": "agentcli.json",
    }  # fmt: skip
    assert calls.ok("registry", "list") == {
        "ok": True,
        "entries": [
            {"name": name, "workflows": [{"id": "w", "name": "W", "task_count": 1}]}
            for name in ("disk.v1", "p")
        ],
    }
    assert calls.ok("registry", "show", "p") == {"ok": True, "name": "p", "manifest": manifest()}
    assert calls.ok("registry", "remove", "p") == {"ok": True, "name": "p", "removed": True}
    for words in (("show", "p"), ("remove", "p")):
        assert calls.said("registry", *words) == ("invalid_argument", 'Registry entry "p" not found')
    invalid = calls.refused("registry", "add", calls.write("bad.json", {"version": "0.2"}))
    assert (invalid.flow_code, "validation failed" in invalid.message) == ("validation_error", True)
    assert calls.refused("registry", "add", path, "--name", "../x").flow_code == "invalid_argument"
    assert "No agentcli manifest found" in calls.refused("import", ".").message


@requirement("agentcli:cli:skill-path")
def test_the_skills_two_places_are_said(calls):
    said = calls.ok("skill-path")

    assert list(said) == ["ok", "skill_path", "home_skill_path"]
    assert said["home_skill_path"] == calls.ok("paths")["paths"]["skill_path"]


@requirement("agentcli:cli:subcommands")
@pytest.mark.parametrize("group", GROUPS)
def test_a_word_that_a_group_does_not_know_is_refused_with_those_it_knows(calls, group):
    known = ", ".join(name.split()[1] for name in VERBS if name.split()[0] == group)

    assert calls.said(group, "nope") == (
        "invalid_argument",
        f"Unknown {group} subcommand: nope. Available: {known}",
    )
    assert calls.said(group) == ("invalid_argument", f"Unknown {group} subcommand. Available: {known}")


@requirement("agentcli:cli:flags")
@pytest.mark.parametrize(
    "words, message",
    [
        (["audit", "--limit", "0"], "Invalid --limit value: 0. Must be a positive integer."),
        (["audit", "--limit", "01"], "Invalid --limit value: 01. Must be a positive integer."),
        (["inspect", "--limit", "-1"], "Invalid --limit value: -1. Must be a positive integer."),
        (["inspect", "--limit", "1e3"], "Invalid --limit value: 1e3. Must be a positive integer."),
        (
            ["exec", "m", "a", "--timeout", "0"],
            "Invalid --timeout value: 0. Must be a positive integer (milliseconds).",
        ),
        (
            ["run", "m", "--timeout", "x"],
            "Invalid --timeout value: x. Must be a positive integer (milliseconds).",
        ),
        (
            ["approve", "m", "a", "--timeout", "1.5"],
            "Invalid --timeout value: 1.5. Must be a positive integer (milliseconds).",
        ),
        (
            ["approve", "m", "a", "--ttl-s", "+5"],
            "Invalid --ttl-s value: +5. Must be a positive integer (seconds).",
        ),
        (["apply", "m", "--adopt-by", "hash"], "Invalid --adopt-by value: hash. Accepted values: id, name"),
        (["inspect", "--sanitize", "all"], "Unsupported sanitize mode: all. Accepted values: none, basic"),
        (["inspect", "nope"], "Unsupported inspect entity: nope"),
        (["compile", "m", "--target", "nope"], "Unsupported compile target: nope"),
    ],
)
def test_values_of_flags_are_judged_in_the_documented_words(calls, words, message):
    calls.write("m", manifest())

    assert calls.said(*words) == ("invalid_argument", message)
