"""The configuration that counts in a workspace: the user's file, and the project's as far as it may.

A project's file is data of its authors. Without an approval (`operable config approve`) of exactly this
content it can only restrict and inform: its `deny` rules, the size of a window, instructions, commands and skills count.
What gives a right, starts a program or chooses what is paid for (`allow` and `ask` rules, servers, hooks, models, modes)
does not, and `notes` say so. An `ask` is one of these: it may be more specific than a `deny` of the user.

Of one value the project's counts before the user's; rules, servers, hooks and instructions of both are joined. A server,
hook or command of the user is not replaced by one of the same name.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from operable.gate.policy.pattern import DENY
from operable.gate.policy.rules import PolicyRule
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.project import places, prompts, trust
from operable.project.prompts import Skill
from operable.project.schema import (
    AgentChoice,
    McpServer,
    ProjectFile,
    PromptCommand,
    ToolHook,
    decode_servers,
    decode_toml,
    invalid,
)

# Their use costs, or decides who gets what is said; a window or a limit does neither.
_CHOICES = ("provider", "model", "base_url", "max_tokens", "effort")
_HARMLESS = ("context_window",)
_WAITS = "waits for your approval"
_HOLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class ConfiguredValue:
    """One thing that is configured, and where. `why` it does not count; empty: it does."""

    key: str
    value: str
    source: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """See the module. `chosen`: single values by name."""

    chosen: Mapping[str, Any] = field(default_factory=dict)
    instructions: tuple[str, ...] = ()
    rules: tuple[PolicyRule, ...] = ()
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    hooks: tuple[ToolHook, ...] = ()
    commands: Mapping[str, PromptCommand] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    agents: Mapping[str, AgentChoice] = field(default_factory=dict)
    values: tuple[ConfiguredValue, ...] = ()
    notes: tuple[str, ...] = ()
    folder: str = ""
    """Of the project whose files were read."""
    project_hooks: frozenset[str] = frozenset()
    """Names of the hooks that count because the project was approved."""

    def still_counts(self, hook: ToolHook) -> bool:
        """Whether a hook is what was approved: the agent may have changed its script since the session began."""
        if hook.name not in self.project_hooks:
            return True
        try:
            return requested_by(self.folder).standing == "approved"
        except Fail:
            return False

    def expanded(self, text: str) -> str | None:
        """The prompt that `/NAME arguments` stands for; None if no command has this name."""
        name, _, arguments = text.removeprefix("/").partition(" ")
        command = self.commands.get(name) if text.startswith("/") else None
        return None if command is None else prompts.expand(command.prompt, arguments.strip())


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """What the files of a project ask for, approved or not."""

    folder: str
    file: ProjectFile | None
    servers: Mapping[str, McpServer]
    digest: str
    standing: Literal["approved", "never approved", "changed"]

    @property
    def wants_approval(self) -> bool:
        """Whether anything in it counts only with an approval."""
        file = self.file
        if self.servers:
            return True
        if file is None:
            return False
        beyond_deny = any(rule.effect != DENY for rule in file.policy_rules(places.NAME))
        named = any(getattr(file, name) is not None for name in _CHOICES)
        return beyond_deny or named or bool(file.mcp or file.hook or file.agent)


def load_settings(workspace: str) -> Settings:
    """What counts here. Raises Fail config/SETTINGS_INVALID for a file that is wrong, APPROVALS_UNUSABLE."""
    workspace = os.path.realpath(workspace)
    if not places.is_configured(workspace):
        return _with_prompts(_Merge(places.project_folder(workspace)))
    path = places.user_file()
    merge = _Merge(places.project_folder(workspace))
    if path is not None:
        merge.take(decode_toml(_bytes(path, None) or b"", path, own=True), path, is_own=True, counts=True)
    asked = requested_by(merge.folder)
    counts = asked.standing == "approved"
    merge.take_project(asked, counts=counts)
    if asked.wants_approval and not counts:
        how = "has changed since it was approved" if asked.standing == "changed" else "was not approved"
        merge.notes.append(
            f"The configuration of {merge.folder} {how}: what it allows, starts and chooses does not count"
            " (look at it with `operable config show`, then `operable config approve`)."
        )
    return _with_prompts(merge)


def requested_by(folder: str) -> ProjectRequest:
    """What the files in a folder of a project ask for. Fails as `load_settings` does."""
    path, servers_path = os.path.join(folder, places.NAME), os.path.join(folder, places.SERVERS)
    data, more = _bytes(path, folder), _bytes(servers_path, folder)
    file = None if data is None else decode_toml(data, path, own=False)
    servers = {} if more is None else decode_servers(more, servers_path)
    words = [*(word for hook in (file.hook if file else ()) for word in hook.command)]
    for server in (*servers.values(), *(file.mcp.values() if file else ())):
        words += [server.command or "", *server.args]
    current = trust.digest(folder, words, {places.NAME: data, places.SERVERS: more})
    return ProjectRequest(folder, file, servers, current, trust.standing(folder, current))


def waiting_values(asked: ProjectRequest) -> list[ConfiguredValue]:
    """What an approval is for: of the content that its digest is of, whatever the files contain by now."""
    path, merge = places.user_file(), _Merge(asked.folder)
    if path is not None:
        merge.take(decode_toml(_bytes(path, None) or b"", path, own=True), path, is_own=True, counts=True)
    merge.take_project(asked, counts=False)
    return [value for value in merge.values if value.why == _WAITS]


class _Merge:
    """What was found so far."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.chosen: dict[str, Any] = {}
        self.instructions: list[str] = []
        self.rules: list[PolicyRule] = []
        self.servers: dict[str, McpServer] = {}
        self.hooks: list[ToolHook] = []
        self.project_hooks: set[str] = set()
        self.commands: dict[str, PromptCommand] = {}
        self.agents: dict[str, AgentChoice] = {}
        self.values: list[ConfiguredValue] = []
        self.notes: list[str] = []

    def take(self, file: ProjectFile, path: str, *, is_own: bool, counts: bool) -> None:
        why = "" if counts else _WAITS
        for name in (*_CHOICES, *_HARMLESS):
            value = getattr(file, name)
            if value is not None:
                self._single(name, value, path, "" if name in _HARMLESS else why)
        self._instruct(file, path, is_own=is_own)
        for rule in file.policy_rules(path):
            stands = counts or rule.effect == DENY
            self._note("rules." + rule.effect, rule.pattern, path, "" if stands else why)
            if stands:
                self.rules.append(rule)
        self.take_servers(file.mcp, path, counts=counts)
        self._take_named(file, path, why, is_own=is_own)

    def take_project(self, asked: ProjectRequest, *, counts: bool) -> None:
        if asked.file is not None:
            path = os.path.join(self.folder, places.NAME)
            self.take(asked.file, path, is_own=False, counts=counts)
        self.take_servers(asked.servers, os.path.join(self.folder, places.SERVERS), counts=counts)

    def _take_named(self, file: ProjectFile, path: str, why: str, *, is_own: bool) -> None:
        for hook in file.hook:
            twice = "you have one of this name" if any(hook.name == own.name for own in self.hooks) else why
            rights = "" if hook.confined else " (with all your rights)"
            shown = f"{hook.on} {hook.match}: {' '.join(hook.command)}{rights}"
            if self._note(f"hook.{hook.name}", shown, path, twice):
                self.hooks.append(hook)
                if not is_own:
                    self.project_hooks.add(hook.name)
        for name, command in file.command.items():
            twice = "you have one of this name" if name in self.commands else ""
            if self._note(f"command.{name}", command.description or command.prompt[:80], path, twice):
                self.commands[name] = command
        for name, choice in file.agent.items():
            shown = ", ".join(
                f"{key} {said}" for key in ("model", "mode") if (said := getattr(choice, key)) is not None
            )
            if self._note(f"agent.{name}", shown, path, why):
                self.agents[name] = choice

    def take_servers(self, servers: Mapping[str, McpServer], path: str, *, counts: bool) -> None:
        for name, server in servers.items():
            why = "there is one of this name" if name in self.servers else "" if counts else _WAITS
            # The names alone of variables and headers: their values may be secrets.
            given = "".join(f" {key}=…" for key in (*server.env, *server.headers))
            shown = server.url or " ".join([server.command or "", *server.args])
            if self._note(f"mcp.{name}", f"{shown}{given}", path, why):
                self.servers[name] = server

    def _single(self, name: str, value: Any, path: str, why: str) -> None:
        if not why:
            self.chosen[name] = value
            for number, known in enumerate(self.values):
                if known.key == name and not known.why:
                    self.values[number] = ConfiguredValue(name, known.value, known.source, f"{path} says it")
        self._note(name, str(value), path, why)

    def _instruct(self, file: ProjectFile, path: str, *, is_own: bool) -> None:
        if file.instructions.strip():
            self.instructions.append(f"# {path}\n{file.instructions.strip()}")
            self._note("instructions", file.instructions.strip()[:80], path)
        folder = os.path.dirname(path)
        for name in file.instruction_files:
            where = os.path.join(folder, os.path.expanduser(name) if is_own else name)
            try:
                data = places.read(where, None if is_own else folder)
                why = "" if data is not None else "there is no such file below the project"
            except (OSError, ValueError) as error:
                data, why = None, str(error)
            if data is not None:
                self.instructions.append(f"# {where}\n{data.decode('utf-8', 'replace').strip()}")
            self._note("instruction_files", name, path, why)

    def _note(self, key: str, value: str, path: str, why: str = "") -> bool:
        self.values.append(ConfiguredValue(key, value, path, why))
        return not why


