"""What can be set for a thread and a turn of Codex: approval policy, sandbox, model, effort, MCP servers."""

from collections.abc import Mapping
from typing import Any, Final

from operable.host.peer import pairs, transport

PRESETS: Final = {
    "read-only": ("on-request", "read-only"),
    "auto": ("on-request", "workspace-write"),
    "full-access": ("never", "danger-full-access"),
}
POLICIES: Final = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}


def settings_of(mode: str | None, model: str | None, options: list[tuple[str, Any]]) -> dict[str, Any]:
    """Parameters of a thread or a turn; KeyError names what cannot be set."""
    settings: dict[str, Any] = {}
    if mode is not None:
        settings["approvalPolicy"], settings["sandbox"] = PRESETS[mode]
    if model is not None:
        settings["model"] = model
    for name, value in options:
        ours = {"effort": "effort", "approval_policy": "approvalPolicy", "sandbox": "sandbox"}[name]
        if ours == "sandbox" and value not in POLICIES:
            raise KeyError(f"sandbox {value}")
        settings[ours] = value
    return settings


def mcp_server(server: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name = str(server.get("name", ""))
    if transport(server) == "stdio":
        arguments = [str(word) for word in server.get("args") or ()]
        return name, {"command": server.get("command"), "args": arguments, "env": pairs(server.get("env"))}
    return name, {"url": server.get("url"), "http_headers": pairs(server.get("headers"))}
