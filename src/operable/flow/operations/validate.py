"""Is this a manifest? An invalid one is a result over JSON-RPC, and a failure of `operable-agentcli`."""

from collections.abc import Mapping
from typing import Any

from operable.flow.operation import MANIFEST, Defaults, Operation, present


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.manifest.validation import validate

    return validate(present(params, "manifest"))


def _printed(answer: dict[str, Any], _params: Mapping[str, Any], _defaults: Defaults) -> dict[str, Any]:
    from operable.flow.compile.target import invalid

    if not answer["ok"]:
        raise invalid(answer)
    return answer


OPERATION = Operation(
    method="agentcli.validate",
    order=7,
    verb="validate",
    place=5,
    summary="Validate a manifest",
    run=_run,
    params=(
        MANIFEST._replace(called="files", several=True, help="the manifests; - or none is standard input"),
    ),
    printed=_printed,
)
