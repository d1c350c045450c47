"""agentcli.apply: create and update the jobs of a manifest in a scheduler, or in our own engine."""

from typing import Any

from operable.flow.contracts import Surroundings
from operable.flow.method import Defaults, Method, flag, present, truthy
from operable.flow.scheduler.backends import apply, backend_of
from operable.flow.scheduler.reconciliation import ApplyOptions, adopt_by_of
from operable.tool.descriptors import complain


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    manifest = present(params, "manifest")
    options = ApplyOptions(
        dry_run=truthy(params.get("dryRun")),
        explain=truthy(params.get("explain")),
        adopt_by=adopt_by_of(params.get("adoptBy")),
        prune=flag(params, "prune"),
        allow_proof_command=flag(params, "allowProofCommand"),
    )
    # A dry run says that it changes nothing, so that it asks nobody a manifest names, unless the client allows that.
    network = flag(params, "allowNetwork") or not options.dry_run
    around = Surroundings(defaults.cwd, defaults.environment, network=network)
    return apply(manifest, backend_of(params, defaults), options, around, _warn)


def _warn(text: str) -> None:
    complain(f"warning: {text}")


METHOD = Method(
    name="agentcli.apply",
    order=9,
    summary="Create and update scheduler jobs from a manifest",
    run=_run,
    changes=True,
    slow=True,
    params=(
        "manifest",
        "dbPath",
        "schedulerPrefix",
        "schedulerBin",
        "dryRun",
        "explain",
        "adoptBy",
        "allowProofCommand",
        "allowNetwork",
        "prune",
        "target",
    ),
)
