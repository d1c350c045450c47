"""Agents that can be driven. They are prompted in sessions (`operable agent prompt`), not called command by command.

What one may do is for the host's policy, so its risk is not known here. The ledger, its manifest and the files on disk say
whether it is installed and logged in; nothing is run. Of a manifest that the user has not approved, only the name counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from operable.host.launch.discover import DiscoveredManifest, Discovery
from operable.host.launch.install import Installation
from operable.host.launch.ledger import Ledger, Scope
from operable.host.launch.places import Places
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import load
from operable.manifest.problem import ManifestError
from operable.serve.catalog import Operable, OperableSource, login_state


def find(workspace: str) -> Iterator[Operable]:
    """Every agent that a name means from the workspace."""
    places = Places.default()
    ledger = Ledger(places.ledger)
    for each in Discovery.default(ledger, project=workspace).all():
        if each.shadowed_by is None:
            yield _described(each, workspace, places, ledger)


def _described(each: DiscoveredManifest, workspace: str, places: Places, ledger: Ledger) -> Operable:
    if each.problem is not None:
        return _operable(each, health="broken", problem=each.problem)
    if not each.trusted:
        return _operable(each, health="unapproved", problem=each.standing.why)
    try:
        manifest = load(each.path, kind="agent-cli", strict=False).as_(AgentCli)
    except ManifestError as error:
        return _operable(each, health="broken", problem=error.message)
    here = Installation(manifest, each.folder, places, ledger).locate() is not None
    said = msgspec.to_builtins(manifest.capabilities)
    return _operable(
        each,
        capabilities=tuple(name.replace("_", "-") for name, value in said.items() if value is True),
        auth=_auth(manifest, workspace, ledger),
        health="ok" if here else "missing",
        problem=None if here else f"operable agent install {each.name}",
    )


def _auth(manifest: AgentCli, workspace: str, ledger: Ledger) -> str:
    if manifest.auth is None:
        return "none"
    known = ledger.login(Scope(manifest.id, workspace, str(os.getuid()))).state
    if known in ("authed", "unauthed"):
        return known
    login, state = manifest.auth.login, manifest.auth.state
    can_be_asked = login is not None and login.completes_when is not None
    return login_state(state.env, state.paths, workspace, can_be_asked=can_be_asked)


def _operable(each: DiscoveredManifest, **more: Any) -> Operable:
    given = {"auth": "unknown", **more}
    return Operable(
        "agent", each.name, version=each.version, description=each.description, place=each.path, **given
    )


SOURCE = OperableSource("agent", "agents that can be driven", find)
