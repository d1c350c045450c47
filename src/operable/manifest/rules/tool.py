"""What crosses the fields of a TOOL.md (AIP-14 and the argv template of AIP-29)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from operable.kernel.catalogue import nearest
from operable.manifest import argv
from operable.manifest.kind import Rule
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem
from operable.manifest.rules.sandbox import widenings

MUTATION_CLASSES = ("workspace", "network", "database", "secret", "external")
_SOURCES = ("vault", "oauth", "value")


def within_bundle(root: ManifestPart, bound: Mapping[str, ManifestPart]) -> Iterator[Problem]:
    """The sandbox of a command stays within that of its CLI.md."""
    if "cli" in bound:
        yield from widenings(root.at("sandbox"), bound["cli"].at("sandbox"))


def _argv(root: ManifestPart) -> Iterator[Problem]:
    declared = root.at("inputs", "properties").value
    known = list(declared) if isinstance(declared, dict) else []
    required = {text for _, text in root.at("inputs", "required").texts()}
    for part, element in root.at("runner", "argv").texts():
        for mistake in argv.mistakes(element):
            yield part.problem("ARGV_TEMPLATE", mistake)
        for name in argv.names([element]):
            if name not in known:
                near = nearest(name, known, limit=1)
                hint = f"did you mean {near[0]}?" if near else f"inputs: {', '.join(known[:20]) or 'none'}"
                yield part.problem(
                    "ARGV_INPUT_UNKNOWN", f"argv uses the input {name!r}, which is not declared", hint
                )
            elif (
                name not in required
                and "default(" not in element
                and "default" not in _schema_of(declared, name)
            ):
                yield part.problem(
                    "ARGV_INPUT_OPTIONAL",
                    f"the input {name!r} may be absent, and argv has no default for it",
                    f"require it, or write ${{input.{name} | default('…')}}",
                    "warning",
                )


def _schema_of(properties: Any, name: str) -> dict[str, Any]:
    found = properties.get(name)
    return found if isinstance(found, dict) else {}


def _effects(root: ManifestPart) -> Iterator[Problem]:
    mutates = root.at("mutates")
    for part, effect in mutates.texts():
        name = effect.partition(":")[0]
        if name not in MUTATION_CLASSES:
            message = f"{name[:40]!r} is not a known class of effects"
            yield part.problem("MUTATION_CLASS", message, f"known: {', '.join(MUTATION_CLASSES)}", "warning")
    if mutates.value and (root.at("approval").text or "auto") == "auto":
        message = "a command that changes things cannot have the approval auto"
        hint = "write approval: on-mutate, always or policy:<ref>"
        yield root.at("approval").problem("APPROVAL_AUTO", message, hint, near=mutates)
    if mutates.value and not (root.at("risk_level").number or 0):
        message = "a command that changes things has at least risk_level 1"
        yield root.at("risk_level").problem("RISK_TOO_LOW", message, level="warning", near=mutates)


def _drivers(root: ManifestPart) -> Iterator[Problem]:
    constraints = root.at("driver_constraints")
    forbidden = {text for _, text in constraints.at("forbid").texts()}
    for part, kind in constraints.at("require_kind").texts():
        if kind in forbidden:
            yield part.problem("DRIVER_CONTRADICTION", f"{kind!r} is both required and forbidden")


def _secrets(root: ManifestPart) -> Iterator[Problem]:
    for name, part in root.at("secrets").entries():
        given = [word for word in _SOURCES if part.at(word).present]
        if isinstance(part.value, dict) and len(given) != 1:
            found = " and ".join(given) or "none"
            yield part.problem(
                "SECRET_SOURCE", f"{name[:40]} needs exactly one of {', '.join(_SOURCES)}; here is {found}"
            )


def _schemas(root: ManifestPart) -> Iterator[Problem]:
    import jsonschema_rs

    for field in ("inputs", "outputs"):
        part = root.at(field)
        if not isinstance(part.value, dict):
            continue
        try:
            jsonschema_rs.meta.validate(part.value)
            judge = jsonschema_rs.validator_for(part.value, retriever=_refuse)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            yield part.problem("SCHEMA_INVALID", f"{field} is not a JSON Schema 2020-12: {_short(error)}")
            continue
        for example in root.at("examples").items():
            shown = example.at(field.removesuffix("s"))
            if shown.present and not judge.is_valid(shown.value):
                yield shown.problem("EXAMPLE_INVALID", f"the example does not fit {field}")


def _refuse(uri: str) -> Any:
    """A schema never leads to the network or to a file."""
    raise ValueError(f"references to other documents are not followed: {uri[:80]}")


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


TOOL_RULES: tuple[Rule, ...] = (_argv, _effects, _drivers, _secrets, _schemas)
