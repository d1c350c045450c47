"""The registry: valid manifests under names, one JSON file each, in the home's folder `registry`; and what a project ships.

Adding replaces a file as a whole, so that a reader never sees half of one and two who add at once leave one of both.
Listing never fails because of one bad entry: what is not a manifest is listed with a marker that says why.
"""

import os
import re
import stat
from typing import Any

from operable.flow.canonical import parse
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.home import document, paths, private_folder, read_private, require_folder, write_private
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.validation import validate

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_SUFFIX = ".json"
FILE, PACKAGE = "agentcli.json", "package.json"


def entries(home: str) -> list[Json]:
    """Every entry by name: its workflows, or why it cannot be used."""
    folder = paths(home)["registry"]
    if not os.path.lexists(folder):
        return []
    require_folder(folder)
    names = sorted(
        name
        for name in os.listdir(folder)
        if name.endswith(_SUFFIX) and _NAME.fullmatch(name.removesuffix(_SUFFIX))
    )
    return [_entry(folder, name.removesuffix(_SUFFIX)) for name in names]


def show(home: str, name: str) -> Any:
    """The manifest of this name; Raises FlowError if it does not exist."""
    path = path_of(home, name)
    try:
        data = read_private(path)
    except FileNotFoundError:
        raise invalid_argument(f'Registry entry "{name}" not found') from None
    try:
        return parse(data)
    except ValueError as problem:
        raise FlowError("parse_error", f'Registry entry "{name}" is not JSON: {str(problem)[:200]}') from None


def add(home: str, name: str, manifest: Any) -> Json:
    """Keep a valid manifest under this name, in the place of whatever was there."""
    path = path_of(home, name)
    found = validate(manifest)
    if not found["ok"]:
        first = found["errors"][0]
        message = f"Manifest validation failed: {first['path']} {first['message']}"
        raise FlowError("validation_error", message, validation=found)
    private_folder(home)
    private_folder(os.path.dirname(path))
    overwritten = write_private(path, document(manifest))
    return {"name": name, "path": path, "overwritten": overwritten}


def exists(home: str, name: str) -> bool:
    return os.path.lexists(path_of(home, name))


def remove(home: str, name: str) -> Json:
    """Forget an entry, whatever its file contains; Raises FlowError if it does not exist."""
    path = path_of(home, name)
    try:
        os.unlink(path)
    except FileNotFoundError:
        raise invalid_argument(f'Registry entry "{name}" not found') from None
    except OSError as problem:
        raise invalid_argument(f'Registry entry "{name}" cannot be removed: {problem.strerror}') from None
    return {"name": name, "removed": True}


def default_name(path: str) -> str:
    """The default name of a manifest: its file's name without the ending."""
    return os.path.basename(path).removesuffix(_SUFFIX)


def path_of(home: str, name: str) -> str:
    """Where the manifest of this name is kept; Raises FlowError if it is not a name."""
    if not _NAME.fullmatch(name):
        raise invalid_argument(f"Registry name must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/: {name}")
    return os.path.join(paths(home)["registry"], name + _SUFFIX)


def _entry(folder: str, name: str) -> Json:
    path = os.path.join(folder, name + _SUFFIX)
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return {"name": name, "symlink_refused": True}
        if not stat.S_ISREG(mode):
            return {"name": name, "invalid_type_refused": True}
        manifest = parse(read_private(path))
        workflows = [
            {"id": flow["id"], "name": flow["name"], "task_count": len(flow["tasks"])}
            for flow in manifest["workflows"]
        ]
    except (OSError, ValueError, FlowError, LookupError, TypeError):
        return {"name": name, "parse_error": True}
    return {"name": name, "workflows": workflows}


# Finding the manifest that a project ships, and keeping it in the registry.
# A project says it with a file `agentcli.json` in its folder, or with a path in the member `agentcli` of its
# package.json. That path must stay inside the project: a package that one merely looks at must not make us read other
# files.
def discover(folder: str) -> tuple[str, str, Any]:
    """(path, how it was found, manifest) of a project's manifest; FlowError when it has none."""
    own = os.path.join(folder, FILE)
    if os.path.lexists(own):
        return own, FILE, _read(own)
    package = os.path.join(folder, PACKAGE)
    if os.path.lexists(package):
        described = _read(package)
        named = described.get("agentcli") if isinstance(described, dict) else None
        if isinstance(named, str) and named:
            path = _inside(folder, named)
            return path, PACKAGE, _read(path)
    raise invalid_argument(f"No agentcli manifest found in {folder}")


def import_from(home: str, folder: str, name: str | None = None) -> Json:
    """Keep the manifest of a project; its name is the project's unless another is given."""
    path, discovery, manifest = discover(folder)
    added = add(home, name or name_of(folder), manifest)
    return {**added, "imported_from": path, "discovery": discovery}


def name_of(folder: str) -> str:
    return os.path.basename(os.path.realpath(folder))


def _inside(folder: str, named: str) -> str:
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, named))
    if not path.startswith(root.rstrip("/") + "/"):
        raise invalid_argument(f"The manifest path in {PACKAGE} leaves the project: {named}")
    return path


def _read(path: str) -> Any:
    try:
        return parse(read_private(path))
    except FileNotFoundError:
        raise invalid_argument(f"Input not found: {path}") from None
    except ValueError as problem:
        raise FlowError("parse_error", f"Invalid JSON from {path}: {str(problem)[:200]}") from None
