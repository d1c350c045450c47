"""Trust and contracts."""

import pytest

from operable.flow.errors import FlowError
from operable.flow.trust.levels import enforce_trust


def trust(level, effective=None):
    return {"declared_level": level, "effective_level": effective or level}


def contract(enforcement, required="supervised"):
    return {"required_trust_level": required, "trust_enforcement": enforcement}


@pytest.mark.parametrize(
    "given, message",
    [
        (None, 'Trust level is not declared but contract requires "supervised"'),
        (trust(None, "supervised"), 'Trust level is not declared but contract requires "supervised"'),
        (trust("restricted"), 'Trust level "restricted" is below required "supervised"'),
        (trust("autonomous", "restricted"), 'Trust level "restricted" is below required "supervised"'),
    ],
)
def test_too_little_trust_stops_a_strict_task_and_warns_an_advisory_one(given, message):
    with pytest.raises(FlowError) as caught:
        enforce_trust(contract("strict"), given)
    assert (caught.value.flow_code, str(caught.value)) == ("trust_level_insufficient", message)
    for enforcement in ("advisory", None):
        assert enforce_trust(contract(enforcement), given) == [f"{message} (advisory)"]
    assert enforce_trust(contract("none"), given) == []


@pytest.mark.parametrize("level", ["supervised", "autonomous"])
def test_enough_trust_says_nothing(level):
    assert enforce_trust(contract("strict"), trust(level)) == []
    assert enforce_trust(contract("strict", None), None) == []
