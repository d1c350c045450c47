"""Drafts of wrappers: what help texts tell, and nothing that could do harm."""

import pytest

from operable.kernel.errors import Fail
from operable.wrap.author.draft import HelpOption, draft, options, subcommands
from operable.wrap.doctor import version
from operable.wrap.plan.manifests import read

HELP = """\
Usage: prog [OPTIONS] COMMAND

Options:
  -q, --quiet            say nothing
      --depth=N          so deep
  -o, --out <FILE>       write there
      --limit N          ours, not the program's
  -h, --help             show this

Commands:
  list      List things
  remove    Remove a thing
  help      Say this

More text here.
"""


def test_options_are_read_with_their_values_and_ours_left_out():
    assert list(options(HELP)) == [
        HelpOption("quiet", False, "say nothing"),
        HelpOption("depth", True, "so deep"),
        HelpOption("out", True, "write there"),
    ]


def test_a_completion_file_adds_what_the_help_left_out():
    fish = "complete -c prog -s q -l quiet -d 'again'\ncomplete -c prog -l colour -r -d 'which colour'\n# -l comment\n"

    assert list(options(HELP, fish))[-1] == HelpOption("colour", True, "which colour")


def test_subcommands_stand_below_their_heading():
    assert list(subcommands(HELP)) == [("list", "List things"), ("remove", "Remove a thing")]


def test_a_draft_can_be_loaded_is_unverified_and_does_nothing_without_confirmation(tmp_path, monkeypatch):
    program = tmp_path / "prog"
    program.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'prog 2.5.1'; exit; }}\ncat <<'X'\n{HELP}X\n"
    )
    program.chmod(0o755)

    files = draft(str(program))
    for path, text in files.items():
        place = tmp_path / "made" / "prog" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    plan = read(str(tmp_path / "made" / "prog"))

    assert plan.unverified is True
    assert plan.version_check.range == ">=2.5.1"
    assert {name: command.destructive for name, command in plan.commands.items()} == {
        "list": True,
        "remove": True,
    }


def test_a_program_with_a_name_that_no_wrapper_can_have_is_refused():
    with pytest.raises(Fail) as caught:
        draft("/bin/list")

    assert caught.value.code == "WRAPPER_NAME"


GIT = """\
usage: git [--version] <command> [<args>]

These are common Git commands used in various situations:

start a working area (see also: git help tutorial)
   clone     Clone a repository into a new directory

examine the history and state
   log       Show commit logs

'git help -a' lists available subcommands.
See it.
   not       a command
"""
GH = """\
USAGE
  gh <command> [flags]

CORE COMMANDS
  auth:        Authenticate gh

HELP TOPICS
  mintty:      Information
"""
CARGO = """\
Commands:
    build, b    Compile the current package
    clean       Remove the target directory
    ...         See all commands with --list
"""


@pytest.mark.parametrize(
    "text, names",
    [(GIT, ["clone", "log"]), (GH, ["auth"]), (CARGO, ["build", "clean"])],
    ids=["git", "gh", "cargo"],
)
def test_subcommands_are_read_in_the_forms_of_well_known_programs(text, names):
    assert [name for name, _ in subcommands(text)] == names


@pytest.mark.parametrize(
    "help_text, refused", [("cannot find my toolchain", True), ("usage: prog [-q] file", False)]
)
def test_the_complaint_of_a_program_is_no_help(tmp_path, help_text, refused):
    program = tmp_path / "prog"
    program.write_text(f"#!/bin/sh\necho '{help_text}' >&2\nexit 1\n")
    program.chmod(0o755)

    if not refused:
        assert sorted(draft(str(program))) == ["CLI.md", "tools/run/TOOL.md"]
        return
    with pytest.raises(Fail) as caught:
        draft(str(program))

    assert caught.value.code == "HELP_UNREADABLE"
    assert help_text in caught.value.message


WRITES = """#!/bin/sh
touch {mark} 2>/dev/null && echo 'it was written'
[ "$1" = --version ] && {{ echo 1.0; exit; }}
printf 'Usage: prog [OPTIONS]\\n\\nOptions:\\n  --depth N   how deep\\n'
"""


def test_a_program_that_is_asked_what_it_is_changes_nothing(tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    program = tmp_path / "prog"
    program.write_text(WRITES.format(mark=mark))
    program.chmod(0o755)

    files = draft(str(program))
    folder = tmp_path / "made" / "prog"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    answer = version(read(str(folder)))

    assert not mark.exists()
    assert "--depth" in "".join(files.values())
    assert answer.fields["detail"].startswith("1.0")
