"""Handing credentials to a task: variables, private files, standard input; and taking them away again.

Files are in a folder of mode 0700 below the temporary directory, each with mode 0600. `materialise` is a context: the
folder is gone when it ends, however it ends, and the keeper of `operable.proc` removes it when this process is killed.
Nothing is written before every binding was checked, so that a refused binding leaves no trace.
"""

import base64
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from operable.flow.contracts import Identity, entry
from operable.flow.errors import FlowError
from operable.flow.javascript_json import javascript_json
from operable.flow.manifest.findings import ENVIRONMENT_NAME
from operable.flow.trust.identity.sessions import walk
from operable.kernel.data_class import dataclass
from operable.proc.environment import loads_code
from operable.proc.tree.keeper import KEEPER

_FORBIDDEN = ("provider_assertions", "delegation_chain")
_PLACES = {"env": "variable", "file": "file", "stdin": "standard input"}
_FILE_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}\Z")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")


@dataclass(slots=True)
class Materialised:
    """What a task gets. `secrets` are for the code that redacts its output; the representation shows none of it."""

    environment: dict[str, str] = field(default_factory=dict, repr=False)
    stdin: str | None = field(default=None, repr=False)
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list, repr=False)

    def described(self) -> dict[str, Any]:
        """The documented result, without any value."""
        return {
            "materialized": bool(self.environment or self.files or self.stdin is not None),
            "cleanup_required": bool(self.folders),
            "env_vars": sorted(self.environment),
            "temp_files": list(self.files),
            "temp_directories": list(self.folders),
            "stdin": self.stdin is not None,
        }


@dataclass(frozen=True, slots=True)
class _Placed:
    kind: str
    name: str
    text: str = field(repr=False)
    prefix: str | None = None
    expose_as: str | None = None


@contextmanager
def materialise(
    session: Mapping[str, Any],
    presentation: Mapping[str, Any] | None,
    *,
    shell_stdin: str | None = None,
    folder: str | None = None,
) -> Iterator[Materialised]:
    """Present a session's credentials for the time of a task."""
    provider: Identity = entry("identities", session["provider"])
    bindings = (presentation or {}).get("bindings")
    bindings = provider.default_bindings if bindings is None else bindings
    placed = _checked(session, list(bindings), provider.capabilities["presentation_kinds"])
    if shell_stdin is not None and any(one.kind == "stdin" for one in placed):
        raise FlowError(
            "presentation_stdin_conflict", "a credential and shell.stdin cannot both be the standard input"
        )
    given = Materialised()
    try:
        try:
            for one in placed:
                _place(one, given, folder)
        except OSError as problem:
            message = f"a credential file cannot be written: {problem.strerror}"
            raise FlowError("presentation_target_invalid", message) from None
        yield given
    finally:
        _remove(given)


def binding_problems(bindings: Iterable[Any], *, shell_stdin: bool, kinds: Collection[str]) -> Iterator[str]:
    """Why bindings can never be given to a task, whatever the session has. `kinds` are those that the task can take.

    A binding that is not required may be left out, so it is in the way of nothing.
    """
    required: list[tuple[str, Any]] = []
    for binding in bindings:
        source, target = binding["source"], binding["target"]
        try:
            _check_target(source, target["kind"], target)
        except FlowError as problem:
            yield problem.message
        if target["kind"] != "none" and binding.get("required") is not False:
            required.append((source, target))
    for source, target in required:
        if target["kind"] not in kinds:
            yield f"the task has no {_PLACES[target['kind']]} for {source}"
        if target["kind"] == "stdin" and shell_stdin:
            yield f"{source} and shell.stdin cannot both be the standard input"
    names = Counter(target.get("name") for _, target in required if target["kind"] == "env")
    names.update(target["expose_as"] for _, target in required if target.get("expose_as"))
    for name, count in names.items():
        if count > 1:
            yield f"two bindings set {name}"


def _checked(session: Mapping[str, Any], bindings: list[Any], kinds: list[str]) -> list[_Placed]:
    placed: list[_Placed] = []
    for index, binding in enumerate(bindings):
        if not isinstance(binding, Mapping) or not isinstance(binding.get("source"), str):
            raise FlowError("presentation_binding_invalid", f"binding {index} has no source")
        one = _bound(session, binding, kinds)
        if one is not None:
            placed.append(one)
    if sum(one.kind == "stdin" for one in placed) > 1:
        raise FlowError("presentation_stdin_conflict", "at most one credential can be the standard input")
    names = [one.name for one in placed if one.kind == "env"] + [
        one.expose_as for one in placed if one.expose_as
    ]
    if len(set(names)) < len(names):
        raise FlowError("presentation_binding_invalid", "two bindings set the same environment variable")
    return placed


