"""Commands of the agentcli command line about documents: manifests, what is made of them, and where they are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

from operable.cli.agentcli_call import Call, Json
from operable.flow.compile.target import invalid
from operable.flow.errors import invalid_argument
from operable.flow.home import paths, private_folder
from operable.flow.manifest.combination import combine
from operable.flow.manifest.scaffold import scaffold
from operable.flow.manifest.validation import MANIFEST_VERSION, validate
from operable.flow.output_files import write_document
from operable.flow.project import import_from
from operable.flow.registry import add, default_name, remove
from operable.flow.scheduler.backends import backend_of
from operable.flow.scheduler.openclaw import check_capabilities

SKILL = os.path.join(os.path.dirname(__file__), "skills", "manifest-authoring", "SKILL.md")


def _validate(call: Call) -> Json:
    found = validate(call.manifest())
    if not found["ok"]:
        raise invalid(found)
    return found


def _compile(call: Call) -> Json:
    found = call.ask(
        "compile", manifest=call.manifest(), target=call.value("target"), explain=call.has("explain")
    )
    return found | _written(call, "write", found["output"])


def _convert(call: Call) -> Any:
    if call.value("output") is not None and call.value("write") is not None:
        raise invalid_argument("Specify either --output or --write, not both.")
    manifest = call.ask("convert", manifest=call.manifest())["manifest"]
    path = call.value("output") or call.value("write")
    if path is None:
        return manifest
    place = write_document(path, manifest, cwd=call.defaults.cwd)
    return {"ok": True, "output": place, "version": MANIFEST_VERSION}


def _merge(call: Call) -> Json:
    manifest = combine([call.manifest(index) for index in range(len(call.line.words))])
    return {"ok": True, "manifest": manifest} | _written(call, "output", manifest)


def _written(call: Call, flag: str, document: Any) -> Json:
    path = call.value(flag)
    return {} if path is None else {"written_to": write_document(path, document, cwd=call.defaults.cwd)}


def _apply(call: Call) -> Json:
    adopt_by = call.value("adopt-by")
    if adopt_by not in (None, "id", "name"):
        raise invalid_argument(f"Invalid --adopt-by value: {adopt_by}. Accepted values: id, name")
    params = {
        "dbPath": call.value("db"),
        "schedulerPrefix": call.value("scheduler-prefix"),
        "schedulerBin": call.value("scheduler-bin"),
    }
    manifest = call.manifest()
    if call.has("check-capabilities"):
        client = backend_of(params, call.defaults).client
        assert client is not None  # noqa: S101 - the scheduler is the backend when none is named
        return check_capabilities(manifest, client)
    return call.ask(
        "apply",
        manifest=manifest,
        dryRun=call.has("dry-run"),
        explain=call.has("explain"),
        adoptBy=adopt_by,
        allowProofCommand=call.has("allow-proof-command"),
        allowNetwork=call.has("allow-network"),
        **params,
    )


def _inspect(call: Call) -> Json:
    mode = call.value("sanitize")
    if mode not in (None, "none", "basic"):
        raise invalid_argument(f"Unsupported sanitize mode: {mode}. Accepted values: none, basic")
    return call.ask(
        "inspect",
        entity=call.word(0),
        dbPath=call.value("db"),
        fields=call.value("fields"),
        limit=call.number("limit"),
        sanitize=mode,
    )


def _init(call: Call) -> Json:
    tool = call.value("tool")
    manifest = scaffold(tool, call.value("workflow-id") or "default", call.value("task-id") or "run")
    path = call.value("output") or "agentcli.json"
    if os.path.lexists(os.path.join(call.defaults.cwd, path)):
        raise invalid_argument(f"Refusing to overwrite an existing file: {path}")
    places = paths(call.home)
    for name in ("manifests", "output", "state", "registry"):
        private_folder(places[name])
    missing = tool is not None and shutil.which(tool, path=call.defaults.environment.get("PATH")) is None
    return {
        "ok": True,
        "written_to": write_document(path, manifest, cwd=call.defaults.cwd),
        "manifest": manifest,
        "warnings": [f'Tool "{tool}" not found on PATH'] if missing else [],
    }


def _register(call: Call) -> Json:
    source = call.line.words[0]
    manifest = call.manifest()
    return {"ok": True, **add(call.home, call.value("name") or default_name(source), manifest)}


def _skill_path(call: Call) -> Json:
    return {"ok": True, "skill_path": SKILL, "home_skill_path": paths(call.home)["skill_path"]}


DOCUMENTS: dict[str, Callable[[Call], Any]] = {
    "version": lambda call: call.ask("version"),
    "schema": lambda call: call.ask("schema", target=call.word(0), legacy=call.has("legacy")),
    "describe": lambda call: call.ask("describe", target=call.word(0)),
    "targets": lambda call: call.ask("targets"),
    "paths": lambda call: call.ask("paths"),
    "skill-path": _skill_path,
    "validate": _validate,
    "compile": _compile,
    "convert": _convert,
    "merge": _merge,
    "apply": _apply,
    "inspect": _inspect,
    "init": _init,
    "registry list": lambda call: call.ask("registry.list"),
    "registry add": _register,
    "registry show": lambda call: call.ask("registry.show", name=call.word(0)),
    "registry remove": lambda call: {"ok": True, **remove(call.home, call.line.words[0])},
    "import": lambda call: {
        "ok": True,
        **import_from(call.home, os.path.join(call.defaults.cwd, call.line.words[0]), call.value("name")),
    },
}
