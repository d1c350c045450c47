"""`acp-registry`: entries of the registry of the Agent Client Protocol (registry.json, or the agent.json of one agent).

An entry says how the agent is distributed: `npx` and `uvx` packages are started by these programs, a `binary` is a download
for this machine's platform. The registry has no checksums, so a download is refused until the user adds `verify_sha256`, or
allows it without.
"""

import platform
from typing import Any

from operable.host.importer import AgentCommand, Importer, Unusable, entry, texts, variables

_LAUNCH = {"npx": ("npx", "--yes"), "uvx": ("uvx",)}
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_OURS = {"x86_64": "x64", "aarch64": "arm64"}


def _entries(found: Any) -> dict[str, Any]:
    agents = found.get("agents", [found]) if isinstance(found, dict) else None
    if not isinstance(agents, list):
        raise Unusable("it has neither an id nor a list of agents")
    named = [each for each in agents if isinstance(each, dict) and isinstance(each.get("id"), str)]
    if not named:
        raise Unusable("no agent in it has an id")
    return {each["id"]: each for each in named}


def _command(_name: str, found: dict[str, Any]) -> AgentCommand:
    offered = entry(found, "distribution")
    for kind, words in _LAUNCH.items():
        package = offered.get(kind)
        if isinstance(package, dict) and isinstance(package.get("package"), str):
            args = (*words[1:], package["package"], *texts(package.get("args"), "args"))
            return _made(found, words[0], args, package)
    return _binary(found, offered)


def _binary(found: dict[str, Any], offered: dict[str, Any]) -> AgentCommand:
    system, machine = platform.system().lower(), _ARCHITECTURES.get(platform.machine().lower(), "")
    target = entry(offered, "binary").get(f"{system}-{machine}")
    if not isinstance(target, dict) or not all(
        isinstance(target.get(key), str) for key in ("archive", "cmd")
    ):
        raise Unusable(f"it is not distributed for {system}-{machine}")
    inside = target["cmd"].removeprefix("./").replace("\\", "/")
    install = {"method": "download", "url": target["archive"], "extract_bin": inside}
    note = "The registry has no checksum of this download: add verify_sha256, or allow it without."
    args = texts(target.get("args"), "args")
    requires = {"os": [system], "arch": [_OURS[machine]]}
    return _made(found, inside.rpartition("/")[2], args, target, (install,), requires, (note,))


def _made(
    found: dict[str, Any],
    program: str,
    args: tuple[str, ...],
    target: dict[str, Any],
    install: tuple[dict[str, Any], ...] = (),
    requires: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> AgentCommand:
    about = found.get("description")
    version = found.get("version")
    return AgentCommand(
        found["id"],
        program,
        args,
        variables(target.get("env")),
        about if isinstance(about, str) and about else f"{found['id']}, from the ACP registry.",
        version if isinstance(version, str) and version else "1.0.0",
        install,
        requires or {},
        notes,
    )


IMPORTER = Importer("acp-registry", "Entries of the ACP registry", _entries, _command)
