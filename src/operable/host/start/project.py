"""What the configuration of the user and the project (`operable.project`) means for a session with any agent.

Its rules join those of the session; where the caller named a policy file, only those that deny do. Its MCP servers are
passed on to agents whose protocol takes them, and the caller's own server counts before one of the same name. Model and
mode are those of `[agent.NAME]`. Hooks, skills, commands and instructions are the built-in agent's: other agents have their
own, and `operable-agent` reads the configuration by itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from operable.gate.policy.pattern import ASK, DENY
from operable.gate.policy.policy_file import load_policy
from operable.gate.policy.rules import Policy
from operable.host.start.options import StartOptions
from operable.project.schema import McpServer
from operable.project.settings import Settings, fill, filled, load_settings

# Their arms pass servers on; the built-in agent reads the configuration itself.
_TAKE_SERVERS = ("acp",)
_OWN = frozenset({"operable-agent", "operable-agent-acp"})


def configured(
    options: StartOptions, agent: str, protocol: str, environment: Mapping[str, str], *, named: bool = False
) -> tuple[StartOptions, tuple[str, ...]]:
    """The options of a session with this agent, and what does not count. `named`: its policy is a file of the caller."""
    settings = load_settings(options.workspace)
    choice = settings.agents.get(agent)
    changes: dict[str, Any] = {}
    if choice is not None:
        changes = {
            key: said
            for key in ("model", "mode")
            if getattr(options, key) is None and (said := getattr(choice, key)) is not None
        }
    rules = [rule for rule in settings.rules if not named or rule.effect == DENY]
    if rules:
        changes["policy"] = _policy(options).with_rules(rules)
    notes = list(settings.notes)
    if agent not in _OWN and protocol in _TAKE_SERVERS and settings.servers:
        changes["mcp_servers"] = (*options.mcp_servers, *_servers(options, settings, environment, notes))
    return replace(options, **changes), tuple(notes)


def _policy(options: StartOptions) -> Policy:
    if isinstance(options.policy, str):
        return load_policy(options.policy)
    if options.policy is not None:
        return options.policy
    return Policy(default=ASK) if options.on_ask is not None else Policy()


def _servers(
    options: StartOptions, settings: Settings, environment: Mapping[str, str], notes: list[str]
) -> list[Mapping[str, Any]]:
    taken = {str(server.get("name")) for server in options.mcp_servers}
    found = []
    for name, server in settings.servers.items():
        if name in taken:
            continue
        try:
            found.append(_server(name, server, environment))
        except KeyError as missing:
            notes.append(f"MCP server {name}: the variable {missing.args[0]} is not set")
    return found


def _server(name: str, server: McpServer, environment: Mapping[str, str]) -> Mapping[str, Any]:
    if server.command is not None:
        return {
            "name": name,
            "command": server.command,
            "args": [fill(word, environment) for word in server.args],
            "env": dict(filled(server.env, environment)),
        }
    return {
        "name": name,
        "transport": "sse" if server.reached_by == "sse" else "http",
        "url": fill(server.url or "", environment),
        "headers": dict(filled(server.headers, environment)),
    }
