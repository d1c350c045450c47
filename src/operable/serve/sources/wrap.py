"""Wrapped command-line tools: what `operable wrap` gives a machine mode.

The manifests of the wrappers are read, and the binary is looked for; nothing is run.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from operable.kernel.errors import Fail
from operable.offer.action import capabilities_of, declared_action
from operable.offer.aoi import AoiAdapter, own_variables
from operable.proc.tree.escalation import Graces
from operable.serve.catalog import Operable, OperableSource, login_state
from operable.tool.discovery.capabilities import command_capabilities
from operable.tool.discovery.commands import schema_document
from operable.tool.discovery.schema import input_schema
from operable.wrap import load, names
from operable.wrap.doctor import binary
from operable.wrap.plan.model import WrapPlan
from operable.wrap.upstream import GRACE

# The same process that `operable wrap NAME` is, without looking for that on PATH.
_MAIN = "import sys; from operable.wrap.front import main; main(sys.argv[1], sys.argv[2:])"

# What the process needs beside the variables that the program gets: to find the same wrapper, and to treat it alike.
_OURS = ("OPERABLE_WRAPPERS", "OPERABLE_UNCONFINED")


def find(workspace: str) -> Iterator[Operable]:
    """Every wrapper, also those whose binary is not here."""
    for name in names():
        try:
            yield _wrapped(name, workspace)
        except Fail as failure:
            yield Operable("wrap", name, health="broken", problem=failure.message, auth="unknown")


def _wrapped(name: str, workspace: str) -> Operable:
    tool = load(name)
    check = binary(tool.plan).fields
    found, schemas, reported = [], {}, []
    for each in tool.names():
        command = tool.find(each)
        if command is None or command.hidden:
            continue
        said = command_capabilities(tool, command)
        reported.append(said)
        schemas[each] = input_schema(tool, command)
        found.append(declared_action(said))
    here, login = check.get("ok") is True, tool.plan.login
    return Operable(
        "wrap",
        name,
        version=tool.version,
        description=tool.summary,
        place=str(check.get("detail") or ""),
        actions=tuple(found),
        capabilities=capabilities_of(reported),
        auth=login_state(login.env, login.paths, workspace, can_be_asked=login.can_be_asked)
        if tool.plan.auth
        else "none",
        health="missing" if not here else "unknown" if tool.plan.unverified else "ok",
        problem=_problem(tool.plan, check, here=here),
        adapter=AoiAdapter(
            # -P: no module of the workspace is ever imported in place of one of ours.
            [sys.executable, "-P", "-c", _MAIN, name],
            schemas=schemas,
            inherit=(*own_variables(name), *_OURS, *tool.plan.env_pass),
            graces=Graces(interrupt=GRACE),
            cwd=workspace,
            name=name,
            program=tool.program_line,
            events=functools.cache(lambda: schema_document(tool, tool.schema_version)),
        )
        if here
        else None,
    )


def _problem(plan: WrapPlan, check: Mapping[str, Any], *, here: bool) -> str | None:
    if not here:
        said = str(check.get("detail") or "its binary is not here")
        return f"{said}; {check['hint']}" if check.get("hint") else said
    return "an unfinished draft" if plan.unverified else None


SOURCE = OperableSource("wrap", "wrapped command-line tools", find)
