"""Native agent-operable tools.

Only programs that were declared to be ones are asked: those that the user has put (or linked) into `tools/` of the
configuration folder, and console scripts of installed distributions that depend on operable. Nothing else on PATH is ever
run to find out. What they answer to `capabilities` is kept (`operable.run.discovery`) until the program changes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from operable.kernel.errors import Fail
from operable.offer.action import actions, capabilities_of, command_entries
from operable.offer.aoi import AoiAdapter, own_variables
from operable.run.discovery import ToolSource, describe
from operable.serve.catalog import Operable, OperableSource
from operable.state.paths import config_path

# Programs that are asked at the same time: each is one process, most of which only starts an interpreter.
_AT_ONCE = 8
_SUMMARY = 1000  # characters: models are given all of them at once
_REQUIRES = re.compile(r"operable(?![\w-])", re.IGNORECASE)


def find(workspace: str) -> Iterator[Operable]:
    """Every declared tool; of two with one name the user's own counts."""
    places: dict[str, str] = {}
    for name, path in (*_registered(), *_installed()):
        places.setdefault(name, path)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(lambda name: described_tool(name, places[name], workspace), places)


def _registered() -> Iterator[tuple[str, str]]:
    folder = config_path("tools")
    try:
        names = sorted(os.listdir(folder)) if folder is not None else []
    except OSError:
        return
    for name in names:
        path = os.path.join(folder or "", name)
        # A dangling link was also declared; what is missing is reported when it is called.
        if not name.startswith(".") and (os.path.isfile(path) or os.path.islink(path)):
            yield name, path


def _installed() -> Iterator[tuple[str, str]]:
    from importlib.metadata import distributions

    scripts = os.path.dirname(sys.executable)
    for distribution in distributions():
        if any(_REQUIRES.match(each) and "extra ==" not in each for each in distribution.requires or ()):
            for entry in distribution.entry_points:
                path = os.path.join(scripts, entry.name)
                if entry.group == "console_scripts" and os.path.isfile(path):
                    yield entry.name, path


def described_tool(name: str, path: str, workspace: str) -> Operable:
    """The tool at a path, by what it says of itself."""
    try:
        description = describe(ToolSource((path,), inherit=own_variables(name)))
        capabilities = description.capabilities
        problem = None if capabilities else "; ".join(description.notes) or "it gives no capabilities"
        if capabilities and not isinstance(capabilities.get("commands"), list):
            capabilities, problem = None, "its capabilities list no commands"
    except Fail as failure:
        capabilities, problem = None, failure.message
    if capabilities is None:
        return Operable("tool", name, place=path, health="broken", problem=problem, auth="unknown")
    return Operable(
        "tool",
        name,
        version=str(capabilities.get("tool_version") or ""),
        description=str(capabilities.get("summary") or "")[:_SUMMARY],
        place=path,
        actions=tuple(actions(capabilities)),
        capabilities=capabilities_of(command_entries(capabilities)),
        auth="required" if _needs(capabilities.get("auth")) else "none",
        adapter=AoiAdapter(
            [path],
            inherit=own_variables(name),
            cwd=workspace,
            name=name,
            events=lambda: description.schema,
        ),
    )


def _needs(auth: Any) -> bool:
    return auth.get("required") is not False if isinstance(auth, dict) else bool(auth)


SOURCE = OperableSource("tool", "native agent-operable tools", find)
