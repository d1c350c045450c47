"""Every command line of ours that a text names can be typed: its words are read as the command line reads them.

A text is any string of the packages below that says `operable` and a word of its. The line ends with the text, or at a
comma, a semicolon, a colon or a bracket. What is filled in at run time is one word here.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from operable.cli import tool
from operable.kernel.errors import Fail
from operable.tool import Tool
from operable.tool.arguments import parse
from operable.tool.front import locate
from operable.wrap.places import RESERVED
from operable.wrap.places import names as wrappers
from operable.wrap.tools import load
from tests.app.making import made
from tests.cli.drive import operable

SOURCE = Path(__file__).parents[2] / "src" / "operable"
PACKAGES = ("cli", "app", "engine", "flow", "gate", "wrap", "agent", "host", "serve", "run", "lint", "tool")
LINE = re.compile(r"(?:^|(?<=[\s`]))operable ((?:[a-z][a-z-]*)(?: [^,;:()`\n]*)?)")
# Not command lines: what something is called, and prose about operable itself.
NOT_LINES = {"agent answer", "needs parse", "that is killed", "wrap FILLED", "wrap --mcp CMD"}
# Their command itself is filled in: the kinds of providers, and the line that repeats a call.
NOT_LINES |= {"flow FILLED"}


@cache
def lines() -> list[str]:
    """Every command line in a text of the packages; each once."""
    found = set()
    for package in PACKAGES:
        for path in (SOURCE / package).rglob("*.py"):
            tree = ast.parse(path.read_text())
            for text in _texts(tree):
                found |= {line.strip() for line in LINE.findall(text)}
    return sorted(found - NOT_LINES)


def _texts(tree: ast.AST) -> Iterator[str]:
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))  # a docstring
        if isinstance(node, ast.JoinedStr):
            inner |= {id(value) for value in node.values}
            yield "".join(
                str(value.value) if isinstance(value, ast.Constant) else "FILLED" for value in node.values
            )
        elif isinstance(node, ast.List):
            words = [each.value if isinstance(each, ast.Constant) else "FILLED" for each in node.elts]
            if words[:1] == ["operable"]:
                yield " ".join(str(word) for word in words)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def understood(line: str) -> None:
    """Fail unless the command line would be read without a complaint."""
    words = shlex.split(line)
    own: Tool = tool
    if words[0] == "wrap" and words[1] not in (*RESERVED, "FILLED"):
        own, words = load(words[1]), words[2:]
    name, rest = locate(own, words)
    command = own.find(name)
    assert command is not None, f"there is no command {name!r}"
    parse(own, command, rest)


def test_every_command_line_in_a_text_can_be_typed():
    # One test: the lines are in all of the source, and every worker would read it to name a test for each.
    complaints = {}
    for line in lines():
        try:
            understood(line)
        except (Fail, AssertionError, ValueError, LookupError) as problem:
            complaints[line] = repr(problem)
    assert complaints == {}


@pytest.mark.parametrize(
    "line", ["agent answer", "agent nonsense x", "app call x --nonsense", "flow approve x"]
)
def test_a_line_that_cannot_be_typed_is_noticed(line):
    try:
        understood(line)
    except (Fail, AssertionError):
        return
    pytest.fail(f"{line} was understood")


def test_the_lines_of_all_packages_are_looked_at():
    found = lines()

    assert {"agent login FILLED", "app approve FILLED", "flow validate FILLED"} <= set(found)
    assert "wrap mypy check-with-plugins" in found
    assert "mypy" in wrappers()


def test_options_alone_in_a_hint_of_the_host_are_those_of_agent_prompt():
    prompt = tool.find("agent prompt")
    assert prompt is not None
    hints = [
        re.sub(r"operable .*?(?=[;,]|$)", "", text)
        for path in (SOURCE / "host").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword) and node.arg == "hint"
        for text in _texts(node)
    ]
    found = {option for text in hints for option in re.findall(r"--([a-z][a-z-]*)", text)}

    assert found - {param.flag for param in prompt.params} == set()
    # The words of AGENT_NEVER_ASKS are computed; tests/host/test_agent_cli.py follows them.
    assert {"resume", "sandbox"} <= found


def test_an_application_that_needs_confirmation_is_answered_with_the_line_that_confirms(tmp_path):
    """The option stands before the two dashes; behind them it would be the application's own. The folder has a space."""
    project = tmp_path / "a project"
    (project / ".git").mkdir(parents=True)
    root = made(project / "apps" / "one", "open('ran', 'w').close(); say(words)")
    env = {"OPERABLE_HOME": str(tmp_path / "home")}

    def typed(words, **options):
        return operable(*words, cwd=project, env=env, **options)

    unapproved = typed(["app", "call", "one", "--", "list"]).error["hint"]
    assert typed(shlex.split(unapproved.partition("then: operable ")[2])).exit_code == 0
    own = typed(["app", "call", "one", "--", "remove", "a b", "--confirm"])
    assert (own.exit_code, own.error["code"]) == (64, "CONFIRMATION_REQUIRED")
    assert not (root / "ran").exists()
    line = own.error["hint"].partition("then: operable ")[2]
    assert line == "app call one --confirm -- remove 'a b' --confirm"

    assert typed(shlex.split(line)).exit_code == 0
