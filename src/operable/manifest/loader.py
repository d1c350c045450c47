"""Load a manifest: read it, recognise its kind, judge it whole, follow its references, and give a typed value.

`strict` is the published schema. Tolerant loading (`strict=False`) also takes what reference implementations write: known
extensions and unknown keys become warnings, nothing is dropped (`Loaded.extra`). Both judge everything at once: the form of
the file, the schema, the rules between fields, and, when a workspace is given, what the manifest refers to. An error
anywhere raises `ManifestError` with all problems; warnings come with the value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import field
from typing import Any, TypeVar

import msgspec

from operable.kernel.data_class import dataclass
from operable.kernel.redact.urls import redact_url
from operable.manifest.blocks import Block
from operable.manifest.frontmatter import FILE_LIMIT, Document, decode, parse_document
from operable.manifest.kind import Kind, Reference, kind_named, recognised
from operable.manifest.part import DocumentSource, FieldPosition, ManifestPart, Path
from operable.manifest.part import reference as reference_in
from operable.manifest.problem import ManifestError, Problem, ordered
from operable.manifest.refs import Workspace, resolve
from operable.manifest.schema_check import complaints, unknown_keys
from operable.manifest.yaml_tree import DEPTH

# Wrong for the published standard, common in practice: tolerant loading says so and goes on.
_TOLERATED = frozenset(("NAME_NOT_DIRECTORY", "NAME_NOT_KEBAB", "INSTALL_METHOD_UNKNOWN"))
_Model = TypeVar("_Model", bound=Block)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A manifest that can be used."""

    kind: str
    value: Any
    """The model of the kind, such as `AgentCli`; `as_` gives it with its type."""
    body: str
    problems: tuple[Problem, ...]
    """Warnings only."""
    lines: dict[Path, FieldPosition]
    path: str = "<text>"
    data: dict[str, Any] = field(default_factory=dict)
    """The frontmatter as it was written, as plain values."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Unknown keys, by their dotted path."""
    bound: dict[str, Loaded] = field(default_factory=dict)
    """The manifests that it refers to (`acp`, `sandbox`, `secrets`, `runner`, `commands.…`), when a workspace was given."""

    def as_(self, model: type[_Model]) -> _Model:
        """The value, when it is of this model; TypeError otherwise."""
        if not isinstance(self.value, model):
            raise TypeError(f"{self.path} is of the kind {self.kind}, not {model.__name__}")
        return self.value


def load(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    strict: bool = True,
    workspace: Workspace | str | os.PathLike[str] | None = None,
    body: bool = True,
    limit: int = FILE_LIMIT,
) -> Loaded:
    """Load a file. With a workspace its references are followed; with `body=False` nothing below the frontmatter is read."""
    name = os.fspath(path)
    text = decode(_bytes(name, limit, body=body), name, limit)
    directory = os.path.basename(os.path.dirname(os.path.abspath(name)))
    return _load(
        text, name, kind, strict=strict, directory=directory, workspace=_workspace(workspace), body=body
    )


def parse(
    text: str, *, path: str = "<text>", kind: str | None = None, strict: bool = True, body: bool = True
) -> Loaded:
    """Load a text that does not come from a file: no folder, no references. `path` is what problems call it."""
    return _load(text, path, kind, strict=strict, directory=None, workspace=None, body=body)


def from_mapping(
    data: Mapping[str, Any], kind: str, *, strict: bool = True, path: str = "<mapping>", body: str = ""
) -> Loaded:
    """Load plain values, as `define_agent_cli({...})` gets them."""
    try:
        plain: Any = msgspec.to_builtins(dict(data), str_keys=True)
        if _too_deep(plain):
            raise ValueError(f"values are nested more than {DEPTH} deep")
    except (TypeError, ValueError, RecursionError) as error:
        problem = Problem(
            path, 1, 1, "NOT_PLAIN", f"the mapping contains a value that no manifest can have: {error}"
        )
        raise ManifestError([problem]) from error
    document = Document(plain, {}, body, 1, ())
    return _judged(
        document, kind_named(kind), DocumentSource(path, {}), strict=strict, workspace=None, body=bool(body)
    )


def _too_deep(data: Any) -> bool:
    """Whether values are nested deeper than a file could nest them."""
    level = [data]
    for _ in range(DEPTH + 1):
        if not level:
            return False
        inner = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        ]
        level = [value for values in inner for value in values]
    return bool(level)


def _load(
    text: str,
    path: str,
    name: str | None,
    *,
    strict: bool,
    directory: str | None,
    workspace: Workspace | None,
    body: bool,
) -> Loaded:
    document = parse_document(text, path)
    kind = kind_named(name) if name else recognised(path, document)
    source = DocumentSource(path, document.lines, FieldPosition(2, 1), directory)
    return _judged(document, kind, source, strict=strict, workspace=workspace, body=body)


