"""agentcli.validate: is this a manifest? An invalid one is a result, not an error."""

from typing import Any

from operable.flow.manifest.validation import validate
from operable.flow.method import Defaults, Method, present


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    return validate(present(params, "manifest"))


METHOD = Method(
    name="agentcli.validate", order=7, summary="Validate a manifest", run=_run, params=("manifest",)
)
