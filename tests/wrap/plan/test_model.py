"""Plans as typed values: kept and read back they are the same, and every field is declared."""

import marshal

import pytest

from operable.wrap.places import folder_of, names
from operable.wrap.plan.cache import plan_of
from operable.wrap.plan.model import ChangeRule, SandboxPlan, WrapCommandPlan, WrapPlan, plan_from


@pytest.mark.parametrize("name", names())
def test_a_plan_that_was_kept_is_the_plan_that_was_made(name):
    plan = plan_of(folder_of(name))

    again = plan_from(marshal.loads(marshal.dumps(plan.values())))

    assert again == plan
    assert set(plan.values()) <= set(WrapPlan.__annotations__)
    for command in again.commands.values():
        assert set(command.values()) <= set(WrapCommandPlan.__annotations__)
        assert set(command.plan.values()) <= set(ChangeRule.__annotations__)
        for sandbox in (command.sandbox, command.plan_sandbox):
            assert sandbox is None or set(sandbox.values()) <= set(SandboxPlan.__annotations__)


def test_a_plan_does_not_change_and_a_changed_copy_leaves_it_as_it_was():
    rule = ChangeRule(action="remove")

    with pytest.raises(AttributeError, match="a plan does not change"):
        rule.action = "keep"  # type: ignore[misc]
    other = rule.replace(action="keep", target="x")

    assert (rule.action, rule.target) == ("remove", None)
    assert (other.action, other.target) == ("keep", "x")
    assert other != rule
    assert other == ChangeRule(action="keep", target="x")
