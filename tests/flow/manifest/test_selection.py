"""Which task is meant."""

import pytest

from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from tests.flow.manifests import manifest, shell_task

TWO = {
    "version": "0.2",
    "workflows": [
        {"id": "x", "name": "X", "tasks": [shell_task("a"), shell_task("b")]},
        {"id": "y", "name": "Y", "tasks": [shell_task("a")]},
    ],
}


def test_equal_task_ids_are_told_apart_by_their_workflow():
    assert select(TWO, "a", "y").workflow["name"] == "Y"


@pytest.mark.parametrize(
    "asked, message",
    [
        (("a", None), "Multiple workflows found; specify --workflow. Available: x, y"),
        (("a", "z"), "Workflow not found: z"),
        (("c", "x"), "Task not found: c in workflow x. Available: a, b"),
        (("", "x"), "taskId is required"),
        ((5, "x"), "taskId is required"),
    ],
)
def test_what_cannot_be_found_is_told_with_what_there_is(asked, message):
    with pytest.raises(FlowError) as caught:
        select(TWO, *asked)

    assert (caught.value.flow_code, caught.value.message) == ("invalid_argument", message)


def test_an_invalid_manifest_is_refused_with_its_problems():
    with pytest.raises(FlowError) as caught:
        select({"version": "0.2"}, "a")

    assert caught.value.details["validation"]["errors"]


def test_a_failure_handler_is_a_task_and_the_original_stays_what_it_was():
    original = manifest(shell_task(on_failure={"shell": {"program": "true"}}))
    found = select(original, "a.failure")

    assert found.task["trigger"]["parent"] == "a"
    assert found.original is original
    assert found.source == {"workflow_id": "w", "task_id": "a.failure"}