def _with_prompts(merge: _Merge) -> Settings:
    commands = dict(merge.commands)
    for name, (command, path) in prompts.commands(merge.folder).items():
        twice = "there is one of this name" if name in commands else ""
        merge.values.append(ConfiguredValue(f"command.{name}", command.description, path, twice))
        commands.setdefault(name, command)
    skills = prompts.skills(merge.folder)
    merge.values += [
        ConfiguredValue(f"skill.{skill.name}", skill.description, skill.path) for skill in skills.values()
    ]
    return Settings(
        merge.chosen,
        tuple(merge.instructions),
        tuple(merge.rules),
        merge.servers,
        tuple(merge.hooks),
        commands,
        skills,
        merge.agents,
        tuple(merge.values),
        tuple(merge.notes),
        merge.folder,
        frozenset(merge.project_hooks),
    )


def _bytes(path: str, inside: str | None) -> bytes | None:
    try:
        return places.read(path, inside)
    except (OSError, ValueError) as error:
        raise invalid(path, str(error)) from error


def filled(values: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables or headers with `${NAME}` and `${NAME:-else}` filled in. Raises KeyError with a name that is not set."""
    for name, value in values.items():
        yield name, fill(value, environment)


def fill(text: str, environment: Mapping[str, str]) -> str:
    """A text with its variables. Raises KeyError with a name that is not set and has no `else`."""

    def value_of(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        return environment.get(name) or default if default is not None else environment[name]

    return _HOLE.sub(value_of, text)
