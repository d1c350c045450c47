"""Matching jobs with what is stored: every combination of id and name, and rows that make no sense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.errors import FlowError
from operable.flow.scheduler.reconciliation import adopt_by_of, matched
from operable.flow.scheduler.specs import differences


def job(number, name=None):
    return {"id": f"j{number}", "name": name or f"N{number}", "parent_id": None}


def compare(stored, made):
    return differences(stored, {"name": made["name"]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)
)


@given(st.lists(st.dictionaries(st.sampled_from(["id", "name", "origin"]), JSON, max_size=3), max_size=6))
def test_whatever_is_stored_every_job_gets_one_step(rows):
    for adopt_by in ("id", "name"):
        try:
            steps = matched([job(1), job(2)], rows, adopt_by, compare)
        except FlowError as problem:
            assert "duplicate names" in problem.message  # noqa: PT017 - any other failure is one
        else:
            assert [step.job_id for step in steps] == ["j1", "j2"]


def test_an_exact_id_counts_more_than_a_name():
    rows = [{"id": "j1", "name": "other"}, {"id": "x", "name": "N1"}, {"id": "y", "name": "N2"}]

    steps = matched([job(1), job(2)], rows, "name", compare)

    assert [(step.action, step.adopted_from) for step in steps] == [("updated", None), ("adopted", "y")]
    assert [step.action for step in matched([job(1), job(2)], rows, "id", compare)] == ["updated", "created"]


def test_a_job_of_the_manifest_is_not_adopted_by_another_that_took_its_name():
    rows = [{"id": "j1", "name": "N2"}, {"id": "x", "name": "N2"}]
    alone, beside = (matched([job(1), job(2)], found, "name", compare) for found in (rows[:1], rows))

    assert [(step.action, step.adopted_from) for step in alone] == [("updated", None), ("created", None)]
    assert [(step.action, step.adopted_from) for step in beside] == [("updated", None), ("adopted", "x")]


def test_a_fingerprint_is_of_everything_that_was_decided():
    [created] = matched([job(1)], [], "id", compare)
    [renamed] = matched([job(1, "Z")], [], "id", compare)
    [updated] = matched([job(1)], [{"id": "j1", "name": "a"}], "id", compare)
    [other] = matched([job(1)], [{"id": "j1", "name": "b"}], "id", compare)

    assert len({step.fingerprint for step in (created, renamed, updated, other)}) == 4
    assert matched([job(1)], [], "id", compare)[0].fingerprint == created.fingerprint


def test_values_are_compared_as_what_they_mean():
    stored = {"enabled": 1, "identity": '{"b": 1, "a": 2}', "name": "x", "evidence": "{"}

    assert (
        differences(stored, {"enabled": True, "identity": '{"a":2,"b":1}', "name": "x", "parent_id": None})
        == []
    )
    assert differences(stored, {"evidence": None}) == [{"field": "evidence", "before": "{", "after": None}]


@pytest.mark.parametrize("before, after", [("1", "true"), ("0", "false"), ("[1]", "[true]")])
def test_a_claim_that_becomes_true_is_another_claim_than_the_number_one(before, after):
    [change] = differences(
        {"authorization_proof": f'{{"claims": {{"admin": {before}}}}}'},
        {"authorization_proof": f'{{"claims":{{"admin":{after}}}}}'},
    )

    assert change["field"] == "authorization_proof"


@pytest.mark.parametrize("value", ["", "ID", 5, [], True])
def test_jobs_are_adopted_by_id_or_name_only(value):
    assert adopt_by_of(None) == "id"
    assert adopt_by_of("name") == "name"
    with pytest.raises(FlowError, match="Accepted values: id, name"):
        adopt_by_of(value)
