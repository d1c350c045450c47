"""What `operable.toml` and `.mcp.json` can say, checked whole. A member that is not known is a mistake, not ignored."""

import difflib
import json
import re
from typing import Annotated, Any, Literal

import msgspec

from operable.gate.policy.pattern import parse
from operable.gate.policy.policy_file import tables_from
from operable.gate.policy.rules import PolicyRule
from operable.kernel.errors import Fail
from operable.kernel.toml import parse_toml

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=600)]
NAMES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TRANSPORTS = ("stdio", "sse", "streamable-http")
_RULES = frozenset({"allow", "ask", "deny"})


class McpServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One MCP server: a command, or an address. `${NAME}` and `${NAME:-else}` in a value stand for a variable."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    transport: str | None = None

    @property
    def reached_by(self) -> str:
        kind = self.transport or ("stdio" if self.command else "streamable-http")
        return "streamable-http" if kind in ("http", "streamable_http") else kind


class ToolHook(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command before or after tool calls that `match` is about. `on_failure`: what a hook that cannot run means."""

    name: str
    on: Literal["before", "after"]
    command: tuple[str, ...]
    match: str = "*"
    timeout: Seconds = 30.0
    on_failure: Literal["deny", "continue"] = "deny"
    confined: bool = True


class PromptCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A slash command: a prompt in which `$ARGUMENTS`, `$1` to `$9` stand for what follows the name."""

    prompt: str
    description: str = ""


class AgentChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a session with another agent gets when its starter chooses nothing."""

    model: str | None = None
    mode: str | None = None


class ProjectFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`operable.toml`, of a user or of a project."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    context_window: Positive | None = None
    max_tokens: Positive | None = None
    effort: str | None = None
    instructions: str = ""
    instruction_files: tuple[str, ...] = ()
    rules: dict[str, Any] = {}
    mcp: dict[str, McpServer] = {}
    hook: tuple[ToolHook, ...] = ()
    command: dict[str, PromptCommand] = {}
    agent: dict[str, AgentChoice] = {}

    def policy_rules(self, source: str) -> tuple[PolicyRule, ...]:
        """The rules, in the language of policy files."""
        return tables_from(self.rules, source=source).general.rules


def decode_toml(data: bytes, path: str, *, own: bool) -> ProjectFile:
    """The content of an `operable.toml`; `own`: the user's. Raises Fail config/SETTINGS_INVALID."""
    try:
        given = parse_toml(data.decode("utf-8"))
        if unknown := sorted(given.keys() - set(ProjectFile.__struct_fields__)):
            raise ValueError(_unknown(unknown[0]))
        found = msgspec.convert(given, ProjectFile)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise invalid(path, str(error)) from error
    if problem := _problem(found, own=own):
        raise invalid(path, problem)
    found.policy_rules(path)
    return found


def decode_servers(data: bytes, path: str) -> dict[str, McpServer]:
    """The servers of a `.mcp.json`, whose other members are those of other programs. Raises Fail config/SETTINGS_INVALID."""
    try:
        given = json.loads(data)
        servers = given.get("mcpServers", {}) if isinstance(given, dict) else None
        if not isinstance(servers, dict):
            raise ValueError("it has no object mcpServers")  # noqa: TRY004 - as a syntax error
        found = {name: msgspec.convert(_own_names(entry), McpServer) for name, entry in servers.items()}
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise invalid(path, str(error)) from error
    for name, server in found.items():
        if problem := _server_problem(name, server):
            raise invalid(path, problem)
    return found


def _unknown(name: str) -> str:
    known = ProjectFile.__struct_fields__
    near = difflib.get_close_matches(name, known, 1)
    return f"there is no {name[:80]!r}; " + (
        f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
    )


def _own_names(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    known = {"command", "args", "env", "url", "headers"}
    kept = {name: value for name, value in entry.items() if name in known}
    return kept | ({"transport": entry["type"]} if "type" in entry else {})


def _problem(found: ProjectFile, *, own: bool) -> str | None:
    if surplus := sorted(set(found.rules) - _RULES):
        return f"rules has no {', '.join(surplus)}; it has allow, ask and deny"
    if found.base_url is not None and not own:
        # It gets the key of the provider with every request.
        return "base_url is read only from your own file, not from a project's"
    for name, server in found.mcp.items():
        if problem := _server_problem(name, server):
            return problem
    names = [hook.name for hook in found.hook]
    if len(set(names)) < len(names):
        return "each hook has a name of its own"
    for hook in found.hook:
        if not hook.command or not hook.command[0]:
            return f"the hook {hook.name!r} has no command"
        try:
            parse(hook.match)
        except ValueError as error:
            return f"the hook {hook.name!r}: {error}"
    wrong = [name for name in (*found.command, *found.agent, *names) if not NAMES.fullmatch(name)]
    return f"{wrong[0][:80]!r} is not a name: letters, digits, dots, underscores, hyphens" if wrong else None


def _server_problem(name: str, server: McpServer) -> str | None:
    if not NAMES.fullmatch(name):
        return f"{name[:80]!r} is not the name of a server: letters, digits, dots, underscores, hyphens"
    if (server.command is None) == (server.url is None):
        return f"the server {name!r} has a command or a url"
    if server.reached_by not in _TRANSPORTS or (server.reached_by == "stdio") != (server.command is not None):
        return f"the server {name!r}: transport is stdio for a command, streamable-http or sse for a url"
    return None


def invalid(path: str, why: str) -> Fail:
    return Fail(
        "config",
        "SETTINGS_INVALID",
        f"the configuration cannot be used: {why}",
        target=path,
        hint=f"edit {path}",
    )
