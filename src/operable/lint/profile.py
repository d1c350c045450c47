"""`aoi-lint.toml`: what the author says to the linter that discovery cannot: where the state is, which arguments work.

Everything in it is optional. It is validated whole before anything runs: an unknown key or a wrong type is a usage error
that names the key, because a misspelt `stdin` would otherwise look like a tool that fails.

    [tool]
    env = { NOTES_HOME = "data" }        # a value that names no absolute path stays as it is; the work dir is the cwd
    setup = [["create", "--title", "a"]] # run in a fresh work dir before every experiment
    state = ["list"]                     # read-only call whose events describe the state
    machine = ["--output", "jsonl"]      # how machine mode is chosen
    network = false                      # whether ordinary calls may use the network
    timeout = 10.0                       # seconds for one call
    files = { "notes.txt" = "…" }        # files in the work dir before setup
    beside = [["notesd", "--port", "80"]] # programs that run beside the tool in every room: see below
    [commands.create]
    args = ["--title", "new"]
    other_args = ["--title", "other"]    # for "same key, other arguments"
    stdin = "…"                          # standard input
    words = ["create"]                   # how the command is called when that is not its name
    confirm = ["--confirm"]              # how its confirmation is given
    secret_flags = ["--api-token"]       # besides the ones found by name
    beside = [["python3", "{profile}/peer.py"]] # as above, for the calls of this command
    skip = "reason"                      # do not run it: reported as untested with this reason

A tool that talks with a server or a running peer cannot be tried alone, and a server that all experiments share would mix
their effects. So each room gets its own: the programs of `beside` are started before the first call, in the same work dir,
with the same HOME and environment, and live until the room is left. One is ready when it has printed a line on stdout.
Relative paths are seen from the work dir; `{profile}` is the folder of the profile. One with `sudo` before it is root of the
room: it may give the room's network interfaces, and make namespaces of its own to mount in. Setup steps run beside those of
`tool`, in every room again, because what a server keeps in memory cannot be copied.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from dataclasses import field, replace
from typing import Any, TypeVar

import msgspec

from operable.kernel.catalogue import nearest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

FILE = "aoi-lint.toml"
# A call that takes longer is not tested in passing.
LONGEST = 600.0


@dataclass(frozen=True, slots=True)
class ToolProfile:
    env: dict[str, str] = field(default_factory=dict)
    setup: list[list[str]] = field(default_factory=list)
    state: list[str] | None = None
    machine: list[str] | None = None
    network: bool = False
    timeout: float = 10.0
    files: dict[str, str] = field(default_factory=dict)
    beside: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CommandProfile:
    args: list[str] | None = None
    other_args: list[str] | None = None
    stdin: str | None = None
    words: list[str] | None = None
    confirm: list[str] | None = None
    secret_flags: list[str] = field(default_factory=list)
    beside: list[list[str]] = field(default_factory=list)
    skip: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    tool: ToolProfile = field(default_factory=ToolProfile)
    commands: dict[str, CommandProfile] = field(default_factory=dict)
    path: str | None = None

    def command(self, name: str) -> CommandProfile:
        return self.commands.get(name) or CommandProfile()


_Section = TypeVar("_Section", ToolProfile, CommandProfile)


def find(program: str) -> str | None:
    """The profile beside the program, or beside the file that its link leads to."""
    for place in (program, os.path.realpath(program)):
        path = os.path.join(os.path.dirname(place), FILE)
        if os.path.isfile(path):
            return path
    return None


def load(path: str | None) -> Profile:
    """Read and validate; Fail usage/PROFILE_INVALID."""
    if path is None:
        return Profile()
    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError:
        raise Fail("usage", "PROFILE_NOT_FOUND", f"There is no profile {path}", target=path) from None
    except OSError as error:
        raise _invalid(path, f"it cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid(path, f"it is not TOML: {error}") from error
    _only(path, document, ("tool", "commands"), "")
    commands = document.get("commands", {})
    if not isinstance(commands, dict):
        raise _invalid(path, "`commands` must be a table of tables")
    tool = _section(path, document.get("tool", {}), ToolProfile, "tool")
    problem = _problem(tool)
    if problem is not None:
        raise _invalid(path, f"in `tool`: {problem}")
    return Profile(
        tool=tool,
        commands={
            name: _section(path, section, CommandProfile, f"commands.{name}")
            for name, section in commands.items()
        },
        path=path,
    )


def _section(path: str, section: Any, kind: type[_Section], where: str) -> _Section:
    if not isinstance(section, dict):
        raise _invalid(path, f"`{where}` must be a table")
    _only(path, section, tuple(kind.__dataclass_fields__), f"{where}.")
    if "\\u0000" in json.dumps(section, default=str):
        raise _invalid(path, f"in `{where}`: a text has a NUL character, which no command line can")
    try:
        found = msgspec.convert(section, kind)
    except msgspec.ValidationError as error:
        raise _invalid(path, f"in `{where}`: {error}") from error
    programs = [words[1:2] if words[:1] == ["sudo"] else words[:1] for words in found.beside]
    # Nor does it begin with an option for a `sudo` that is not run.
    if not all(program and program[0] and program[0][0] != "-" for program in programs):
        raise _invalid(path, f"in `{where}`: each of `beside` is a list that begins with a program")
    here = os.path.dirname(os.path.abspath(path))
    beside = [[word.replace("{profile}", here) for word in words] for words in found.beside]
    return replace(found, beside=beside)


def _problem(tool: ToolProfile) -> str | None:
    """What the types cannot say."""
    if not 0 < tool.timeout <= LONGEST:
        return f"`timeout` must be more than 0 and at most {LONGEST:g} seconds"
    for name in tool.env:
        if not name or "=" in name:
            return f"`env`: {name!r} cannot be the name of a variable"
    for file in tool.files:
        if os.path.isabs(file) or ".." in file.split("/") or not file.strip("/."):
            return f"`files`: {file!r} is not a file in the work dir"
    return None


def _only(path: str, section: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in section:
        if key not in known:
            near = nearest(key, [*known])
            raise _invalid(
                path,
                f"unknown key `{where}{key}`",
                f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}",
            )


def _invalid(path: str, problem: str, hint: str | None = None) -> Fail:
    return Fail("usage", "PROFILE_INVALID", f"{path}: {problem}", target=path, hint=hint)


def recipe(program: str, profile: Profile, machine: tuple[str, ...]) -> str:
    """One line for a shell that makes, by hand, a room like those in which the tool was run: to paste before any other.

    The command lines of findings begin in it. Without it they would run on the data of the user who pastes them,
    deletions included. What runs beside the tool is not in it, since it must live as long as the room. `program` is as
    in the other lines, as a shell takes it, `machine` as setup steps get it.
    """
    tool = profile.tool
    steps = ['cd "$(mktemp -d)"', "mkdir home"]
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in tool.env.items())
    steps.append(f'export HOME="$PWD/home" {variables}'.rstrip())
    for path, content in tool.files.items():
        folder = os.path.dirname(path)
        if folder:
            steps.append(f"mkdir -p {shlex.quote(folder)}")
        steps.append(f"printf %s {shlex.quote(content)} > {shlex.quote(path)}")
    for words in tool.setup:
        steps.append(f"{program} {shlex.join((*words, *(() if chooses_output(words) else machine)))}")
    return " && ".join(steps)


def chooses_output(words: list[str]) -> bool:
    """Whether a call of the profile says itself which output it wants; else it is made in machine mode."""
    return any(word.partition("=")[0] in ("--output", "--format") for word in words)
