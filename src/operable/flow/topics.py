"""What this program can do, in words for programs: the topics of `describe`.

Targets and methods are read from their catalogues, so that a description cannot be older than the thing. Commands are those
of the protocol, in its order, under the names that its clients know.
"""

from typing import Any

from operable.flow.canonical import spelled
from operable.flow.compile.target import listed_targets
from operable.flow.errors import invalid_argument
from operable.flow.manifest.inheritance import Json
from operable.flow.operation import listed_methods
from operable.flow.scheduler.inspection import ENTITIES

_COMMANDS = {
    "version": "Versions of the program and of the manifests it reads",
    "schema": "Schemas of manifests, plans, jobs and protocol messages",
    "describe": "What this program can do, by topic",
    "validate": "Judge a manifest: every problem with its path",
    "compile": "A manifest compiled for a backend",
    "convert": "A 0.1 manifest converted to 0.2",
    "apply": "Create and update the jobs of a manifest in a scheduler",
    "inspect": "Read the state of a scheduler",
    "targets": "Backends, what they can do and what they enforce",
    "paths": "Where manifests, the registry, approvals and the audit are kept",
    "init": "Begin a manifest",
    "exec": "Run one task here, with its approval, identity, contract and evidence",
    "run": "Run a workflow here, from its scheduled roots",
    "identity": "Identity providers; resolve and check the identity of a task",
    "authorization-proof": "Methods of proof; verify the proof of a task",
    "authorization": "Authorization providers; ask the policy of a task",
    "evidence": "Evidence providers",
    "audit": "Records of executions",
    "approve": "Grant one execution of a task",
    "approvals": "List and revoke grants",
    "signing": "Providers of signatures",
    "verify": "Verify the signature of an execution",
    "whoami": "The identity that a task would run as",
    "skill-path": "The path of the skill for writing manifests",
    "registry": "Keep manifests under names",
    "import": "Keep the manifest that a project ships",
    "merge": "Several manifests as one",
    "serve": "Answer JSON-RPC on stdin and stdout",
}
_NOTES = {
    "manifest": (
        "Workflows with their tasks, and the profiles that they refer to",
        [
            "Versions 0.1 and 0.2 are read; unknown keys are warnings in 0.1 and errors in 0.2.",
            "Profiles are referred to by id; what an outer level requires, an inner one cannot waive.",
        ],
    ),
    "workflow": (
        "Tasks that belong together, and what applies to all of them",
        ["Model policy, identity, contract, authorization and evidence are inherited by the tasks."],
    ),
    "task": (
        "One shell command or one prompt, with its schedule or trigger",
        [
            "Exactly one of schedule and trigger.",
            "A shell target has shell.program and shell.args; the others have a prompt.",
            "on_failure is a shorthand for a task that is triggered by the failure of this one.",
        ],
    ),
}


def describe(topic: Any) -> Json:
    """The description of a topic; FlowError for an unknown one."""
    if isinstance(topic, str) and topic in _NOTES:
        summary, notes = _NOTES[topic]
        return {"name": topic, "summary": summary, "notes": notes}
    match topic:
        case "targets":
            return {"name": "targets", "summary": "What manifests are compiled to", "items": targets()}
        case "commands":
            return {"name": "commands", "summary": "Commands of the protocol", "items": _commands()}
        case "rpc":
            return _rpc()
    raise invalid_argument(f"Unknown description target: {spelled(topic)}")


def topics() -> list[str]:
    return [*_NOTES, "targets", "commands", "rpc"]


def targets() -> list[Json]:
    """Every backend: what it can do, and what it enforces as far as that is known without asking it."""
    return [
        {
            "name": target.name,
            "description": target.description,
            "capabilities": list(target.capabilities),
            "features": dict(target.features),
        }
        for target in listed_targets()
    ]


def _commands() -> list[Json]:
    items: list[Json] = [{"command": name, "summary": summary} for name, summary in _COMMANDS.items()]
    for item in items:
        if item["command"] == "inspect":
            item["usage"] = "inspect [entity] [--db path] [--limit n] [--fields a,b] [--sanitize basic]"
            item["entities"] = list(ENTITIES)
    return items


def _rpc() -> Json:
    return {
        "name": "rpc",
        "summary": "JSON-RPC 2.0, one JSON text a line",
        "methods": [{"method": found.method, "summary": found.summary} for found in listed_methods()],
        "notifications": [
            {
                "method": "agentcli.ready",
                "summary": "The server reads requests from now on",
                "params": ["ok", "manifest_version"],
            }
        ],
    }
