"""What is done to a manifest costs twice as much for twice as many tasks, and not four times."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from operable.cli.flow.command import FlowCall
from operable.cli.flow.executions import planned_run
from operable.flow.compile.binding import task_digests
from operable.flow.compile.target import compile_manifest
from operable.flow.graph.model import graph
from operable.flow.manifest.lint import lint
from operable.flow.manifest.validation import validate
from operable.flow.operation import Parameter
from operable.flow.run.caller import Caller
from operable.flow.run.workflow import RunOptions, WorkflowRun
from operable.flow.scheduler.specs import Handoffs
from tests.flow.manifests import manifest, shell_task, triggered
from tests.growth import calls, grows_at_most_linearly


def large(tasks: int, **members: Any) -> dict[str, Any]:
    """A chain of triggers beside as many roots, and a profile for each task."""
    chain = [
        shell_task(f"c{number}", **triggered(f"c{number - 1}"), identity={"ref": f"p{number}"}, **members)
        for number in range(1, tasks)
    ]
    roots = [shell_task(f"r{number}", identity={"ref": f"p{number}"}) for number in range(tasks)]
    profiles = [{"id": f"p{number}", "provider": "none"} for number in range(tasks)]
    return manifest(shell_task("c0"), *chain, *roots, identity_profiles=profiles)


def dangling(tasks: int) -> dict[str, Any]:
    return manifest(*(shell_task(f"task-{number}", **triggered(f"tsak-{number}")) for number in range(tasks)))


def handed_off(value: dict[str, Any]) -> None:
    jobs = compile_manifest(value, "openclaw-scheduler")["jobs"]
    handoffs = Handoffs(value, ambient={}, base="/")
    for job in jobs:
        handoffs.bound(job)


def preview(value: dict[str, Any]) -> None:
    WorkflowRun(value, Caller("/", {}), RunOptions(all_roots=True)).preview()


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(validate, id="validate"),
        pytest.param(lambda value: list(task_digests(value)), id="digests"),
        pytest.param(lint, id="lint"),
        pytest.param(lambda value: compile_manifest(value, "operable"), id="compile"),
        pytest.param(handed_off, id="handoff"),
        pytest.param(lambda value: graph(value, datetime(2026, 1, 1, tzinfo=UTC)), id="graph"),
        pytest.param(preview, id="run --dry-run"),
    ],
)
def test_twice_as_many_tasks_are_twice_the_work(work):
    def of(size: int) -> Any:
        value = large(size)
        return lambda: work(value)

    of(10)()  # what is loaded on first use is not counted
    assert grows_at_most_linearly(of, 60)


def test_the_plan_of_a_run_is_twice_the_work_for_twice_as_many_tasks(tmp_path):
    def of(size: int) -> Any:
        path = tmp_path / f"{size}.json"
        path.write_text(json.dumps(large(size)))
        call = FlowCall("run", ("run",), [(Parameter("manifest"), str(path)), (Parameter("allRoots"), True)])
        return lambda: list(planned_run(call))

    assert len(of(10)()) == 20
    assert grows_at_most_linearly(of, 60)


def test_a_name_that_leads_nowhere_is_compared_with_all_others_a_bounded_number_of_times():
    def of(size: int) -> Any:
        value = dangling(size)
        return lambda: lint(value, ["dangling-name"])

    of(10)()
    few, many = calls(of(400)), calls(of(1600))

    assert many - few < 1200 * 100 + few  # beyond the budget a miss costs a sighting, not 1,600 comparisons


def test_every_name_that_leads_nowhere_is_found_however_many_there_are():
    found = lint(dangling(400), ["dangling-name"])

    assert len(found) == 400
    assert "did you mean task-0" in found[0].hint
    assert found[-1].hint.startswith("known: task-0, task-1")


def test_the_reason_of_a_skipped_task_names_the_task_that_is_disabled_at_every_depth():
    value = large(30)
    value["workflows"][0]["tasks"][0]["enabled"] = False
    run = WorkflowRun(value, Caller("/", {}), RunOptions(root="c0"))

    reasons = [record["reason"] for record in run]

    assert reasons == ["task is disabled", *29 * ['ancestor task "c0" was skipped: task is disabled']]
    assert [task["reason"] for task in run.preview()["tasks"]][1:] == 29 * ['ancestor task "c0" is disabled']