def _bound(session: Mapping[str, Any], binding: Mapping[str, Any], kinds: list[str]) -> _Placed | None:
    source: str = binding["source"]
    if source.partition(".")[0] in _FORBIDDEN:
        raise FlowError("presentation_source_forbidden", f"{source} must not be presented")
    target = binding.get("target")
    kind = target.get("kind") if isinstance(target, Mapping) else None
    if not isinstance(target, Mapping) or not isinstance(kind, str):
        raise FlowError("presentation_target_invalid", f"the binding of {source} has no target")
    if kind == "none":
        return None
    if kind not in ("env", "file", "stdin") or kind not in kinds:
        raise FlowError("presentation_target_unsupported", f'target kind "{kind}" is not supported')
    _check_target(source, kind, target)
    value = walk(session, source)
    if value is None:
        if binding.get("required") is False:
            return None
        raise FlowError("presentation_binding_missing", f"the session has no {source}")
    try:
        text = formatted(value, binding.get("format"))
        text.encode()
    except UnicodeEncodeError:
        raise FlowError("presentation_target_invalid", f"the value of {source} is not UTF-8 text") from None
    if kind == "env" and "\0" in text:
        raise FlowError("presentation_target_invalid", f"the value of {source} cannot be a variable")
    name = target.get("name") or source.rpartition(".")[2]
    return _Placed(kind, name, text, target.get("prefix"), target.get("expose_as"))


def _check_target(source: str, kind: str, target: Mapping[str, Any]) -> None:
    name, prefix, expose_as = target.get("name"), target.get("prefix"), target.get("expose_as")
    if kind == "env" and not (isinstance(name, str) and ENVIRONMENT_NAME.match(name)):
        raise FlowError("presentation_target_invalid", f"the binding of {source} needs a variable's name")
    for variable in (name if kind == "env" else None, expose_as):
        if isinstance(variable, str) and _decides_what_runs(variable):
            message = f"the binding of {source} sets {variable}, which decides what code the task runs"
            raise FlowError("presentation_target_invalid", message)
    if kind == "file" and name is not None and not _is_file_name(name):
        raise FlowError("presentation_target_invalid", f"the binding of {source} needs a plain file name")
    if prefix is not None and not (isinstance(prefix, str) and _PREFIX.match(prefix)):
        raise FlowError("presentation_target_invalid", f"the binding of {source} has an unsafe prefix")
    if expose_as is not None and not (isinstance(expose_as, str) and ENVIRONMENT_NAME.match(expose_as)):
        raise FlowError("presentation_target_invalid", f"the binding of {source} has an invalid expose_as")


def _decides_what_runs(variable: str) -> bool:
    """An approval covers the words of a task, and not the value of a credential; so that value chooses no program."""
    # Settings of package managers have the names of their credentials in this form: NPM_CONFIG__AUTH.
    is_setting = variable.lower().startswith(("npm_config_", "bundle_"))
    return variable == "PATH" or (loads_code(variable) and not is_setting)


def _is_file_name(name: Any) -> bool:
    return isinstance(name, str) and bool(_FILE_NAME.match(name)) and name not in (".", "..")


def formatted(value: Any, form: Any) -> str:
    """A value as text: raw (the default for what is not an object), json, base64."""
    nested = isinstance(value, Mapping | list)
    if form is None:
        form = "json" if nested else "raw"
    if form == "json":
        return javascript_json(value)
    if form not in ("raw", "base64") or (form == "raw" and nested):
        raise FlowError("presentation_format_unsupported", f'format "{form}" does not fit the value')
    if nested or isinstance(value, bool | int | float):
        value = javascript_json(value)
    return base64.b64encode(value.encode()).decode() if form == "base64" else str(value)


def _place(one: _Placed, given: Materialised, folder: str | None) -> None:
    given.secrets.append(one.text)
    if one.kind == "env":
        given.environment[one.name] = one.text
    elif one.kind == "stdin":
        given.stdin = one.text
    else:
        import tempfile

        private = tempfile.mkdtemp(prefix=f"{one.prefix or 'operable'}-", dir=folder)  # mode 0700
        given.folders.append(private)
        KEEPER.leave(private)  # kill -9 must not leave a secret behind either
        path = os.path.join(private, one.name)
        given.files.append(path)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(one.text)
        if one.expose_as:
            given.environment[one.expose_as] = path


def _remove(given: Materialised) -> None:
    import shutil

    failed = []
    for folder in given.folders:
        shutil.rmtree(folder, onerror=lambda _call, path, _info: failed.append(path))
        if not os.path.exists(folder):
            KEEPER.take(folder)
    given.environment.clear()
    given.secrets.clear()
    given.stdin = None
    # What is already gone needs no removing: a task may delete its own files.
    left = [path for path in failed if os.path.exists(path)]
    if left:
        raise FlowError("presentation_target_invalid", f"credential files could not be removed: {left[0]}")
