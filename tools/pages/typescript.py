"""clients/typescript/src/schemas/: types of the published schemas and of the daemon's routes, and the reader's tables."""

import json
import types
import typing
from pathlib import Path
from typing import Any

import msgspec

from operable.kernel.errors import CATEGORIES
from operable.run.judge import CODES as HOST_CODES
from operable.wire.framework import DEFINED, FRAMEWORK
from operable.wire.notes import AOI_VERSIONS, DOUBTS
from operable.wire.verdict import CODES
from tools.typescript import HEAD, Module, constant

PATH = "clients/typescript/src/schemas/"
ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "src/operable/spec/schemas"


def render() -> dict[str, str]:
    documents = {
        path.name.removesuffix(".schema.json"): json.loads(path.read_text("utf-8"))
        for path in sorted(SCHEMAS.glob("*.schema.json"))
    }
    files = {document["$id"]: name for name, document in documents.items()}
    made = {
        f"{name}.ts": Module(name, document.get("$defs", {}), files).text((name, document))
        for name, document in documents.items()
    }
    return {**made, "daemon.ts": _daemon(), "tables.ts": _tables()}


def _daemon() -> str:
    routes = json.loads((ROOT / "docs/reference/openapi.json").read_text("utf-8"))
    return Module("daemon", routes["components"]["schemas"]).text()


def _tables() -> str:
    """What the reader of Python goes by, as data: it is written once."""
    fields = {
        name: {
            info.name: {"accepts": _accepted(info.type), "required": info.required}
            for info in msgspec.structs.fields(kind)
            if info.name != "extra"
        }
        for name, kind in FRAMEWORK.items()
    }
    defined = {name: sorted(DEFINED.get(kind, ())) for name, kind in FRAMEWORK.items()}
    categories = {
        name: {"retryable": retryable, "exit": status} for name, (retryable, status) in CATEGORIES.items()
    }
    return "\n".join(
        [
            HEAD,
            "export interface FieldKind {\n  accepts: string[];\n  required: boolean;\n}\n",
            constant("CODES", CODES, "as const"),
            constant("HOST_CODES", HOST_CODES, "as const"),
            constant("CATEGORIES", categories, "Record<string, { retryable: boolean; exit: number }>"),
            constant("FIELDS", fields, "Record<string, Record<string, FieldKind>>"),
            constant("DEFINED", defined, "Record<string, string[]>"),
            constant("DOUBTS", sorted(DOUBTS), "string[]"),
            constant("AOI_VERSIONS", AOI_VERSIONS, "string[]"),
        ]
    )


def _accepted(kind: Any) -> list[str]:
    """The words of msgspec for what a field takes, without null."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) or typing.get_origin(kind) else (kind,)
    words = {str: "str", bool: "bool", int: "int", float: "float"}
    return [words[each] for each in kinds if each in words]
