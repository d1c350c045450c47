"""A conversation, put together from the options: provider, session, tools, instructions, permissions."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from operable.agent import abilities
from operable.agent.instructions import system_prompt
from operable.agent.places import new_session_id, sessions_folder
from operable.agent.provider import model as models
from operable.agent.secrecy import known_secrets
from operable.agent.session.conversation import (
    DEFAULT_THINKING,
    ConversationStore,
    SessionConversation,
    Tuning,
)
from operable.agent.session.store import NullStore, Sessions, SessionStore
from operable.agent.tool.ability import NO_SANDBOX, Ability
from operable.agent.tool.call_rules import CallRules
from operable.agent.tool.permissions import Permissions
from operable.kernel import catalogue
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, Redactor
from operable.project.settings import Settings, load_settings
from operable.wire import json_stream as protocol

if TYPE_CHECKING:
    from operable.agent.tool.mcp import McpServers

_LOG_LEVEL = "warning"
_CONFIGURED = ("model", "base_url", "max_tokens", "effort")


def assemble(
    options: dict[str, Any], environment: Mapping[str, str]
) -> tuple[SessionConversation, Callable[[], None]]:
    """The conversation, and what must be called at its end. `options["session_id"]` names the session afterwards."""
    project = load_settings(options["workspace"])
    _take_configured(options, project)
    provider: models.Model = catalogue.load(
        "operable.agent.providers", options["provider"], "MODEL", kind="provider"
    )
    settings = models.ProviderSettings(options.get("base_url"), options.get("api_key"), dict(environment))
    try:
        session = provider.configure(settings)
    except models.ConfigurationError as problem:
        raise Fail("config", "PROVIDER_MISCONFIGURED", str(problem)) from problem
    tuning = _tuning(provider, options, project)
    _check_sandbox(options.get("sandbox"))
    toolbox = tools(options, environment)
    known = known_secrets(options, environment)
    kept = _kept(options, provider, tuning)
    if kept is not None:
        kept.known = known
    store: ConversationStore = kept or NullStore()
    conversation = SessionConversation(
        provider=provider,
        session=session,
        tuning=tuning,
        toolbox=toolbox,
        workspace=options["workspace"],
        environment=environment,
        store=store,
        permissions=Permissions(
            "yolo" if options.get("auto_approve") else "default",
            (*options.get("allow", ()), *(["Skill"] if project.skills else [])),
            CallRules(project.rules, options["workspace"]) if project.rules else None,
            options["workspace"],
        ),
        sandbox=options.get("sandbox"),
        turns=kept.state.turns if kept else (),
        tokens=kept.state.tokens if kept else None,
        cost_usd=kept.state.cost_usd if kept else 0.0,
        known=known,
        project=project,
    )
    servers = _configured_servers(conversation, environment)

    def close() -> None:
        if servers is not None:
            servers.close()
        session.close()
        if kept is not None:
            kept.close()

    return conversation, close


def _take_configured(options: dict[str, Any], project: Settings) -> None:
    """What the command line and the environment do not say. A model of one provider is none of another."""
    chosen = dict(project.chosen)
    if chosen.get("provider", options["provider"]) != options["provider"]:
        for name in ("model", "base_url", "effort", "context_window"):
            chosen.pop(name, None)
    for name, option in (("context_window", "window"), *((name, name) for name in _CONFIGURED)):
        if name in chosen:
            options.setdefault(option, chosen[name])


def _configured_servers(
    conversation: SessionConversation, environment: Mapping[str, str]
) -> "McpServers | None":
    """The servers of the configuration, which begin to connect."""
    if not conversation.project.servers:
        return None
    from operable.agent.tool.mcp import McpServers, configured_frame

    def heard(event: protocol.Event) -> None:
        if isinstance(event, protocol.ErrorFrame):
            conversation.notes.append(event.error.message)

    servers = McpServers(conversation.toolbox, heard, conversation.workspace, conversation.known)
    for name, server in conversation.project.servers.items():
        try:
            servers.add(configured_frame(name, server, environment))
        except KeyError as missing:
            conversation.notes.append(f"MCP server {name}: the variable {missing.args[0]} is not set")
        except Fail as problem:
            conversation.notes.append(problem.message)
    conversation.servers = servers
    return servers


def _tuning(provider: models.Model, options: Mapping[str, Any], project: Settings) -> Tuning:
    model = options.get("model") or provider.default_model
    if (effort := options.get("effort")) is not None and effort not in provider.effort_levels:
        known = ", ".join(provider.effort_levels) or "none"
        raise Fail(
            "config",
            "EFFORT_UNKNOWN",
            f"--effort {effort} is not offered by {provider.name} (known: {known})",
        )
    thinking = options.get("thinking") == "enabled" or "thinking_budget" in options
    return Tuning(
        model=model,
        max_tokens=options.get("max_tokens") or 8192,
        thinking_budget=options.get("thinking_budget", DEFAULT_THINKING) if thinking else None,
        effort=effort,
        image_input=provider.images(model),
        compaction=options.get("compaction", "full"),
        window=options.get("window") or None,
        system_prompt=system_prompt(options["workspace"], options.get("system_prompt"), project),
        max_turns=options.get("max_turns"),
        malformed_limit=options.get("malformed_limit", 3),
        failure_limit=options.get("failure_limit", 3),
    )


def _kept(options: dict[str, Any], provider: models.Model, tuning: Tuning) -> SessionStore | None:
    if options.get("no_session"):
        return None
    sessions = Sessions(sessions_folder())
    if "resume" in options:
        kept = sessions.resume(options["resume"], cwd=options["workspace"])
        options["session_id"] = kept.state.id
        return kept
    options.setdefault("session_id", new_session_id())
    return sessions.create(
        options["session_id"],
        cwd=options["workspace"],
        provider=provider.name,
        model=tuning.model,
        made=bool(options.get("session_folder_made")),
    )


def _check_sandbox(name: str | None) -> None:
    """An unavailable sandbox is refused here, not at the first command."""
    if name is None or name == NO_SANDBOX:
        return
    from operable.proc.sandbox.confinement import sandbox

    if (missing := sandbox(name).missing("system")) is not None:
        raise Fail("config", "SANDBOX_MISSING", f"--sandbox {name}: {missing}")


# The tools that a conversation offers: built-in abilities, and the tools and applications of the command line.


def tools(options: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Ability]:
    """Name -> tool: the built-in ones in the order of their names, then those of `--tool` and `--app`."""
    found: dict[str, Ability] = {}
    for directory in abilities.__path__:
        for name in catalogue.names(directory):
            ability: Ability = catalogue.load("operable.agent.abilities", name, "ABILITY", kind="tool")
            found[ability.name] = ability
    for ability in _declared(options, environment):
        if ability.name in found:
            raise Fail("config", "TOOL_TWICE", f"There are two tools with the name {ability.name}")
        found[ability.name] = ability
    return found


def _declared(options: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Ability]:
    workspace = options["workspace"]
    if lines := options.get("tools"):
        from operable.agent.secrecy import without_secrets
        from operable.agent.tool.offers import operable_tools

        yield from operable_tools(lines, workspace, without_secrets(environment))
    if names := options.get("apps"):
        from operable.agent.tool.offers import app_tools

        yield from app_tools(names, workspace)


# What goes to stderr: what the SDKs and the agent itself write for a user who looks into a problem, without secrets.
#
# Nothing here is part of the protocol. Every line passes redaction, by look and by the values that the environment
# contains under secret names, because libraries log what they like.


class _Redacting(logging.Formatter):
    def __init__(self, secrets: Known) -> None:
        super().__init__("operable-agent: %(levelname)s: %(name)s: %(message)s")
        self._redactor = Redactor(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(super().format(record))


def keep_logs(options: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """From now on; `--log-level` says how much."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(_Redacting(known_secrets(options, environment)))
    level = options.get("log_level", _LOG_LEVEL).upper()
    logging.basicConfig(handlers=[to_stderr], level=level, force=True)
