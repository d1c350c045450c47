"""The declarations of operations: complete, without a double, and held by all three front ends."""

import inspect
from collections import Counter
from collections.abc import Iterator

import pytest

from operable.cli import tool
from operable.cli.agentcli.words import Verb, verbs
from operable.cli.flow.command import FlowCall, FlowCommand, flow_command
from operable.flow.errors import FlowError
from operable.flow.operation import Defaults, Operation, Parameter, listed_methods, method, names, operation
from operable.kernel.errors import Fail
from operable.tool import Event
from operable.tool.discovery.help_text import parameter_help

ALL = {name: operation(name) for name in names()}
# The commands of `operable flow` that are one operation under another name.
NAMED = {
    "approvals": "approvals-list",
    "register": "registry-add",
    "revoke": "approvals-revoke",
    "signing": "signing-providers",
    "unregister": "registry-remove",
}
# Options of `operable flow` that no operation has: where state lies, which agent, two phases, pages.
ONLY_HERE = {"home", "agent", "policy", "prompts", "retry", "action", "anchor", "key"}
# The same value under another name, because AOI has an option of that name for every command.
SPELLED = {"task-timeout-ms": "timeout", "newest": "limit"}


def commands():
    for name in tool.names():
        group, _, word = name.partition(" ")
        if group == "flow" and NAMED.get(word, word) in ALL:
            yield word


def test_every_operation_is_offered_and_every_name_is_one_operation():
    offered = [*(found.method for found in ALL.values()), *(found.verb for found in ALL.values())]
    assert [name for name, found in ALL.items() if not (found.method or found.verb)] == []
    assert [name for name, count in Counter(offered).items() if name and count > 1] == []
    for places in (
        (it.order for it in ALL.values() if it.method),
        (it.place for it in ALL.values() if it.verb),
    ):
        assert max(Counter(places).values()) == 1


def test_a_file_is_called_like_its_method_and_like_its_verb():
    for found in listed_methods():
        assert method(found.method) is found
    for name, found in ALL.items():
        assert found.verb in ("", name, *(name.replace("-", " ", 1), name[::-1].replace("-", " ", 1)[::-1]))


@pytest.mark.parametrize("name", sorted(name for name, found in ALL.items() if not found.method))
def test_what_is_only_for_the_command_line_is_no_method(name):
    with pytest.raises(FlowError, match="Method not found"):
        method(f"agentcli.{name.replace('-', '.')}")


@pytest.mark.parametrize("name", sorted(name for name, found in ALL.items() if found.verb))
def test_the_agentcli_command_line_has_exactly_the_declared_flags(name):
    found = ALL[name]
    verb = verbs()[found.verb]
    declared = {
        param.flag for param in found.params if param.agentcli and param.kind in ("text", "count", "flag")
    }
    assert verb == Verb.of(found)
    assert verb.flags | verb.values == declared
    assert verb.flags & verb.values == set()


@pytest.mark.parametrize("word", sorted(commands()))
def test_an_option_of_operable_flow_is_a_parameter_of_its_operation(word):
    command, found = tool.find(f"flow {word}"), ALL[NAMED.get(word, word)]
    assert command is not None
    declared = {param.flag: param for param in found.params}
    for option in command.params:
        if option.operand or option.flag in ONLY_HERE:
            continue
        param = declared[SPELLED.get(option.flag, option.flag)]
        assert (option.kind.base == "boolean") == (param.kind == "flag"), option.flag
        assert (option.kind.base == "integer") == (param.kind == "count"), option.flag
        assert not param.choices or set(option.kind.choices) == set(param.choices), option.flag


@pytest.mark.parametrize("word", sorted(commands()))
def test_operable_flow_and_the_protocol_agree_on_what_changes_something(word):
    command, found = tool.find(f"flow {word}"), ALL[NAMED.get(word, word)]
    assert command is not None
    assert command.mutates == found.changes


# Commands of `operable flow` that are no operation: neither JSON-RPC nor `operable-agentcli` has them.
NO_OPERATION = {"digests", "graph", "lint"}


@pytest.mark.parametrize("name", sorted(name for name in tool.names() if name.startswith("flow ")))
def test_a_command_of_operable_flow_has_no_parameter_list_of_its_own(name):
    command = tool.find(name)
    assert command is not None
    if name.removeprefix("flow ") in NO_OPERATION:
        return
    assert isinstance(command, FlowCommand)
    assert set(inspect.signature(command.function).parameters) <= {"call", "context", "page"}
    assert {param.group for param in command.params} <= {"call"}


def test_a_new_parameter_of_an_operation_is_an_option_of_its_command_and_reaches_it(monkeypatch):
    declared = operation("convert")
    new = Parameter("fresh", choices=("a", "b"), help="a new one", default="a")
    monkeypatch.setattr(
        "operable.flow.operation.operation", lambda _: declared._replace(params=(*declared.params, new))
    )
    seen = []

    @flow_command("convert")
    def convert(call: FlowCall) -> Iterator[Event]:
        """Convert."""
        seen.append((call["fresh"], call.source, call.line("--more")))
        yield from ()

    assert [(each.flag, each.default) for each in convert.params] == [("file", "-"), ("fresh", "a")]
    assert parameter_help(convert)["fresh"] == "a new one"
    list(convert(convert.injected["call"](file="x.json", fresh="b")))
    assert seen == [("b", "x.json", ["operable", "flow", "convert", "x.json", "--fresh", "b", "--more"])]


def test_a_count_of_operable_flow_is_positive():
    command = tool.find("flow approve")
    assert command is not None
    given = {param.name: param.default for param in command.params} | {"file": "f", "task": "t", "ttl_s": 0}
    with pytest.raises(Fail, match="--ttl-s must be at least 1"):
        command.injected["call"](**given)


def test_a_request_cannot_use_a_parameter_of_the_command_line():
    given = []

    def run(params, defaults):
        given.append(params)
        return {"ok": True}

    declared = Operation("", run, params=(Parameter("target"), Parameter("write", rpc=False)))
    declared.answer({"target": "x", "write": "/etc/passwd", "unknown": 1}, Defaults("/"))
    assert (given, declared.requested) == ([{"target": "x", "unknown": 1}], ("target",))
