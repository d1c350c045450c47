"""What is not documented does not exist: every command, option, error, public name and limit has its place in the docs.

The reference is generated, so these tests look for gaps in what it is generated from (a parameter without a word, an error
code that cannot be found) and for rules that are written by hand and could become untrue.
"""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from operable.cli import tool as operable_tool
from operable.examples.outline.cli import tool as outline_tool
from operable.kernel import errors
from operable.tool import Tool
from operable.tool.discovery.capabilities import command_capabilities
from operable.tool.discovery.help_text import command_help
from operable.tool.kinds import STANDARD
from tests.requirement import requirement
from tools import commands, failures, generate, pages
from tools.pages import app, differences, flow, host, limits, run, tool, verdicts, wire, wrap

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# The table of requirements changes with every test that names one; `./dev check` looks at it.
PAGES = [
    found.name
    for found in pkgutil.iter_modules(pages.__path__, "tools.pages.")
    if not found.name.endswith(".requirements")
]
TOOLS = pytest.mark.parametrize("cli", [operable_tool, outline_tool], ids=lambda cli: cli.name)


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_every_generated_page_is_fresh(name):
    for path, text in generate.rendered(importlib.import_module(name)).items():
        assert (path.read_text("utf-8") if path.exists() else None) == text, "`./dev fix` renews it"


def test_every_page_can_be_found_from_the_index():
    """The index has every page; those of commands are in the index of the commands."""
    linked = set(re.findall(r"\]\(([^)#]+\.md)\)", page("README.md")))
    linked |= {
        f"reference/{name}"
        for name in re.findall(r"\]\((commands/[^)#]+\.md)\)", page("reference/operable.md"))
    }
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"README.md"}

    assert written - linked == set()


def test_decisions_are_numbered_without_gaps_and_say_when_they_were_accepted():
    decisions = sorted((DOCS / "decisions").glob("*.md"))

    assert [int(path.name[:4]) for path in decisions] == list(range(1, len(decisions) + 1))
    for path in decisions:
        text = path.read_text("utf-8")
        assert text.startswith(f"# {path.name[:4]}: ")
        assert re.search(r"^Accepted \d{4}-\d\d-\d\d\.$", text, re.MULTILINE)


def test_every_place_in_the_docs_that_the_source_names_exists():
    named = set()
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/**/*.py")]:
        named |= set(re.findall(r"docs/[\w/-]+(?:\.md)?", path.read_text("utf-8")))

    assert {
        name for name in named if not list(ROOT.glob(name if name.endswith(".md") else f"{name}*"))
    } == set()


# -- commands, options, errors ----------------------------------------------------------------------------------------------


@TOOLS
def test_every_command_parameter_and_event_has_words_and_every_command_an_example(cli):
    assert commands.undocumented(cli) == []


@TOOLS
def test_every_command_is_in_the_reference(cli):
    pages = [DOCS / "reference" / f"{cli.name}.md"]
    pages += (DOCS / "reference" / "commands").glob("*.md") if cli is operable_tool else []
    reference = "\n".join(path.read_text("utf-8") for path in pages)

    assert [name for name in cli.names() if f"# {cli.name} {name}\n" not in reference] == []


@requirement(
    "aoi:4.2:unbounded-documented", "aoi:12.2:malformed-mode-documented", "aoi:14.1:mutation-obvious"
)
@TOOLS
def test_help_and_capabilities_say_what_a_caller_must_know_before_calling(cli):
    for name in cli.names():
        command = commands.found(cli, name)
        entry = command_capabilities(cli, command)
        text = command_help(cli, command)

        assert ("Changes nothing." in text) == (not command.mutates and not command.runs_tools)
        assert entry["read_only"] == ("Changes nothing." in text)
        assert entry["unbounded"] == ("Unbounded:" in text)
        assert ("malformed_input" in entry) == ("A malformed item of its input" in text)
        assert ("Destructive:" in text) == entry["requires_confirm"]


@pytest.mark.parametrize("option", STANDARD)
def test_every_standard_option_is_in_the_reference(option):
    assert re.search(rf"^\| `--{option}\b", page("reference/standard-options.md"), re.MULTILINE)