def _judged(
    document: Document,
    kind: Kind,
    source: DocumentSource,
    *,
    strict: bool,
    workspace: Workspace | None,
    body: bool,
) -> Loaded:
    problems = list(document.problems)
    root, extra = ManifestPart(source, document.data), dict[str, Any]()
    if not strict:
        root, extra = _relaxed(kind, root, problems)
    clean, unknown = _without_unknown(kind, root, strict=strict)
    extra |= {part.key: part.value for part, _ in unknown}
    # The rules see unknown keys too: some are refused by name (a secret's value), however tolerant the loading is.
    ruled = [problem for rule in kind.rules for problem in rule(root)]
    if body:
        ruled += [problem for rule in kind.body_rules for problem in rule(root, document.body)]
    bound = {} if workspace is None else _bound(kind, root, workspace, ruled, strict=strict)
    parts = {
        name: ManifestPart(DocumentSource(each.path, each.lines), each.data) for name, each in bound.items()
    }
    ruled += [problem for rule in kind.bound_rules for problem in rule(root, parts)]
    # Where a rule knows better, a general complaint about the same field would only repeat it.
    named = {problem.key for problem in ruled if problem.level == "error" and problem.path == source.path}
    general = [*(problem for _, problem in unknown), *complaints(kind, clean)]
    problems += [problem for problem in general if problem.key not in named]
    problems += ruled if strict else map(_tolerated, ruled)
    if any(problem.level == "error" for problem in problems):
        raise ManifestError(problems)
    value = _value(kind, clean, problems)
    return Loaded(
        kind.name,
        value,
        document.body,
        ordered(problems),
        document.lines,
        source.path,
        document.data,
        extra,
        bound,
    )


def _value(kind: Kind, root: ManifestPart, problems: list[Problem]) -> Block:
    try:
        return msgspec.convert(kind.normalise(root.value), kind.model)
    except (msgspec.ValidationError, TypeError) as error:
        # The schema and the model disagree about a field: say so, rather than crash.
        raise ManifestError([*problems, root.problem("FIELD_INVALID", str(error))]) from error


def _tolerated(problem: Problem) -> Problem:
    return problem._replace(level="warning") if problem.rule in _TOLERATED else problem


def _relaxed(kind: Kind, root: ManifestPart, problems: list[Problem]) -> tuple[ManifestPart, dict[str, Any]]:
    """The document with other shapes brought into the published one, and what was there."""
    extra: dict[str, Any] = {}
    if kind.relax is None:
        return root, extra
    data = deepcopy(root.value)
    for part, replacement, meaning in kind.relax(root):
        problems.append(
            part.problem(
                "KEY_EXTENSION", f"{part.key} is not of the published form ({meaning})", level="warning"
            )
        )
        extra[part.key] = part.value
        _holder(data, part.path)[part.path[-1]] = replacement
    return ManifestPart(root.source, data), extra


def _without_unknown(
    kind: Kind, root: ManifestPart, *, strict: bool
) -> tuple[ManifestPart, list[tuple[ManifestPart, Problem]]]:
    """The document without the keys that the schema does not know, and those keys."""
    unknown = list(unknown_keys(kind, root, strict=strict))
    if not unknown:
        return root, unknown
    data = deepcopy(root.value)
    for part, _ in unknown:
        # An alias can put one mapping in two places: the second time the key is gone.
        holder = _holder(data, part.path)
        holder.pop(part.path[-1], None)
    return ManifestPart(root.source, data), unknown


def _holder(data: Any, path: Path) -> Any:
    for step in path[:-1]:
        data = data[step]
    return data


# --- references


def _bound(
    kind: Kind, root: ManifestPart, workspace: Workspace, problems: list[Problem], *, strict: bool
) -> dict[str, Loaded]:
    """Every manifest that this one refers to; a missing file is a problem here."""
    bound: dict[str, Loaded] = {}
    for reference in _references(kind, root):
        field_part = reference_in(root.at(*reference.path))
        if field_part is None or field_part.text is None:
            continue
        target = kind_named(reference.kind)
        resolved = resolve(field_part.text, root.source.path, workspace, target.file_name)
        shown = repr(redact_url(field_part.text)[:80])
        if resolved.path is None:
            message = f"{shown} cannot be used: {resolved.reason}"
            problems.append(field_part.problem(reference.unresolvable, message))
            continue
        try:
            bound[reference.name] = load(resolved.path, kind=reference.kind, strict=strict)
        except ManifestError as error:
            problems.append(field_part.problem("REF_INVALID", f"{shown} is not valid itself"))
            problems.extend(error.problems)
    return bound


def _references(kind: Kind, root: ManifestPart) -> Iterator[Reference]:
    yield from kind.references
    if kind.more_references is not None:
        yield from kind.more_references(root)


# --- files


def _workspace(given: Workspace | str | os.PathLike[str] | None) -> Workspace | None:
    return given if given is None or isinstance(given, Workspace) else Workspace(os.fspath(given))


def _bytes(path: str, limit: int, *, body: bool) -> bytes:
    """The file, or its frontmatter alone. One byte more than the limit shows that it is longer."""
    try:
        with open(path, "rb") as file:
            if body:
                return file.read(limit + 1)
            return _frontmatter_bytes(file, limit)
    except OSError as error:
        rule = "FILE_MISSING" if isinstance(error, FileNotFoundError) else "FILE_UNREADABLE"
        problem = Problem(path, 1, 1, rule, f"the file cannot be read: {error.strerror}")
        category = "not_found" if isinstance(error, FileNotFoundError) else "io"
        raise ManifestError([problem], category=category) from error
    except ValueError as error:
        problem = Problem(path, 1, 1, "FILE_UNREADABLE", f"this is not the path of a file: {error}")
        raise ManifestError([problem], category="io") from error


def _frontmatter_bytes(file: Any, limit: int) -> bytes:
    """Line by line up to the closing fence: the rest of the file is not read."""
    found = bytearray()
    while len(found) <= limit:
        line = file.readline(limit + 1)
        found += line
        if not line or (len(found) > len(line) and line.rstrip() == b"---"):
            break
    return bytes(found)
