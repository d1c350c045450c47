"""The published schemas: JSON Schema 2020-12 for manifests and what is made of them, and the older descriptor form.

A manifest that the validator accepts is valid under its schema. The other way round applies to the shape alone: a
schema knows nothing of references, uniqueness or trust. For 0.1 the schema is stricter, because unknown keys are only
warnings there.
"""

from collections.abc import Callable
from typing import Any

from operable.flow.canonical import spelled
from operable.flow.compile.job.fields import JOB
from operable.flow.errors import invalid_argument
from operable.flow.manifest.shape import FLAT_IDENTITY, IDENTITY, MANIFEST, TASK, WORKFLOW, Node

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
MANIFEST_ID = "https://operable.dev/schema/manifest-0.2.json"
FORMAT, LEGACY_FORMAT = "json-schema-2020-12", "agentcli-legacy"
_ALIASES = {
    "scheduler-job": "schedulerJob",
    "standalone-plan": "standalonePlan",
    "handoff-v4": "handoffV4",
    "rpc-request": "rpcRequest",
    "rpc-response": "rpcResponse",
}
# Not empty after JavaScript's trim, and without control characters other than tab and line ends.
_TEXT: Json = {
    "type": "string",
    "pattern": "[^\\s\\uFEFF]",
    "not": {"pattern": "[\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F]"},
}
_STRINGS: dict[str, Json] = {
    "string": _TEXT,
    "text": {"type": "string"},
    "identifier": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"},
    "token": {"type": "string", "pattern": "^[A-Za-z0-9@:_./-]+$"},
    "env_name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
    "file_prefix": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"},
}


def schema(target: Any, *, legacy: bool = False) -> tuple[str, Json]:
    """(format, document) for a target or its alias; FlowError for an unknown one."""
    name = _ALIASES.get(target, target) if isinstance(target, str) else target
    makers = _LEGACY if legacy else _MAKERS
    if not isinstance(name, str) or name not in makers:
        raise invalid_argument(f"Unknown schema target: {spelled(target)}")
    return (LEGACY_FORMAT if legacy else FORMAT), makers[name]()


def targets() -> list[str]:
    return list(_MAKERS)


def _manifest() -> Json:
    definitions: Json = {}
    body = _object(MANIFEST, definitions)
    return {
        "$schema": DIALECT,
        "$id": MANIFEST_ID,
        "title": "agentcli manifest",
        **body,
        "$defs": definitions,
    }


def _fragment(node: Node) -> Json:
    definitions: Json = {}
    _object(MANIFEST, definitions)
    return {
        "$schema": DIALECT,
        "title": f"agentcli {node.name}",
        "$ref": f"#/$defs/{node.name}",
        "$defs": definitions,
    }


def _json(node: Node, definitions: Json) -> Json:
    match node.kind:
        case "object":
            _define(node, definitions)
            return {"$ref": f"#/$defs/{node.name}"}
        case "array":
            return _array(node, definitions)
        case "enum":
            return {"enum": list(node.enum)}
        case "integer":
            return {"type": "integer", "minimum": node.minimum}
        case "number":
            return {"type": "number", "minimum": 0}
        case "boolean":
            return {"type": "boolean"}
        case "map":
            return {"type": "object"}
        case "env":
            names = {"pattern": _STRINGS["env_name"]["pattern"]}
            return {"type": "object", "propertyNames": names, "additionalProperties": _TEXT}
        case "any":
            return {}
    return _STRINGS[node.kind]


def _array(node: Node, definitions: Json) -> Json:
    assert node.item is not None  # noqa: S101 - every array of the shape says what it contains
    found: Json = {"type": "array", "items": _json(node.item, definitions)}
    if node.non_empty:
        found["minItems"] = 1
    if node.unique:
        found["uniqueItems"] = True
    return found


def _define(node: Node, definitions: Json) -> None:
    if node.name in definitions:
        return
    definitions[node.name] = {}  # holds the place, should it refer to itself
    definitions[node.name] = _object(node, definitions)


def _object(node: Node, definitions: Json) -> Json:
    properties = {
        name: _json(child, definitions)
        if name in node.required
        else {"anyOf": [_json(child, definitions), {"type": "null"}]}
        for name, child in node.fields.items()
    }
    found: Json = {"type": "object", "additionalProperties": False, "properties": properties}
    if node.required:
        found["required"] = list(node.required)
    if node.name in ("task", "workflow", "on_failure"):
        _define(FLAT_IDENTITY, definitions)
        choices = [{"$ref": f"#/$defs/{form.name}"} for form in (IDENTITY, FLAT_IDENTITY)]
        properties["identity"] = {"anyOf": [*choices, {"type": "null"}]}
    if node.name in _CONDITIONS:
        found.update(_CONDITIONS[node.name]())
    return found


def _given(name: str) -> Json:
    return {"required": [name], "properties": {name: {"type": "object"}}}


