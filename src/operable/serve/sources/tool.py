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
from typing import Any

from operable.kernel.errors import Fail
from operable.run.discovery import Source as Tool
from operable.run.discovery import describe
from operable.serve.aoi_door import AoiDoor, own_variables
from operable.serve.operables import Action, Operable, Source, capabilities_of
from operable.state.paths import VARIABLES, config_path
from operable.tool.declare import ALIAS, BUILT_IN

# Words with one space between, none of them an option.
_NAME = re.compile(r"\w[\w.:-]*(?: \w[\w.:-]*)*")
_SUMMARY = 1000  # characters: models are given all of them at once
_REQUIRES = re.compile(r"operable(?![\w-])", re.IGNORECASE)


def find(workspace: str) -> Iterator[Operable]:
    """Every declared tool; of two with one name the user's own counts."""
    seen: set[str] = set()
    for name, path in (*_registered(), *_installed()):
        if name not in seen:
            seen.add(name)
            yield _asked(name, path, workspace)


def _registered() -> Iterator[tuple[str, str]]:
    folder = config_path("tools")
    try:
        names = sorted(os.listdir(folder)) if folder is not None else []
    except OSError:
        return
    for name in names:
        path = os.path.join(folder or "", name)
        # A link that leads nowhere was declared, too; what is missing is told when it is asked.
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


def _asked(name: str, path: str, workspace: str) -> Operable:
    try:
        description = describe(Tool((path,), inherit=(*VARIABLES, own_variables(name))))
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
        capabilities=capabilities_of(_commands(capabilities)),
        auth="required" if _needs(capabilities.get("auth")) else "none",
        door=AoiDoor([path], name=name, cwd=workspace),
    )


def actions(capabilities: dict[str, Any]) -> Iterator[Action]:
    """The commands of a capability manifest, without those by which a tool describes itself."""
    found = _commands(capabilities)
    names = {each["name"] for each in found}
    about = {f"{ALIAS}{name}" if f"{ALIAS}{name}" in names else name for name in BUILT_IN}
    for each in found:
        if each["name"] not in about:
            yield Action(
                each["name"],
                summary=str(each.get("summary") or "")[:_SUMMARY],
                read_only=each.get("read_only") is True,
                destructive=each.get("destructive") is True,
                confirm=each.get("requires_confirm") is True,
                idempotent=each.get("read_only") is True or each.get("supports_idempotency_key") is True,
                unbounded=each.get("unbounded") is True,
            )


def _commands(capabilities: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that can be called: their names are words, which are no options."""
    return [
        each
        for each in capabilities["commands"]
        if isinstance(each, dict) and isinstance(each.get("name"), str) and _NAME.fullmatch(each["name"])
    ]


def _needs(auth: Any) -> bool:
    return auth.get("required") is not False if isinstance(auth, dict) else bool(auth)


SOURCE = Source("tool", "native agent-operable tools", find)
