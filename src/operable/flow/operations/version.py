"""Which program and which manifests."""

from typing import Any

from operable.flow.operation import Defaults, Operation


def _run(_params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable import __version__
    from operable.flow.manifest.validation import MANIFEST_VERSION

    return {"ok": True, "package_version": __version__, "manifest_version": MANIFEST_VERSION}


OPERATION = Operation(
    method="agentcli.version",
    order=2,
    verb="version",
    place=1,
    summary="Version discovery for agent integrations",
    run=_run,
)
