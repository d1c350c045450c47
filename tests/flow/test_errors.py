"""`operable.flow.errors`: one table from the contract's words to the product's errors."""

import ast
from pathlib import Path

import pytest

import operable.flow
from operable.flow.errors import EXACT, MEANINGS, TYPES, FlowError, error_type, known_code
from operable.flow.rpc.protocol import rpc_error
from operable.kernel.errors import CATEGORIES, Fail

# Words that the contract does not have; its clients see an internal error.
OURS = {
    "plan_changed",
    "store_unavailable",
    "store_login_refused",
    "store_access_refused",
    "store_missing",
    "HANDOFF_ARTIFACT_INVALID",
    "HANDOFF_PRESENTATION_MIXED_MEDIA",
    "HANDOFF_REBIND_OVERRIDE_INVALID",
}


def raised_words():
    """Every word that the source writes down where it makes a failure."""
    for path in Path(operable.flow.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("FlowError", "NotAllowed"):
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield first.value


def test_every_word_that_is_raised_is_in_the_table():
    words = set(raised_words())
    assert len(words) > 30
    assert {word for word in words if word not in MEANINGS and not word.startswith("spiffe_")} == OURS


@pytest.mark.parametrize("word", sorted(MEANINGS))
def test_a_word_has_one_type_and_one_place_in_the_taxonomy(word):
    failure = FlowError(word, "no")
    assert isinstance(failure, Fail)
    assert (error_type(word) in TYPES, failure.category in CATEGORIES) == (True, True)
    assert (known_code(word), failure.event()["flow_code"]) == (word, word)
    assert failure.exit_code == CATEGORIES[failure.category][1]


def test_a_word_of_our_own_is_an_internal_error_to_clients_and_exact_to_users():
    failure = FlowError("plan_changed", "something changed", actions=[])
    assert (failure.category, failure.code) == ("conflict", "PLAN_CHANGED")
    hidden = {"code": "internal_error", "error_type": "internal_error", "actions": []}
    assert rpc_error(failure) == {"code": -32603, "message": "Internal error", "data": hidden}


@pytest.mark.parametrize(("code", "category"), sorted(EXACT.items()))
def test_a_restated_failure_keeps_its_exact_code(code, category):
    failure = FlowError("invalid_argument", "no", reported_as=code, a=1).restated("still no", b=2)
    assert (failure.flow_code, failure.code, failure.category) == ("invalid_argument", code, category)
    assert (failure.message, failure.details) == ("still no", {"b": 2})


def test_the_event_of_a_failure_has_its_details_and_never_loses_its_own_members():
    event = FlowError("approval_required", "no", changed=["a"], type="x", code="y").event()
    assert (event["type"], event["code"], event["changed"]) == ("aoi:error", "FLOW_REFUSED", ["a"])
