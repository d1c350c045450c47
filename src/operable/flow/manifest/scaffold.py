"""A first manifest: one workflow with one shell task, which validates and runs as it is."""

from typing import Any

from operable.flow.compile.target import require_valid
from operable.flow.manifest.validation import MANIFEST_VERSION

Json = dict[str, Any]


def scaffold(tool: str | None = None, workflow_id: str = "default", task_id: str = "run") -> Json:
    """With a tool, the task calls that; FlowError with the validation when a name cannot be one."""
    shell = {"program": tool, "args": []} if tool else {"program": "echo", "args": ["hello from agentcli"]}
    task = {
        "id": task_id,
        "name": task_id,
        "target": {"session_target": "shell"},
        "shell": shell,
        "schedule": {"cron": "0 * * * *"},
        "output": {"format": "text"},
        "contract": {"sandbox": "permissive", "network": "unrestricted", "audit": "always"},
    }
    manifest = {
        "version": MANIFEST_VERSION,
        "workflows": [{"id": workflow_id, "name": workflow_id, "tasks": [task]}],
    }
    require_valid(manifest)
    return manifest
