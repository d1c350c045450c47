"""Several manifests as one."""

import pytest

from operable.flow.errors import FlowError
from operable.flow.operations.merge import combine
from tests.flow.manifests import manifest, shell_task
from tests.requirement import requirement


def flow(name, **members):
    return manifest(shell_task(), workflow={"id": name, "name": name}, **members)


def refused(*manifests):
    with pytest.raises(FlowError) as caught:
        combine(manifests)
    return caught.value


@requirement("agentcli:cli:merge")
def test_workflows_come_in_order_and_equal_profiles_once():
    one = {"id": "i", "provider": "none", "subject": {"kind": "agent", "principal": "agent://x"}}
    same = {"subject": {"principal": "agent://x", "kind": "agent"}, "provider": "none", "id": "i"}
    other = {"id": "j", "provider": "none"}

    combined = combine(
        [flow("b", identity_profiles=[one]), flow("a", identity_profiles=[same, other]), flow("c")]
    )

    assert list(combined) == ["version", "workflows", "identity_profiles"]
    assert [workflow["id"] for workflow in combined["workflows"]] == ["b", "a", "c"]
    assert combined["identity_profiles"] == [one, other]


@requirement("agentcli:cli:merge")
def test_what_does_not_fit_together_is_refused():
    assert "at least two manifests" in refused(flow("a")).message
    assert refused(flow("a"), flow("a")).message == 'Duplicate workflow id "a"'
    versions = refused(flow("a"), flow("b", version="0.1"))
    assert "convert the 0.1 inputs to 0.2" in versions.message
    assert versions.flow_code == "invalid_argument"


@requirement("agentcli:cli:merge")
@pytest.mark.parametrize(
    "array, one, other",
    [
        ("identity_profiles", {"provider": "none"}, {"provider": "none", "subject": {"kind": "agent"}}),
        ("authorization_proof_profiles", {"method": "none"}, {"method": "none", "claims": {"a": 1}}),
        ("authorization_profiles", {"provider": "none"}, {"provider": "none", "on_error": "warn"}),
        ("evidence_profiles", {"provider": "none"}, {"provider": "ssh"}),
    ],
)
def test_a_profile_may_be_defined_twice_only_when_both_say_the_same(array, one, other):
    def with_profile(name, members):
        return flow(name, **{array: [{"id": "i", **members}]})

    assert combine([with_profile("a", one), with_profile("b", one)])[array] == [{"id": "i", **one}]
    conflict = refused(with_profile("a", one), with_profile("b", other))
    assert (conflict.flow_code, conflict.message) == ("invalid_argument", f'Conflicting {array} id "i"')


@requirement("agentcli:cli:merge")
def test_every_part_is_a_manifest_itself():
    problem = refused(flow("a"), {"version": "0.2"})

    assert problem.flow_code == "validation_error"
    assert problem.details["validation"]["errors"][0]["path"] == "$.workflows"
