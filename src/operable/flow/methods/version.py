"""agentcli.version: which program and which manifests."""

from typing import Any

from operable import __version__
from operable.flow.manifest.validation import MANIFEST_VERSION
from operable.flow.method import Defaults, Method


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return {"ok": True, "package_version": __version__, "manifest_version": MANIFEST_VERSION}


METHOD = Method(
    name="agentcli.version", order=2, summary="Version discovery for agent integrations", run=_run
)
