"""agentcli.identity.providers: the identity providers, with what each can do."""

from typing import Any

from operable.flow.contracts import listed
from operable.flow.method import Defaults, Method


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {
        "ok": True,
        "providers": [
            {"name": found.name, "capabilities": dict(found.capabilities)} for found in listed("identities")
        ],
    }


METHOD = Method(name="agentcli.identity.providers", order=16, summary="List identity providers", run=_run)
