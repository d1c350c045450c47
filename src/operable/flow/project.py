"""Finding the manifest that a project ships, and keeping it in the registry.

A project says it with a file `agentcli.json` in its folder, or with a path in the member `agentcli` of its package.json.
That path must stay inside the project: a package that one merely looks at must not make us read other files.
"""

import os
from typing import Any

from operable.flow import registry
from operable.flow.canonical import parse
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.home import read_private
from operable.flow.manifest.inheritance import Json

FILE, PACKAGE = "agentcli.json", "package.json"


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
    added = registry.add(home, name or name_of(folder), manifest)
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
