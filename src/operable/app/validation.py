"""Is this folder a package that conforms? Every problem at once, each with its file, its line, its rule and its fix.

Judged are APP.md itself (the manifest's own rules), the layout (`app/`, `skills/`, every skill that is named), each
SKILL.md, the files of `schemas/`, and whether what `entry.command` names is there. Nothing is run: that a command prints
JSON by default can only be seen by running it, and only a caller that knows it to be read-only may do that (`operable
app call`).
"""

import json
import os
import re
import shlex
from collections.abc import Iterator
from typing import Any

from operable.app import entry
from operable.app.content import unpinnable
from operable.app.packages import FILE, Package, inside
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.frontmatter import FILE_LIMIT, decode, parse_document
from operable.manifest.loader import load
from operable.manifest.part import DocumentSource, FieldPosition, ManifestPart
from operable.manifest.problem import ManifestError, Problem, ordered
from operable.proc.command import resolve

_SKILL_NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(-[a-z0-9]+)*")
_SKILL_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_DESCRIPTION, _COMPATIBILITY = 1024, 500
_NEVER = "it could never be approved"
_UNRELATED = ("KIND_UNRELATED", "FRONTMATTER_MISSING", "FRONTMATTER_NOT_MAPPING")


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found. `related` is False for an APP.md that is none of this standard: then nothing else was judged."""

    path: str
    problems: tuple[Problem, ...]
    related: bool = True

    @property
    def ok(self) -> bool:
        return self.related and not any(problem.level == "error" for problem in self.problems)


def validate(path: str) -> Validation:
    """Judge the package in a folder, or that of an APP.md."""
    folder = os.path.dirname(path) if os.path.basename(path) == FILE else path
    root = os.path.realpath(folder or ".")
    file = os.path.join(root, FILE)
    if not os.path.isfile(file):
        raise Fail("not_found", "APP_NOT_FOUND", f"there is no {FILE} in {path}", target=path)
    problems: list[Problem] = []
    package: Package | None = None
    try:
        loaded = load(file)
        problems += loaded.problems
        package = Package(root, "explicit", app=loaded.value)
    except ManifestError as error:
        if any(problem.rule in _UNRELATED for problem in error.problems if problem.level == "error"):
            return Validation(file, error.problems, related=False)
        problems += error.problems
    problems += _package(root, _read(file), package)
    return Validation(file, ordered(problems))


def _read(path: str) -> ManifestPart:
    """The frontmatter as far as it can be read: the loader reports what is wrong with it."""
    try:
        with open(path, "rb") as file:
            document = parse_document(decode(file.read(FILE_LIMIT + 1), path), path)
    except (ManifestError, OSError):
        return ManifestPart(DocumentSource(path, {}, FieldPosition(1, 1)), {})
    return ManifestPart(DocumentSource(path, document.lines, FieldPosition(2, 1)), document.data)


def _package(root: str, manifest: ManifestPart, package: Package | None) -> Iterator[Problem]:
    yield from _layout(root, manifest)
    yield from _skills(root, manifest)
    yield from _schemas(root)
    yield from _entry(root, manifest)
    if package is not None:
        try:
            entry.words(package)
        except Fail as problem:
            if problem.code != "APP_ENTRY_INVALID":  # the loader has complained
                yield manifest.at("entry", "command").problem(problem.code, problem.message, _NEVER)
    for fail in unpinnable(package or Package(root, "explicit")):
        where = os.path.join(root, fail.target) if fail.target else manifest.source.path
        yield Problem(where, 1, 1, fail.code, fail.message, _NEVER)


def _layout(root: str, manifest: ManifestPart) -> Iterator[Problem]:
    for folder, what in (("app", "the application and its data"), ("skills", "one folder per skill")):
        if not os.path.isdir(os.path.join(root, folder)):
            yield manifest.problem(
                "FOLDER_MISSING", f"the package has no folder {folder}/", f"create it: it contains {what}"
            )


def _skills(root: str, manifest: ManifestPart) -> Iterator[Problem]:
    named = dict.fromkeys(skill for _, skill in manifest.at("skills").texts())
    for part, skill in manifest.at("skills").texts():
        path = os.path.join(root, "skills", skill, "SKILL.md")
        if inside(os.path.normpath(path), root) and not os.path.isfile(path):
            message = f"the skill {skill[:80]!r} has no file skills/{skill[:80]}/SKILL.md"
            yield part.problem("SKILL_MISSING", message, "write it, or take the name out of skills")
    folder = os.path.join(root, "skills")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name, "SKILL.md")
        if os.path.isfile(path):
            yield from _skill(path, name)
            if name not in named:
                yield Problem(
                    path, 1, 1, "SKILL_NOT_NAMED", f"skills of {FILE} does not name {name!r}",
                    "agents will not see it", "warning",
                )  # fmt: skip


def _skill(path: str, directory: str) -> Iterator[Problem]:
    try:
        with open(path, "rb") as file:
            document = parse_document(decode(file.read(FILE_LIMIT + 1), path), path)
    except ManifestError as error:
        yield from error.problems
        return
    except OSError as problem:
        yield Problem(path, 1, 1, "FILE_UNREADABLE", f"the file cannot be read: {problem.strerror}")
        return
    root = ManifestPart(DocumentSource(path, document.lines, FieldPosition(2, 1)), document.data)
    name, description = root.at("name"), root.at("description")
    if name.text is None or not _SKILL_NAME.fullmatch(name.text):
        yield name.problem(
            "SKILL_NAME",
            "name is needed: at most 64 of a-z, 0-9 and single hyphens between",
            f"name: {directory}",
        )
    elif name.text != directory:
        yield name.problem(
            "SKILL_NOT_DIRECTORY", f"the name {name.text!r} is not that of its folder", f"name: {directory}"
        )
    if not (description.text or "").strip() or len(description.text or "") > _DESCRIPTION:
        yield description.problem(
            "SKILL_DESCRIPTION",
            f"description is needed, of at most {_DESCRIPTION} characters",
            "say what it is for and when",
        )
    compatibility = root.at("compatibility")
    if compatibility.present and (compatibility.text is None or len(compatibility.text) > _COMPATIBILITY):
        yield compatibility.problem(
            "SKILL_COMPATIBILITY",
            f"compatibility is a text of at most {_COMPATIBILITY} characters",
            "shorten it",
        )
    for key in document.data:
        if key not in _SKILL_KEYS:
            hint = f"known: {', '.join(_SKILL_KEYS)}"
            yield root.at(str(key)).problem(
                "SKILL_KEY", f"{str(key)[:80]!r} is not a field of a skill", hint, "warning"
            )


def _schemas(root: str) -> Iterator[Problem]:
    for folder, _, files in os.walk(os.path.join(root, "schemas")):
        for name in sorted(files):
            if name.endswith(".json"):
                yield from _schema(os.path.join(folder, name))


def _schema(path: str) -> Iterator[Problem]:
    import jsonschema_rs

    try:
        with open(path, "rb") as file:
            schema: Any = json.loads(file.read(FILE_LIMIT).decode("utf-8"))
    except json.JSONDecodeError as error:
        yield Problem(
            path, error.lineno, error.colno, "SCHEMA_NOT_JSON", f"this is not JSON: {error.msg}", "correct it"
        )
        return
    except (OSError, ValueError, RecursionError) as error:
        yield Problem(
            path, 1, 1, "SCHEMA_NOT_JSON", f"this cannot be read: {error}", "save it as JSON in UTF-8"
        )
        return
    try:
        jsonschema_rs.meta.validate(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        where = "/".join(map(str, getattr(error, "instance_path", []))) or "its top"
        yield Problem(
            path, 1, 1, "SCHEMA_INVALID", f"this is not a JSON Schema: see {where}", "correct it, or move it"
        )


def _entry(root: str, manifest: ManifestPart) -> Iterator[Problem]:
    """What the first words name must be there: a program, and the script that it is given."""
    command = manifest.at("entry", "command")
    try:
        words = shlex.split(command.text or "")
    except ValueError:
        return  # the loader has complained
    if not words or not words[0]:
        return
    try:
        first = os.path.join(root, words[0]) if os.sep in words[0] else words[0]
        resolve(first, env=dict(os.environ), cwd=root)
    except Fail as problem:
        inner = os.sep in words[0]
        yield command.problem(
            "ENTRY_PROGRAM_MISSING",
            f"{words[0][:80]!r} cannot be run: {problem.message}".replace(root, "."),
            "chmod +x it" if problem.code == "TOOL_NOT_EXECUTABLE" else "correct entry.command",
            "error" if inner else "warning",  # what this machine lacks, another may have
        )
    for word in words[1:]:
        if word.startswith("app/") and not os.path.exists(os.path.join(root, word)):
            yield command.problem(
                "ENTRY_FILE_MISSING",
                f"entry.command names {word[:80]!r}, which is not in the package",
                "write it, or correct the path",
            )
