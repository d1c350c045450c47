import pytest

from operable.testing.dialect import Offered
from operable.testing.model_reply import ScriptedCall, call_for


def offered(name, *properties, required=(), **schemas):
    schema = {name: {"type": "string"} for name in properties} | schemas
    return Offered(name, {"type": "object", "properties": schema, "required": list(required)})


def call(role, arguments, *tools) -> ScriptedCall:
    found = call_for(role, arguments, list(tools))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "tool, arguments",
    [
        (offered("Write", "file_path", "content"), {"file_path": "a", "content": "b"}),
        (offered("write", "filePath", "content"), {"filePath": "a", "content": "b"}),
        (offered("write_file", "path", "content"), {"path": "a", "content": "b"}),
        (
            offered("text_editor", "path", "file_text", command={"enum": ["view", "create"]}),
            {"path": "a", "file_text": "b", "command": "create"},
        ),
        (offered("mcp__files__write_file", "path", "content"), {"path": "a", "content": "b"}),
    ],
)
def test_writing_a_file_is_said_in_the_words_of_the_tool(tool, arguments):
    found = call("write", {"path": "a", "text": "b"}, offered("other"), tool)

    assert found.tool is tool
    assert found.arguments == arguments


def test_a_tool_that_takes_text_gets_a_patch():
    found = call("write", {"path": "a", "text": "x\ny\n"}, Offered("apply_patch", {}, freeform=True))

    assert found.arguments == "*** Begin Patch\n*** Add File: a\n+x\n+y\n*** End Patch\n"


def test_a_command_is_a_line_or_a_list_as_the_schema_has_it():
    line = call("shell", {"command": "ls"}, offered("exec_command", "cmd"))
    words = call("shell", {"command": "ls"}, offered("shell", command={"type": "array"}))
    outside = call("shell", {"command": "ls"}, offered("exec_command", "cmd", "sandbox_permissions"))

    assert line.arguments == {"cmd": "ls"}
    assert words.arguments == {"command": ["bash", "-lc", "ls"]}
    assert outside.arguments["sandbox_permissions"] == "require_escalated"


def test_one_thing_is_given_to_a_tool_that_takes_several():
    commands = {"type": "array", "items": {"type": "string"}}
    address = {"url": {"type": "string"}, "prompt": {"type": "string"}}
    requests = {
        "type": "array",
        "items": {"type": "object", "properties": address, "required": ["url", "prompt"]},
    }

    run = call("shell", {"command": "ls"}, offered("run_commands", commands=commands))
    fetch = call("fetch", {"url": "http://a"}, offered("fetch_web_content", requests=requests))

    assert run.arguments == {"commands": ["ls"]}
    assert fetch.arguments == {"requests": [{"url": "http://a", "prompt": "scripted"}]}


def test_an_address_is_fetched_and_a_file_deleted_in_the_words_of_the_tool():
    fetch = call("fetch", {"url": "http://a"}, offered("webfetch", "url"))
    asked = call("fetch", {"url": "http://a"}, offered("web_fetch", "prompt"))
    delete = call("delete", {"path": "a"}, Offered("apply_patch", {}, freeform=True))

    assert fetch.arguments == {"url": "http://a"}
    assert asked.arguments == {"prompt": "http://a"}
    assert delete.arguments == "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"


def test_what_a_schema_requires_and_the_script_leaves_out_is_filled_in():
    tool = offered(
        "Bash",
        "command",
        required=["command", "why", "how", "many"],
        many={"type": "integer"},
        how={"enum": ["x"]},
    )

    assert call("shell", {"command": "ls"}, tool).arguments == {
        "command": "ls",
        "why": "scripted",
        "how": "x",
        "many": 1,
    }


def test_a_tool_may_be_named_exactly_and_what_nobody_offers_is_none():
    tool = offered("get_weather", "city")

    assert call("get_weather", {"city": "Bern"}, tool).arguments == {"city": "Bern"}
    assert call_for("write", {"path": "a", "text": "b"}, [tool]) is None
