"""TypeScript types of JSON Schemas: what `clients/typescript` knows of the documents that we publish.

A type says what a schema says about shapes: types, constants, choices, required fields, references. Limits, patterns and
conditions are for validators; a schema that has nothing else is `unknown`.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

HEAD = "// Generated from the published schemas by `./dev fix`. Do not edit.\n"
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "Record<string, unknown>",
    "array": "unknown[]",
}


class Module:
    """The types of one document. References inside of it are names; those to another document are imported."""

    def __init__(
        self, name: str, definitions: Mapping[str, Any], files: Mapping[str, str] | None = None
    ) -> None:
        self._name = name
        self._definitions = definitions
        self._files = files or {}  # `$id` of a schema -> its module
        self._imports: dict[str, set[str]] = {}

    def text(self, root: tuple[str, Any] | None = None) -> str:
        named = {type_name(name): schema for name, schema in self._definitions.items()}
        if root is not None and type_name(root[0]) not in named:
            named[type_name(root[0])] = root[1]
        body = [self._declaration(name, schema) for name, schema in sorted(named.items())]
        imports = [
            f'import type {{ {", ".join(sorted(names))} }} from "./{module}.js";\n'
            for module, names in sorted(self._imports.items())
        ]
        return "\n".join([HEAD + "".join(imports), *body])

    def _declaration(self, name: str, schema: Any) -> str:
        return f"{_comment(schema, '')}export type {name} = {self._type(schema, '')};\n"

    def _type(self, schema: Any, margin: str) -> str:
        if not isinstance(schema, dict):
            return "unknown"
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False)
        if "enum" in schema:
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
        for word in ("anyOf", "oneOf"):
            if word in schema and "properties" not in schema:
                return self._joined(" | ", [self._type(each, margin) for each in schema[word]])
        parts = [
            self._type(each, margin) for each in schema.get("allOf", ()) if not {"if", "not"} & each.keys()
        ]
        own = self._own(schema, margin)
        return self._joined(" & ", [part for part in (*parts, own) if part != "unknown"])

    def _own(self, schema: dict[str, Any], margin: str) -> str:
        kinds = schema.get("type", "object" if "properties" in schema else None)
        if kinds is None:
            return "unknown"
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return self._joined(" | ", [self._kind(kind, schema, margin) for kind in kinds])

    def _kind(self, kind: str, schema: dict[str, Any], margin: str) -> str:
        if kind == "array" and isinstance(schema.get("items"), dict):
            return f"Array<{self._type(schema['items'], margin)}>"
        if kind != "object":
            return _PLAIN[kind]
        fields, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        if not fields:
            inner = self._type(more, margin) if isinstance(more, dict) else "unknown"
            return f"Record<string, {inner}>" if more is not False else "Record<string, never>"
        required = schema.get("required", ())
        deeper = margin + "  "
        lines = [
            f"{_comment(part, deeper)}{deeper}{_key(name)}{'' if name in required else '?'}: {self._type(part, deeper)};\n"
            for name, part in fields.items()
        ]
        if more is not False:
            lines.append(f"{deeper}[more: string]: unknown;\n")
        return f"{{\n{''.join(lines)}{margin}}}"

    def _reference(self, reference: str) -> str:
        """A name; of `#/$defs/runtime/properties/engine` it is `Runtime["engine"]`."""
        document, _, pointer = reference.partition("#")
        steps = [
            step
            for step in pointer.split("/")
            if step not in ("", "$defs", "components", "schemas", "properties")
        ]
        module = self._files.get(document, "")
        name = type_name(steps[0] if steps else module)
        if module and module != self._name:
            self._imports.setdefault(module, set()).add(name)
        return name + "".join(f"[{json.dumps(step)}]" for step in steps[1:])

    @staticmethod
    def _joined(sign: str, parts: list[str]) -> str:
        parts = list(dict.fromkeys(parts))
        if not parts or (sign == " | " and "unknown" in parts):
            return "unknown"
        return parts[0] if len(parts) == 1 else "(" + sign.join(parts) + ")"


def type_name(name: str) -> str:
    """`aoi:meta` is AoiMeta, `manifest-cli` is ManifestCli."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return "".join(word[:1].upper() + word[1:] for word in words)


def constant(name: str, value: Any, kind: str) -> str:
    """A table; `kind` is its type, or `as const`."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return (
        f"export const {name} = {text} as const;\n"
        if kind == "as const"
        else f"export const {name}: {kind} = {text};\n"
    )


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else json.dumps(name)


def _comment(schema: Any, margin: str) -> str:
    text = schema.get("description", "") if isinstance(schema, dict) else ""
    return f"{margin}/** {' '.join(text.split()).replace('*/', '* /')} */\n" if text else ""