def _absent(name: str) -> Json:
    return {"properties": {name: {"type": "null"}}}


def _task_conditions() -> Json:
    return {
        "oneOf": [
            {"allOf": [_given("schedule"), _absent("trigger")]},
            {"allOf": [_given("trigger"), _absent("schedule")]},
        ],
        **_surface(),
    }


def _surface() -> Json:
    """A shell target has a shell and no prompt, the others a prompt and no shell."""
    is_shell = {"properties": {"target": {"properties": {"session_target": {"const": "shell"}}}}}
    kind = {"target": {"properties": {"payload_kind": {"enum": ["shellCommand", None]}}}}
    return {
        "if": is_shell,
        "then": {
            "required": ["shell"],
            "properties": {"shell": {"type": "object"}, "prompt": {"type": "null"}, **kind},
        },
        "else": {
            "required": ["prompt"],
            "properties": {"prompt": {"type": "string"}, "shell": {"type": "null"}},
        },
    }


def _handler_conditions() -> Json:
    """As for a task, with the target inferred from the shell when it is not given."""
    has_shell = {"anyOf": [_absent("target"), {"not": {"required": ["target"]}}]}
    inferred = {
        "if": _given("shell"),
        "then": {"properties": {"prompt": {"type": "null"}}},
        "else": {"required": ["prompt"], "properties": {"prompt": {"type": "string"}}},
    }
    return {"if": has_shell, "then": inferred, "else": _surface()}


_CONDITIONS: dict[str, Callable[[], Json]] = {"task": _task_conditions, "on_failure": _handler_conditions}


def _scheduler_job() -> Json:
    definitions: Json = {}
    body = _object(JOB, definitions)
    return {"$schema": DIALECT, "title": "openclaw-scheduler job", **body, "$defs": definitions}


def _standalone_plan() -> Json:
    return {
        "$schema": DIALECT,
        "title": "standalone plan",
        "type": "object",
        "required": ["target", "version", "capabilities", "workflows"],
        "properties": {
            "target": {"const": "standalone"},
            "version": {"const": "0.2"},
            "capabilities": {"type": "object"},
            "workflows": {
                "type": "array",
                "items": {"type": "object", "required": ["id", "name", "tasks", "edges"]},
            },
        },
    }


def _handoff() -> Json:
    from operable.flow.compile.handoff.shape import artifact_schema

    return {"$schema": DIALECT, "title": "handoff artifact, version 4", **artifact_schema()}


def _rpc_request() -> Json:
    return {
        "$schema": DIALECT,
        "title": "JSON-RPC request",
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {},
            "method": {"type": "string"},
            "params": {"type": ["object", "null"]},
        },
    }


def _rpc_response() -> Json:
    error = {
        "type": "object",
        "required": ["code", "message"],
        "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
    }
    return {
        "$schema": DIALECT,
        "title": "JSON-RPC response",
        "type": "object",
        "required": ["jsonrpc", "id"],
        "properties": {"jsonrpc": {"const": "2.0"}, "id": {}, "result": {}, "error": error},
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    }


def _descriptor(node: Node) -> Json:
    """The older form of one node."""
    found: Json = {"type": "object" if node.kind in ("map", "env") else node.kind}
    if node.kind in _STRINGS or node.kind == "enum":
        found["type"] = "string"
    if node.enum:
        found["enum"] = list(node.enum)
    if node.minimum is not None:
        found["min"] = node.minimum
    if node.kind == "array" and node.item is not None:
        found["items"] = _descriptor(node.item)
        if node.non_empty:
            found["minItems"] = 1
    if node.fields:
        found["required"] = list(node.required)
        found["fields"] = {
            name: {**_descriptor(child), **({} if name in node.required else {"nullable": True})}
            for name, child in node.fields.items()
        }
    return found


def _described(document: Json) -> Json:
    """The older form of a document that has no node: its members."""
    return {
        "type": "object",
        "required": document.get("required", []),
        "fields": {name: {"type": "any", "nullable": True} for name in document["properties"]},
    }


_MAKERS: dict[str, Callable[[], Json]] = {
    "manifest": _manifest,
    "workflow": lambda: _fragment(WORKFLOW),
    "task": lambda: _fragment(TASK),
    "schedulerJob": _scheduler_job,
    "standalonePlan": _standalone_plan,
    "handoffV4": _handoff,
    "rpcRequest": _rpc_request,
    "rpcResponse": _rpc_response,
}
_LEGACY: dict[str, Callable[[], Json]] = {
    "manifest": lambda: _descriptor(MANIFEST),
    "workflow": lambda: _descriptor(WORKFLOW),
    "task": lambda: _descriptor(TASK),
    "schedulerJob": lambda: _descriptor(JOB),
    "standalonePlan": lambda: _described(_standalone_plan()),
    "rpcRequest": lambda: _described(_rpc_request()),
    "rpcResponse": lambda: _described(_rpc_response()),
}
