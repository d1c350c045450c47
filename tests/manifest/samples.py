"""One valid manifest of each kind, as plain values, and a way to say what is wrong with a changed one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from operable.manifest import Loaded, ManifestError, Problem, from_mapping, parse, render

SHA = "0123456789abcdef" * 4

AGENT: dict[str, Any] = {
    "name": "hermes",
    "id": "hermes",
    "description": "An agent.",
    "version": "1.2.0",
    "bin": "hermes",
    "install": [{"method": "pip", "package": "hermes-agent"}],
    "version_check": {"cmd": "hermes --version", "parse": r"v(\d+\.\d+\.\d+)", "range": ">=0.1.0"},
    "sandbox": {"provider": "bubblewrap", "config": {}},
    "protocol": "acp",
    "acp": "./hermes.ACP.md",
}
ACP: dict[str, Any] = {
    "name": "hermes-acp",
    "id": "hermes-acp",
    "description": "How Hermes speaks ACP.",
    "version": "1.0.0",
    "kind": "client",
    "transport": "stdio",
    "metadata": {"aip44": {"acp_rev": "0123abc", "tier": "governance-aware"}},
}
CLI: dict[str, Any] = {
    "name": "git",
    "id": "git",
    "description": "Version control.",
    "version": "1.0.0",
    "bin": "git",
    "install": [{"method": "apt", "package": "git"}],
    "version_check": {"cmd": "git --version", "parse": r"(\d+\.\d+\.\d+)", "range": ">=2"},
    "sandbox": {
        "network": {"egress": ["*.example.com"]},
        "fs": {"read": ["~/src/**"], "write": ["~/src/project/**"], "deny": ["~/src/private/**"]},
        "exec": {"allow": False},
        "env": {"pass": ["HOME"], "set": {"LC_ALL": "C"}},
    },
    "commands": {"log": "./tools/log/TOOL.md", "branch": {"list": "./tools/branch-list/TOOL.md"}},
}
TOOL: dict[str, Any] = {
    "name": "log",
    "id": "git.log",
    "description": "Commits, newest first.",
    "version": "1.0.0",
    "inputs": {
        "type": "object",
        "properties": {"limit": {"type": "integer"}, "path": {"type": "string"}},
        "required": ["path"],
    },
    "outputs": {"type": "object"},
    "runner": {"cli": "../../CLI.md", "argv": ["log", "-n${input.limit | default('20')}", "${input.path}"]},
}
SANDBOX: dict[str, Any] = {
    "schema": "sandbox/v1",
    "id": "@acme/strict",
    "version": "1.0.0",
    "provider": "bubblewrap",
    "config": {},
    "network": {"egress": ["api.example.com", "*.example.org:443"]},
    "mounts": [{"source": "workspace", "at": "/work"}],
}
SECRETS: dict[str, Any] = {
    "secrets": [
        {
            "slug": "acme/api-key",
            "name": "API key",
            "description": "For the model.",
            "access": {"reveal": [{"role": "admin"}]},
            "exposures": [
                {"kind": "env", "name": "ACME_API_KEY", "field": "value"},
                {"kind": "egress-substitute", "placeholderName": "ACME_API_KEY", "allowedByDefault": False},
            ],
        }
    ]
}
RUNNER: dict[str, Any] = {"engine": "sandbox", "image": "python-3.11", "limits": {"memory_mb": 256}}
APP: dict[str, Any] = {
    "schema": "agentapplications/v1",
    "kind": "app",
    "slug": "to-do",
    "name": "To-do",
    "description": "Keeps a list.",
    "version": "0.1.0",
    "entry": {"command": "node app/cli.js"},
    "commands": ["add", "list", "item remove"],
    "skills": ["to-do-usage"],
    "confirmationRequired": ["item remove"],
}
SAMPLES: dict[str, dict[str, Any]] = {
    "acp": ACP,
    "agent-cli": AGENT,
    "app": APP,
    "cli": CLI,
    "runner": RUNNER,
    "sandbox": SANDBOX,
    "secrets": SECRETS,
    "tool": TOOL,
}
BODIES = {"app": "# To-do\n\n## Commands\n\nadd, list, item remove\n"}


def changed(kind: str, /, **changes: Any) -> dict[str, Any]:
    """A sample with some fields replaced (`a__b` is b within a); None takes a field away."""
    data = deepcopy(SAMPLES[kind])
    for name, value in changes.items():
        *way, last = name.split("__")
        holder = data
        for step in way:
            holder = holder.setdefault(step, {})
        if value is None:
            holder.pop(last, None)
        else:
            holder[last] = value
    return data


def loaded(kind: str, data: dict[str, Any] | None = None, *, strict: bool = True) -> Loaded:
    return from_mapping(data or SAMPLES[kind], kind, strict=strict, body=BODIES.get(kind, ""))


def problems(
    kind: str, data: dict[str, Any], *, strict: bool = True, body: str | None = None
) -> list[Problem]:
    """Everything that is wrong with the text of this manifest, warnings included."""
    text = render(data, BODIES.get(kind, "") if body is None else body)
    try:
        return list(parse(text, kind=kind, strict=strict, path="X.md").problems)
    except ManifestError as error:
        return list(error.problems)


def errors(kind: str, data: dict[str, Any], *, strict: bool = True) -> list[tuple[str, str]]:
    """(rule, field) of every error."""
    return [(each.rule, each.key) for each in problems(kind, data, strict=strict) if each.level == "error"]


def warnings(kind: str, data: dict[str, Any], *, strict: bool = True) -> list[tuple[str, str]]:
    """(rule, field) of every warning."""
    return [(each.rule, each.key) for each in problems(kind, data, strict=strict) if each.level == "warning"]
