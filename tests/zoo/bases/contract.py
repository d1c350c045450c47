"""Prints what the three base tools say of themselves: `python contract.py NAME` (schema, capabilities, inputs).

The bases keep their contract in contract.json beside the program; tests/zoo/breeding.py writes it from here, so that all
three claim the same and a mutation can change one claim of one tool.
"""

from typing import Any

DRAFT = "https://json-schema.org/draft/2020-12/schema"
ID = "https://schemas.example.com/notes/1.0.0/schema.json"
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
FLAG = {"type": "boolean"}
FRAMEWORK: dict[str, Any] = {
    "aoi:meta": {
        "tool": TEXT,
        "tool_version": TEXT,
        "aoi_version": TEXT,
        "schema_version": TEXT,
        "command": TEXT,
    },
    "aoi:summary": {"ok": FLAG, "count": NUMBER, "error_count": NUMBER, "truncated": FLAG, "next_cursor": {}},
    "aoi:error": {"category": TEXT, "code": TEXT, "message": TEXT, "retryable": FLAG},
    "aoi:plan": {"action": TEXT},
    "aoi:heartbeat": {},
    "aoi:check": {"name": TEXT, "ok": FLAG, "severity": TEXT, "detail": TEXT},
}
DOMAIN: dict[str, Any] = {
    "entry": {"id": TEXT, "title": TEXT},
    "created": {"id": TEXT, "title": TEXT},
    "deleted": {"id": TEXT},
}
REQUIRED = {
    "aoi:summary": ["ok"],
    "aoi:error": ["category", "code", "message", "retryable"],
    "entry": ["id", "title"],
    "created": ["id"],
    "deleted": ["id"],
}
OPTIONS = {
    "schema-version": {"type": "string", "x-cli": "--schema-version"},
    "api-token": {"type": "string", "x-cli": "--api-token"},
    "timeout": {"type": "number", "minimum": 0, "x-cli": "--timeout"},
    "debug": {"type": "boolean", "x-cli": "--debug"},
    "no-color": {"type": "boolean", "x-cli": "--no-color"},
}
# What `import` reads, line by line (section 12.1).
ITEM = {
    "$schema": DRAFT,
    "type": "object",
    "properties": {"title": TEXT, "id": TEXT, "type": TEXT},
    "required": ["title"],
    "additionalProperties": False,
}
LIMIT = {"type": "integer", "minimum": 1, "x-cli": "--limit"}


def schema() -> dict[str, Any]:
    events = FRAMEWORK | DOMAIN
    return {
        "$schema": DRAFT,
        "$id": ID,
        "type": "object",
        "properties": {"type": TEXT},
        "required": ["type"],
        "allOf": [
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for name in events
        ],
        "$defs": {
            name: {
                "type": "object",
                "properties": {"type": {"const": name}, **fields},
                "required": ["type", *REQUIRED.get(name, ())],
            }
            for name, fields in events.items()
        },
    }


def _command(name: str, *events: str, **claims: Any) -> dict[str, Any]:
    types = ["aoi:meta", *events, "aoi:error", "aoi:summary"]
    return {"name": name, "read_only": True, "event_types": types, **claims}


def capabilities() -> dict[str, Any]:
    mutating = {"read_only": False, "supports_dry_run": True, "supports_idempotency_key": True}
    return {
        "tool": "notes",
        "tool_version": "3.1.4",
        "aoi_versions": ["0.2"],
        "outputs": ["jsonl"],
        "schemas": [{"name": "com.example.notes.events", "versions": ["1.0.0"], "default": "1.0.0"}],
        "exit_codes": {
            "usage": 64,
            **dict.fromkeys(("validation", "not_found", "conflict", "config", "timeout", "io"), 65),
        },
        "commands": [
            _command("list", "entry", bounded=True, supports_limit=True, supports_cursor=True),
            _command("get", "entry"),
            _command("doctor", "aoi:check"),
            _command("create", "created", "aoi:plan", **mutating),
            _command(
                "delete",
                "deleted",
                "aoi:plan",
                destructive=True,
                requires_confirm=True,
                supports_confirm_count=True,
                **mutating,
            ),
            _command(
                "import",
                "created",
                read_only=False,
                supports_dry_run=True,
                supports_idempotency_key=True,
                role="sink",
                input_modes=["jsonl"],
                malformed_input="fail-fast",
            ),
            _command("watch", "entry", "aoi:heartbeat", unbounded=True, heartbeat_interval=0.5),
        ],
    }


def inputs() -> dict[str, Any]:
    title = {"type": "string", "x-cli": "TITLE"}
    name = {"type": "string", "x-cli": "ID"}
    arguments: dict[str, tuple[dict[str, Any], list[str]]] = {
        "list": ({"limit": LIMIT, "cursor": {"type": "string", "x-cli": "--cursor"}}, []),
        "get": ({"id": name}, ["id"]),
        "doctor": ({}, []),
        "create": ({"title": title}, ["title"]),
        "delete": ({"id": name}, ["id"]),
        "watch": ({}, []),
    }
    return {
        command: {
            "$schema": DRAFT,
            "type": "object",
            "properties": {**properties, **OPTIONS},
            "required": required,
            "additionalProperties": False,
        }
        for command, (properties, required) in arguments.items()
    } | {"import": ITEM}


def contract(*names: str) -> dict[str, Any]:
    """All three documents; of these commands, when some are named."""
    found = capabilities()
    found["commands"] = [entry for entry in found["commands"] if not names or entry["name"] in names]
    return {"schema": schema(), "capabilities": found, "inputs": inputs()}
