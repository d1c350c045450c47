import pytest

from operable.manifest import Cli, ManifestError, load, render
from tests.manifest.samples import CLI, TOOL, changed, errors, loaded


def test_commands_are_a_tree_whose_leaves_are_tools():
    assert list(loaded("cli").as_(Cli).leaves()) == [
        (("log",), "./tools/log/TOOL.md"),
        (("branch", "list"), "./tools/branch-list/TOOL.md"),
    ]


@pytest.mark.parametrize(
    "commands, expected",
    [
        ({}, ("COMMANDS_EMPTY", "commands")),
        ({"branch": {}}, ("COMMANDS_EMPTY", "commands.branch")),
        ({"--force": "./TOOL.md"}, ("COMMAND_WORD", "commands.--force")),
        ({"a b": "./TOOL.md"}, ("COMMAND_WORD", "commands.a b")),
        ({"log": "./log"}, ("COMMAND_LEAF", "commands.log")),
        ({"log": ["./TOOL.md"]}, ("FIELD_TYPE", "commands.log")),
    ],
)
def test_a_tree_that_is_no_command_line_is_refused(commands, expected):
    assert errors("cli", changed("cli", commands=commands)) == [expected]


@pytest.mark.parametrize("field", ["network", "fs", "exec", "env"])
def test_a_bundle_says_everything_about_its_sandbox(field):
    assert ("FIELD_MISSING", f"sandbox.{field}") in errors(
        "cli", changed("cli", **{f"sandbox__{field}": None})
    )


@pytest.mark.parametrize(
    "codes, fine",
    [
        ({"0": "ok", "1": "no_match", "2": "usage_error"}, True),
        ({"1": "differs"}, True),
        ({"3": "auth_required"}, True),
        ({"0": "fine"}, False),
        ({"1": "ok"}, False),
        ({"124": "slow"}, False),
        ({"137": "killed"}, True),
        ({"300": "far"}, False),
    ],
)
def test_reserved_exits_keep_their_meaning(codes, fine):
    assert (errors("cli", changed("cli", output={"exit_codes": codes})) == []) is fine


def test_programs_are_named_only_where_programs_may_be_started():
    data = changed("cli", sandbox__exec={"allow": False, "spawn": ["less"]})

    assert errors("cli", data) == [("SANDBOX_EXEC", "sandbox.exec.spawn")]


@pytest.mark.parametrize(
    "path, fine", [("~/src/x", True), ("~/.config/gh", False), ("~/src/private/y", False)]
)
def test_the_place_of_a_login_lies_in_what_the_sandbox_allows(path, fine):
    found = errors("cli", changed("cli", auth={"state": {"paths": [path]}}))

    assert found == ([] if fine else [("AUTH_PATH_DENIED", "auth.state.paths.0")])


def bundle(tmp_path, **tool: object):
    folder = tmp_path / "git"
    for name in ("log", "branch-list"):
        (folder / "tools" / name).mkdir(parents=True)
        (folder / "tools" / name / "TOOL.md").write_text(render({**TOOL, **tool}))
    (folder / "CLI.md").write_text(render(CLI))
    return folder / "CLI.md"


def test_a_bundle_is_loaded_with_its_tools(tmp_path):
    found = load(bundle(tmp_path), workspace=tmp_path)

    assert sorted(found.bound) == ["commands.branch.list", "commands.log"]
    assert found.bound["commands.log"].value.id == "git.log"


def test_a_bundle_whose_tool_widens_the_sandbox_is_refused_with_the_line_in_the_tool(tmp_path):
    path = bundle(tmp_path, sandbox={"network": {"egress": ["evil.example.net"]}})

    with pytest.raises(ManifestError) as caught:
        load(path, workspace=tmp_path)

    assert caught.value.code == "SANDBOX_WIDENED"
    assert {each.path.rpartition("/")[2] for each in caught.value.problems} == {"TOOL.md"}


def test_a_bundle_without_one_of_its_tools_is_refused(tmp_path):
    path = bundle(tmp_path)
    (path.parent / "tools" / "log" / "TOOL.md").unlink()

    with pytest.raises(ManifestError) as caught:
        load(path, workspace=tmp_path)

    assert [(each.rule, each.key) for each in caught.value.problems] == [
        ("TOOL_REF_UNRESOLVABLE", "commands.log")
    ]
