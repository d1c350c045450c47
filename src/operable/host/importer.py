"""From the settings of other programs to manifests: what an importer is, and what all of them make of a command.

An importer finds the entries in the parsed JSON of a file, and the command of each; it does no I/O. What comes out is a
draft: a manifest and its ACP profile as plain values, with notes about everything that the source does not say and the user
should check. Two rules apply to all:

- No secret gets into a manifest. Of a variable only the name is taken, into `passthrough`; a command with a key among its
  arguments is left out.
- Nothing is guessed silently. How a program is installed is known for `npx` and `uvx`; otherwise a note says that it is not.

Settings files are JSON with comments and trailing commas; `parse` takes them as they are.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import msgspec

from operable.kernel.catalogue import load, names, to_name
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_argv
from operable.manifest.frontmatter import render
from operable.manifest.loader import from_mapping
from operable.manifest.problem import ManifestError

# Of the Agent Client Protocol: the one that our own arm was written against.
ACP_REVISION = "064ee1ffe194cdb14e1d45d66875ce74a14933c3"
_PROGRAM = re.compile(r"[A-Za-z0-9._\-/]+")
# Programs that fetch and run a package, and the package in which they come themselves.
_LAUNCHERS = {"npx": ("npm", "npm"), "bunx": ("npm", "bun"), "uvx": ("pip", "uv")}
_STRINGS_AND_COMMENTS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """A manifest that the user may check and use."""

    name: str
    manifest: dict[str, Any]
    profile: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def files(self) -> dict[str, str]:
        """File name -> text."""
        notes = "".join(f"- {note}\n" for note in self.notes)
        body = f"\n# {self.manifest['name']}\n" + (f"\nTo be looked at:\n\n{notes}" if notes else "")
        found = {"AGENT-CLI.md": render(self.manifest, body)}
        if self.profile is not None:
            found["ACP.md"] = render(self.profile, f"\n# {self.manifest['name']} over ACP\n")
        return found


class Unusable(Exception):  # noqa: N818 - said of what was found, not a mistake of ours
    """This is not such a file, or an entry of it cannot be made a manifest; the message says why."""


@dataclass(frozen=True, slots=True)
class Left:
    """An entry that was left out, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Importer:
    """One source of agents: `entries` of a parsed file by their names, and the `command` of each. Both raise Unusable."""

    name: str
    title: str
    entries: "Callable[[Any], Mapping[str, Any]]"
    command: "Callable[[str, Any], AgentCommand]"
    places: tuple[str, ...] = ()  # where its file usually is


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How a program starts an agent."""

    name: str
    program: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()  # names only
    description: str = ""
    version: str = "1.0.0"
    install: tuple[Mapping[str, Any], ...] = ()
    requires: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def importer_names() -> list[str]:
    from operable.host import importers

    return sorted(name for folder in importers.__path__ for name in names(folder))


def importer(name: str) -> Importer:
    found: Importer = load("operable.host.importers", to_name(name), "IMPORTER", kind="importer")
    return found


def parse(text: str, source: str) -> Any:
    """JSON, or JSON as settings files have it: with comments and trailing commas."""
    plain = _STRINGS_AND_COMMENTS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or "", plain)
    try:
        return msgspec.json.decode(plain.encode())
    except (msgspec.MsgspecError, RecursionError) as problem:
        raise Fail("validation", "INVALID_JSON", f"it is not JSON: {problem}", target=source) from None


def convert(name: str, found: Any, source: str) -> list[AgentDraft | Left]:
    """The drafts of a file, and what had to be left out; Raises Fail validation/IMPORT_UNREADABLE if it is not of this
    kind.
    """
    source_of = importer(name)
    try:
        entries = source_of.entries(found)
    except Unusable as problem:
        raise Fail(
            "validation", "IMPORT_UNREADABLE", f"this is not a file of {name}: {problem}", target=source
        ) from None
    made: list[AgentDraft | Left] = []
    for each, value in entries.items():
        try:
            made.append(draft(source_of.command(each, value)))
        except Unusable as problem:
            made.append(Left(each, str(problem)))
    return made


def entry(found: Any, name: str) -> dict[str, Any]:
    """An object inside of another."""
    inner = found.get(name) if isinstance(found, dict) else None
    if not isinstance(inner, dict):
        raise Unusable(f"it has no object `{name}`")
    return inner


def agent_server(name: str, found: Any, what: str) -> AgentCommand:
    """The form that editors share: {command, args, env}; older settings have {command: {path, args, env}}."""
    server = found if isinstance(found, dict) else {}
    if isinstance(server.get("command"), dict):
        server = {**server["command"], "command": server["command"].get("path")}
    program = server.get("command")
    if not isinstance(program, str) or not program:
        raise Unusable("the settings do not say by which command it is started")
    return AgentCommand(
        name,
        program,
        texts(server.get("args"), "args"),
        variables(server.get("env")),
        f"{name}, as {what} starts it.",
    )


def texts(found: Any, what: str) -> tuple[str, ...]:
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise Unusable(f"{what} is not a list of texts")
    return tuple(found)


def variables(found: Any) -> tuple[str, ...]:
    """The names of variables; their values stay where they are."""
    if isinstance(found, dict):
        return tuple(sorted(found))
    if isinstance(found, Sequence) and not isinstance(found, str):
        named = [each.get("name") for each in found if isinstance(each, dict)]
        return tuple(sorted(name for name in named if isinstance(name, str)))
    return ()


def draft(command: AgentCommand) -> AgentDraft:
    """The manifest of an agent that speaks ACP and is started by this command."""
    program = os.path.expanduser(command.program)
    if redact_argv([program, *command.args]) != [program, *command.args]:
        raise Unusable("its arguments contain what looks like a secret; a manifest is not a place for one")
    if not _PROGRAM.fullmatch(program):
        raise Unusable(f"the program {command.program!r} has a name that no manifest can have")
    notes = list(command.notes)
    install = [dict(each) for each in command.install]
    launcher = _LAUNCHERS.get(os.path.basename(program))
    if not install and launcher is not None:
        install = [{"method": launcher[0], "package": launcher[1]}]
        notes.append(f"{program} fetches the agent when it starts: pin its version in bin_args.")
    elif not install:
        install = [{"method": "vendored", "path": f"bin/{os.path.basename(program)}"}]
        notes.append("How it is installed is not known: it must be on PATH, or `install` must say how.")
    if command.env:
        names_ = ", ".join(command.env)
        notes.append(f"It expects variables, which are passed through and must be set: {names_}.")
    notes.append(
        "It runs without a sandbox of ours (provider local); docs/guides/confine-an-agent.md says how to confine it."
    )
    name = kebab(command.name)
    made = AgentDraft(name, _manifest(command, name, program, install), profile(name), tuple(notes))
    try:
        from_mapping(made.manifest, "agent-cli")
    except ManifestError as problem:
        raise Unusable(f"it makes no manifest: {problem}") from problem
    return made


def kebab(name: str) -> str:
    """A name that a manifest can have: `Claude Code` is claude-code."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-")
    return words if len(words) > 1 else f"agent-{words or 'imported'}"


