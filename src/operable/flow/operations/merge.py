"""Several manifests as one: their workflows in order, their profiles once.

All must have the same version. A workflow id may be there once; a profile may be there as often as it likes, as long as
every definition of it is the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter

Json = dict[str, Any]
_PROFILES = (
    "identity_profiles",
    "authorization_proof_profiles",
    "authorization_profiles",
    "evidence_profiles",
)


def _run(params: dict[str, Any], _defaults: Defaults) -> dict[str, Any]:
    manifests = params.get("manifests")
    if not isinstance(manifests, list):
        raise invalid_argument("manifests must be an array")
    return {"ok": True, "manifest": combine(manifests)}


def _printed(answer: dict[str, Any], params: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.output_files import with_written

    return with_written(answer, answer["manifest"], params.get("output"), cwd=defaults.cwd)


def combine(manifests: Sequence[Any]) -> Json:
    """One valid manifest. Raises FlowError if they do not fit together."""
    from operable.flow.compile.target import require_valid

    if len(manifests) < 2:
        raise invalid_argument("merge needs at least two manifests")
    for manifest in manifests:
        require_valid(manifest)
    versions = sorted({manifest["version"] for manifest in manifests})
    if len(versions) > 1:
        found = ", ".join(versions)
        raise invalid_argument(
            f"Cannot merge manifests of different versions ({found}); convert the 0.1 inputs to 0.2 first"
        )
    combined: Json = {"version": versions[0], "workflows": _workflows(manifests)}
    for array in _PROFILES:
        profiles = _profiles(manifests, array)
        if profiles:
            combined[array] = profiles
    require_valid(combined)
    return combined


def _workflows(manifests: Sequence[Json]) -> list[Json]:
    workflows = [workflow for manifest in manifests for workflow in manifest["workflows"]]
    seen: set[str] = set()
    for workflow in workflows:
        if workflow["id"] in seen:
            raise invalid_argument(f'Duplicate workflow id "{workflow["id"]}"')
        seen.add(workflow["id"])
    return workflows


def _profiles(manifests: Sequence[Json], array: str) -> list[Json]:
    from operable.flow.canonical import canonical_text

    kept: dict[str, Json] = {}
    for manifest in manifests:
        for profile in manifest.get(array) or []:
            known = kept.setdefault(profile["id"], profile)
            if canonical_text(known) != canonical_text(profile):
                raise invalid_argument(f'Conflicting {array} id "{profile["id"]}"')
    return list(kept.values())


OPERATION = Operation(
    method="agentcli.merge",
    order=40,
    verb="merge",
    place=40,
    summary="Several manifests as one",
    run=_run,
    params=(
        Parameter(
            "manifests",
            "manifests",
            shown="<manifest> <manifest> ...",
            called="files",
            help="the manifests, two or more; - is standard input",
        ),
        Parameter("output", rpc=False),
    ),
    printed=_printed,
)