@pytest.mark.parametrize("root", ["src/operable", "src/operable/examples"])
def test_every_error_code_is_in_the_reference_and_in_upper_snake_case(root):
    found = {failure.code for failure in failures.failures(ROOT / root)} - {failures.ERRNO}

    assert len(found) > 10
    assert {code for code in found if f"| `{code}` |" not in page("reference/errors.md")} == set()
    assert {code for code in found if not re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", code)} == set()


def test_an_error_code_is_followed_through_choices_names_and_the_functions_that_make_errors(tmp_path):
    (tmp_path / "sample.py").write_text(
        "def bad(name, code, hint=None):\n"
        "    return Fail('usage', code, f'--{name} is bad', hint=hint)\n"
        "def missing(operand):\n"
        "    what = 'operand' if operand else 'option'\n"
        "    raise Fail('usage', f'MISSING_{what.upper()}', f'needs an {what}')\n"
        "def both():\n"
        "    raise bad('limit', 'TOO_SMALL', hint='more')\n"
        "    raise bad('limit', 'TOO_LARGE')\n"
        "    raise Fail('io' if both else 'config', 'BROKEN', 'It broke', exit_code=EX_CANTCREAT)\n"
    )

    found = failures.failures(tmp_path)

    assert [(item.code, item.category, item.message, item.hint, item.exit_code) for item in found] == [
        ("BROKEN", "config", "It broke", "", "EX_CANTCREAT"),
        ("BROKEN", "io", "It broke", "", "EX_CANTCREAT"),
        ("MISSING_OPERAND", "usage", "needs an {what}", "", ""),
        ("MISSING_OPTION", "usage", "needs an {what}", "", ""),
        ("TOO_LARGE", "usage", "--limit is bad", "", ""),
        ("TOO_SMALL", "usage", "--limit is bad", "more", ""),
    ]


def test_a_code_that_cannot_be_followed_is_not_left_out_in_silence(tmp_path):
    (tmp_path / "sample.py").write_text("raise Fail('io', secret_code(), 'no')\n")

    with pytest.raises(ValueError, match="cannot see what secret_code"):
        failures.failures(tmp_path)


@requirement("aoi:6:local-codes-documented")
def test_every_exit_code_and_category_is_documented_and_so_are_our_own_conventions():
    reference, explained = page("reference/errors.md"), page("explain/exit-codes.md")
    codes = {name: value for name, value in vars(errors).items() if name.startswith("EX_")}

    for name, value in codes.items():
        assert f"| {value} | `{name}` |" in reference
    for category, (_, exit_code) in errors.CATEGORIES.items():
        assert re.search(rf"^\| `{category}` \| (yes|no) \| {exit_code} \|", reference, re.MULTILINE)
    for code in (69, 73, 77, 75, 124, 130, 141, 143):
        assert re.search(rf"\| {code}\b", explained), (
            f"{code} is not a sysexits code of a category: say why we use it"
        )


@requirement("aoi:6:local-codes-documented")
def test_no_code_is_used_that_the_taxonomy_does_not_have():
    known = {value for name, value in vars(errors).items() if name.startswith("EX_")}
    texts = {path: path.read_text("utf-8") for path in (ROOT / "src" / "operable").rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "exit_code" in text else ():
            match node:
                case ast.Call(keywords=words):
                    given = [word.value for word in words if word.arg == "exit_code"]
                    numbers = {
                        value.value
                        for value in given
                        if isinstance(value, ast.Constant) and value.value is not None
                    }
                    assert numbers <= known, f"{path}:{node.lineno}"


# -- Python names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [tool, run, wire, flow, host, app, wrap, verdicts, differences],
    ids=lambda module: module.PATH,
)
def test_every_public_name_parameter_and_code_is_explained(reference):
    assert reference.missing() == []


def test_every_option_of_a_command_is_explained():
    assert tool.declared_options().keys() == tool.OPTIONS.keys()


def test_every_limit_that_the_reference_names_exists():
    for name, constants in limits.LIMITS.items():
        module = importlib.import_module(name)
        assert [constant for constant in constants if not hasattr(module, constant)] == []


def test_a_tool_without_words_is_found(tmp_path):
    bare = Tool("bare", version="1", schema_name="bare")

    @bare.command()
    def wordless(*, option: str = "") -> None:
        pass

    assert commands.undocumented(bare) == [
        "bare wordless",
        "bare wordless: no example",
        "bare wordless: option",
    ]
