"""What one part of a manifest says about another: profiles that are not there, and trust that cannot be reached."""

import pytest

from tests.flow.manifests import Json, errors, manifest, shell_task
from tests.requirement import requirement

LEVELS = ["untrusted", "restricted", "supervised", "autonomous"]
TASK, HANDLER, WORKFLOW = (
    f"$.workflows[0]{place}.contract.required_trust_level" for place in (".tasks[0]", ".tasks[0].on_failure", "")
)  # fmt: skip


def ceiling(level: str) -> Json:
    return {"trust": {"constraints": {"max_autonomy": level}}}


def floor(level: str) -> Json:
    return {"required_trust_level": level}


def words(level: str) -> str:
    return f'must not exceed resolved identity max_autonomy "{level}"'


@requirement("agentcli:validation:trust-floor")
@pytest.mark.parametrize("required", LEVELS)
@pytest.mark.parametrize("highest", LEVELS)
def test_a_floor_may_be_as_high_as_the_ceiling(required, highest):
    value = manifest(shell_task(contract=floor(required), identity=ceiling(highest)))
    above = LEVELS.index(required) > LEVELS.index(highest)

    assert errors(value) == ([(TASK, words(highest))] if above else [])


@requirement("agentcli:validation:trust-floor")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize(
    "workflow, task, found",
    [
        # the ceiling: the task's, else the workflow's, else the profile's
        ({"identity": ceiling("untrusted")}, {"identity": ceiling("supervised"), "contract": floor("supervised")}, []),
        ({"identity": ceiling("restricted")}, {"contract": floor("supervised")}, [(TASK, words("restricted"))]),
        ({}, {"identity": {"ref": "low"}, "contract": floor("supervised")}, [(TASK, words("untrusted"))]),
        ({"identity": {"ref": "low"}}, {"contract": floor("supervised")}, [(TASK, words("untrusted"))]),
        ({"identity": {"ref": "low"}}, {"identity": {"ref": "high"}, "contract": floor("supervised")}, []),
        ({"identity": {"ref": "low"}}, {"identity": ceiling("autonomous"), "contract": floor("supervised")}, []),
        ({"identity": {"ref": "free"}}, {"contract": floor("autonomous")}, []),
        ({}, {"contract": floor("autonomous")}, []),
        # the floor: the task's, else the workflow's, and where it stands
        ({"contract": floor("autonomous")}, {"identity": ceiling("supervised")}, [(WORKFLOW, words("supervised"))]),
        ({"contract": floor("autonomous")}, {"identity": ceiling("supervised"), "contract": floor("restricted")}, []),
        ({"contract": floor("untrusted")}, {"identity": ceiling("restricted"), "contract": floor("autonomous")}, [(TASK, words("restricted"))]),
        # a handler has the workflow's and its own, and nothing of its parent's
        ({}, {"identity": ceiling("untrusted"), "on_failure": {"prompt": "x", "contract": floor("autonomous")}}, []),
        ({}, {"contract": floor("autonomous"), "on_failure": {"prompt": "x", "identity": ceiling("untrusted")}}, []),
        ({}, {"on_failure": {"prompt": "x", "identity": ceiling("untrusted"), "contract": floor("restricted")}}, [(HANDLER, words("untrusted"))]),
        ({"contract": floor("restricted")}, {"on_failure": {"prompt": "x", "identity": {"ref": "low"}}}, [(WORKFLOW, words("untrusted"))]),
        ({"identity": ceiling("untrusted")}, {"on_failure": {"prompt": "x", "contract": floor("restricted")}}, [(HANDLER, words("untrusted"))]),
    ],
)  # fmt: skip
def test_whose_floor_and_whose_ceiling_count(version, workflow, task, found):
    profiles = [
        {"id": "low", "provider": "none", **ceiling("untrusted")},
        {"id": "high", "provider": "none", **ceiling("autonomous")},
        {"id": "free", "provider": "none"},
    ]
    value = manifest(shell_task(**task), version=version, workflow=workflow, identity_profiles=profiles)

    assert errors(value) == found


@requirement("agentcli:validation:trust-floor")
def test_the_same_finding_is_told_once_and_another_ceiling_is_another_finding():
    value = manifest(
        shell_task(),
        shell_task("b"),
        shell_task("c", identity=ceiling("untrusted")),
        workflow={"contract": floor("autonomous"), "identity": ceiling("restricted")},
    )

    assert errors(value) == [(WORKFLOW, words("restricted")), (WORKFLOW, words("untrusted"))]


@requirement("agentcli:validation:references")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize(
    "block, array", [
        ("identity", "identity_profiles"), ("authorization_proof", "authorization_proof_profiles"),
        ("authorization", "authorization_profiles"), ("evidence", "evidence_profiles"),
    ],
)  # fmt: skip
def test_a_reference_names_a_profile_of_its_own_kind(block, array, version):
    arrays = ("identity_profiles", "authorization_proof_profiles", "authorization_profiles", "evidence_profiles")  # fmt: skip
    others = {
        name: [
            {
                "id": "x",
                **({"method": "none"} if name == "authorization_proof_profiles" else {"provider": "none"}),
            }
        ]
        for name in arrays
    }
    reference: Json = {block: {"ref": "x"}}
    task = shell_task(**reference, on_failure={"prompt": "y", **reference})

    assert errors(manifest(task, version=version, workflow=reference, **others)) == []
    del others[array]
    assert errors(manifest(task, version=version, workflow=reference, **others)) == [
        (f"$.workflows[0]{place}.{block}.ref", f'references unknown {block} profile "x"')
        for place in ("", ".tasks[0]", ".tasks[0].on_failure")
    ]
