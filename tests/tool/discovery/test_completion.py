"""Completion: the scripts of each shell, run by that shell, offer what the declarations say."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from operable.tool import Event, Tool
from operable.tool.discovery.completion import script
from tests.tool import notebook
from tests.tool.drive import run

COMMANDS = "search outline get delete import count watch shelf schema input-schema capabilities doctor completion".split()
CASES: list[tuple[list[str], set[str]]] = [
    ([""], set(COMMANDS)),
    (["s"], {"search", "shelf", "schema"}),
    (["shelf", ""], {"list", "add"}),
    (["shelf", "l"], {"list"}),
    (["--output", "jsonl", "sea"], {"search"}),
    (["--output", ""], {"jsonl", "human", "json"}),
    (["search", "--st"], {"--state"}),
    (["search", "cats", "--state", ""], {"open", "closed"}),
    (["search", "cats", "--state", "o"], {"open"}),
    (["search", "--limit", "3", "--no-"], {"--no-fuzzy", "--no-color"}),
    (["shelf", "list", "--a"], {"--all", "--accept-schema"}),
    (["shelf", "--timeout", "3", "list", "--al"], {"--all"}),
    (["completion", ""], {"bash", "zsh", "fish"}),
    (["delete", "--confirm"], {"--confirm", "--confirm-count"}),
    (["nonsense", "--a"], set()),
]


class Hit(Event):
    rank: int


def awkward_tool() -> Tool:
    tool = Tool("awkward-tool", version="1", schema_name="x", summary="$(touch /tmp/owned) `id`")

    @tool.command()
    def pick(
        colour: Literal["r$(id)d", "blue `x`", "it's", 'say "hi"'], *, mode: Literal["a b", "c"] = "c"
    ) -> Iterator[Hit]:
        r"""It's $HOME and `id` and \\n "quotes".

        mode: isn't "this" \\ odd
        """
        yield Hit(rank=1)

    @tool.command()
    def group() -> Iterator[Hit]:
        """A command of its own."""
        yield Hit(rank=1)

    @tool.command("group list")
    def group_list() -> Iterator[Hit]:
        """And a group."""
        yield Hit(rank=1)

    return tool


def shell(program: str, *arguments: str, cwd: Any = None) -> str:
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def in_bash(tool: Tool, words: list[str], cwd: Any = None, *, files: bool = False) -> list[str]:
    """What is inserted, as the shell then reads it. Names of files are quoted by bash."""
    line = "printf '%s\\n' "
    printed = f'{line}"${{COMPREPLY[@]}}"' if files else f'eval "{line}${{COMPREPLY[*]}}"'
    function = script(tool, "bash").partition("(")[0]
    program = f"""{script(tool, "bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
{function}
if [ ${{#COMPREPLY[@]}} -gt 0 ]; then {printed}; fi"""
    return shell("bash", "--norc", "-uc", program, tool.name, tool.name, *words, cwd=cwd).splitlines()


def in_zsh(tool: Tool, words: list[str], cwd: Any = None) -> list[str]:
    """The function itself, with stand-ins for the three parts of zsh that exist only while a line is edited."""
    function = script(tool, "zsh").splitlines()[1].partition("(")[0]
    program = f"""{script(tool, "zsh")}
compadd() {{ shift; for word in "$@"; do [[ $word == "$words[CURRENT]"* ]] && print -r -- "$word"; done; true }}
_files() {{ print -rl -- *(N) }}
words=("$@"); CURRENT=$#
{function}"""
    return shell("zsh", "-fc", program, tool.name, tool.name, *words, cwd=cwd).splitlines()


def in_fish(tool: Tool, words: list[str], cwd: Any = None) -> list[str]:
    line = " ".join([tool.name, *words])
    program = f"{script(tool, 'fish')}\ncomplete -C $argv[1]"
    found = shell("fish", "--no-config", "-c", program, line, cwd=cwd).splitlines()
    return [line.partition("\t")[0] for line in found]


@pytest.mark.parametrize(("words", "offered"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_bash_offers_what_can_follow(words, offered, tmp_path):
    assert set(in_bash(notebook.tool, words, tmp_path)) == offered


@pytest.mark.needs("zsh")
@pytest.mark.parametrize(("words", "offered"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_zsh_offers_what_can_follow(words, offered, tmp_path):
    assert set(in_zsh(notebook.tool, words, tmp_path)) == offered


@pytest.mark.needs("fish")
@pytest.mark.parametrize(("words", "offered"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_fish_offers_what_can_follow(words, offered, tmp_path):
    assert set(in_fish(notebook.tool, words, tmp_path)) == offered


def test_bash_completes_a_value_after_an_equals_sign():
    assert in_bash(notebook.tool, ["search", "--state", "="]) == ["open", "closed"]
    assert in_bash(notebook.tool, ["search", "--state", "=", "c"]) == ["closed"]
    assert in_bash(notebook.tool, ["--state", "=", "open", "sea"]) == ["search"]


def test_bash_offers_files_where_a_value_or_an_operand_is_free(tmp_path):
    (tmp_path / "a file with spaces").touch()

    assert in_bash(notebook.tool, ["import", "--input-jsonl", "a"], tmp_path, files=True) == [
        "a file with spaces"
    ]
    assert in_bash(notebook.tool, ["search", "a f"], tmp_path, files=True) == ["a file with spaces"]


@pytest.mark.parametrize(
    "complete",
    [
        in_bash,
        pytest.param(in_zsh, marks=pytest.mark.needs("zsh")),
        pytest.param(in_fish, marks=pytest.mark.needs("fish")),
    ],
)
def test_what_authors_write_is_data_to_the_shell_and_never_run(complete, tmp_path):
    tool = awkward_tool()

    assert set(complete(tool, ["gro"], tmp_path)) == {"group"}
    assert "list" in complete(tool, ["group", ""], tmp_path)
    assert "--mode" in complete(tool, ["pick", "--"], tmp_path)
    assert set(complete(tool, ["pick", ""], tmp_path)) == {"r$(id)d", "blue `x`", "it's", 'say "hi"'}
    assert set(complete(tool, ["pick", "--mode", ""], tmp_path)) == {"a b", "c"}


def test_no_hidden_command_is_offered():
    assert "secret-lair" not in "".join(script(notebook.tool, shell) for shell in ("bash", "zsh", "fish"))


def test_the_script_is_printed_as_it_is_for_a_shell_to_read():
    printed = run("completion", "bash", output=None, tool=Path(notebook.__file__))

    assert printed.exit_code == 0
    assert printed.stdout.decode() == script(notebook.tool, "bash") + "\n"