def _manifest(
    command: AgentCommand, name: str, program: str, install: list[dict[str, Any]]
) -> dict[str, Any]:
    sandbox: dict[str, Any] = {"provider": "local", "config": {}}
    if command.env:
        sandbox["env"] = {"passthrough": list(command.env)}
    made: dict[str, Any] = {
        "name": name,
        "id": name,
        "description": command.description or f"{command.name}, over ACP.",
        "version": command.version,
        "bin": program,
        "bin_args": list(command.args),
        "install": install,
        "version_check": {
            "cmd": f"{program} --version",
            "parse": r"(\d+\.\d+\.\d+)",
            "range": ">=0.0.0",
            "timeout_ms": 30_000,
        },
        "requires": dict(command.requires),
        "sandbox": sandbox,
        "protocol": "acp",
        "acp": "./ACP.md",
        "capabilities": {"streaming": True, "tool_calls": True, "bidirectional": True},
        "continuation": {"default": "pinned-session", "supported": ["pinned-session", "transcript", "none"]},
        "tags": ["acp", "imported"],
    }
    return {key: value for key, value in made.items() if value not in ([], {})}


def profile(name: str) -> dict[str, Any]:
    """The ACP.md of an agent of which nothing is known but that it speaks ACP."""
    return {
        "name": name,
        "id": f"{name[:60]}-acp",
        "description": f"What {name} offers over the Agent Client Protocol; no client methods are granted.",
        "version": "1.0.0",
        "kind": "client",
        "transport": "stdio",
        "metadata": {"aip44": {"acp_rev": ACP_REVISION, "tier": "governance-aware"}},
    }
