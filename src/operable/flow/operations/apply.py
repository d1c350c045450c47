"""Create and update the jobs of a manifest in a scheduler, or in our own engine."""

from typing import Any

from operable.flow.operation import (
    ADOPT_BY,
    ALLOW_NETWORK,
    BACKEND,
    OPTIONAL_MANIFEST,
    PROOF_COMMAND,
    SCHEDULER,
    Defaults,
    Operation,
    Parameter,
    flag,
    present,
    truthy,
)


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.contracts import Surroundings
    from operable.flow.scheduler.backends import apply, backend_of
    from operable.flow.scheduler.reconciliation import ApplyOptions, adopt_by_of

    manifest = present(params, "manifest")
    if params.get("checkCapabilities"):
        from operable.flow.scheduler.openclaw import check_capabilities

        client = backend_of(params, defaults).client
        assert client is not None  # noqa: S101 - the scheduler is the default backend
        return check_capabilities(manifest, client)
    options = ApplyOptions(
        dry_run=truthy(params.get("dryRun")),
        explain=truthy(params.get("explain")),
        adopt_by=adopt_by_of(params.get("adoptBy")),
        prune=flag(params, "prune"),
        allow_proof_command=flag(params, "allowProofCommand"),
    )
    # A dry run says that it changes nothing, so that it calls no service that a manifest names, unless the client allows
    # that.
    network = flag(params, "allowNetwork") or not options.dry_run
    around = Surroundings(defaults.cwd, defaults.environment, network=network)
    return apply(manifest, backend_of(params, defaults), options, around, _warn)


def _warn(text: str) -> None:
    from operable.tool.process import complain

    complain(f"warning: {text}")


OPERATION = Operation(
    method="agentcli.apply",
    order=9,
    verb="apply",
    place=8,
    summary="Create and update scheduler jobs from a manifest",
    run=_run,
    changes=True,
    slow=True,
    params=(
        OPTIONAL_MANIFEST,
        BACKEND._replace(help="where its jobs go"),
        Parameter("dryRun", "flag"),
        Parameter("explain", "flag"),
        Parameter("checkCapabilities", "flag", rpc=False),
        ADOPT_BY,
        *SCHEDULER,
        PROOF_COMMAND,
        ALLOW_NETWORK._replace(help="let a dry run fetch keys from addresses that the manifest names"),
        Parameter("prune", "flag", agentcli=False),
    ),
)
