"""What the audit log says of approvals."""

from operable.flow.approve.audit_trail import lost_uses, record_use
from operable.flow.audit.log import append
from tests.growth import calls

SOURCE = {"workflow_id": "w", "task_id": "t"}


def used(name):
    return {"kind": "consume", "approval_id": name, "execution_id": f"e-{name}", "recorded": True}


def test_recent_uses_are_found_at_the_same_cost_in_a_log_of_any_length(tmp_path):
    def of(count):
        path = str(tmp_path / f"audit-{count}")
        for number in range(count):
            record_use(
                path, SOURCE, {"approval_id": f"old-{number}"}, f"e-{number}", "2026-01-01T00:00:00.000Z"
            )
        for name in ("a", "b"):
            record_use(path, SOURCE, {"approval_id": name}, f"e-{name}", "2026-01-01T00:00:00.000Z")
        return lambda: lost_uses(path, [used("a"), used("b")])

    assert of(2)() == []
    assert calls(of(40)) < calls(of(10)) + 20


def test_a_use_that_the_log_does_not_hold_is_lost_and_one_of_another_program_only_if_nothing_is_there(
    tmp_path,
):
    path = str(tmp_path / "audit")
    others = {**used("theirs"), "recorded": None}
    assert lost_uses(path, []) == []
    assert lost_uses(path, [used("a"), others]) == ["a", "theirs"]

    append(path, {"execution_id": "e1"})
    assert lost_uses(path, [used("a"), others]) == ["a"]
    record_use(path, SOURCE, {"approval_id": "a"}, "e-a", "2026-01-01T00:00:00.000Z")
    assert lost_uses(path, [used("a"), others]) == []
