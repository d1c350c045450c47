"""Flows and runs of the engine: what is applied, how it ran, and requests for runs."""

import asyncio
from typing import Annotated, Any

import msgspec

from operable.engine.store.rows import Definition
from operable.gate.call_gate import CallAdmission
from operable.serve import flow_view
from operable.serve.flow_call import trigger_call
from operable.serve.flow_view import FlowDetail, FlowSummary, RunDetail, RunView
from operable.serve.http.caller import caller_id
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall

Count = Annotated[int, msgspec.Meta(ge=1, le=500)]


class FlowList(msgspec.Struct, frozen=True):
    flows: list[FlowSummary]


class RunsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`job` is the id of a job."""

    job: str | None = None
    state: str | None = None
    limit: Count = 50


class RunList(msgspec.Struct, frozen=True):
    """Newest first."""

    runs: list[RunView]


class Trigger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`key`: what makes this request the same as an earlier one."""

    key: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None


async def list_flows(call: RouteCall[NoQuery, None]) -> FlowList:
    del call
    return FlowList(await asyncio.to_thread(lambda: flow_view.list_flows(flow_view.default_place())))


async def show_flow(call: RouteCall[NoQuery, None]) -> FlowDetail:
    flow_id = call.path["id"]
    return await asyncio.to_thread(lambda: flow_view.find_flow(flow_view.default_place(), flow_id))


async def list_runs(call: RouteCall[RunsQuery, None]) -> RunList:
    query = call.query
    return RunList(
        await asyncio.to_thread(
            lambda: flow_view.list_runs(
                flow_view.default_place(), job=query.job, state=query.state, limit=query.limit
            )
        )
    )


async def show_run(call: RouteCall[NoQuery, None]) -> RunDetail:
    run_id = call.path["id"]
    return await asyncio.to_thread(lambda: flow_view.find_run(flow_view.default_place(), run_id))


async def trigger_job(call: RouteCall[NoQuery, Trigger]) -> RunView:
    job_id, key, place = call.path["id"], call.body.key, flow_view.default_place()
    job = await asyncio.to_thread(flow_view.find_job, place, job_id)
    async with await _admitted(call, job, key) as admission:
        return await asyncio.to_thread(flow_view.trigger_job, place, job_id, key, admission.call)


async def retry_run(call: RouteCall[NoQuery, None]) -> RunView:
    run_id, place = call.path["id"], flow_view.default_place()
    job = await asyncio.to_thread(flow_view.find_job_of, place, run_id)
    async with await _admitted(call, job, None) as admission:
        return await asyncio.to_thread(flow_view.retry_run, place, run_id, admission.call)


async def _admitted(call: RouteCall[Any, Any], job: Definition, key: str | None) -> CallAdmission:
    """The call `flow/WORKFLOW/TASK/trigger`, as the catalog has it. Raises Fail if a rule or a person refuses it."""
    return await call.daemon.gate.admit(trigger_call(caller_id(call.identity), job, key))


async def cancel_run(call: RouteCall[NoQuery, None]) -> RunView:
    run_id, by = call.path["id"], call.identity.name
    return await asyncio.to_thread(lambda: flow_view.cancel_run(flow_view.default_place(), run_id, by))


_RUN = {400: ("RUN_AMBIGUOUS",), 404: ("RUN_NOT_FOUND",)}
ROUTES = (
    HttpRoute("GET", "/flows", "listFlows", "The applied flows.", "read", list_flows, FlowList),
    HttpRoute(
        "GET",
        "/flows/{id}",
        "getFlow",
        "One flow: its tasks, what triggers what, their last runs.",
        "read",
        show_flow,
        FlowDetail,
        errors={404: ("FLOW_NOT_FOUND",)},
    ),
    HttpRoute("GET", "/runs", "listRuns", "Runs, newest first.", "read", list_runs, RunList, query=RunsQuery),
    HttpRoute(
        "GET",
        "/runs/{id}",
        "getRun",
        "One run: its states over time, and its output.",
        "read",
        show_run,
        RunDetail,
        errors=_RUN,
    ),
    HttpRoute(
        "POST",
        "/jobs/{id}/trigger",
        "triggerJob",
        "Run a job now; it passes every gate of the job.",
        "prompt",
        trigger_job,
        RunView,
        body=Trigger,
        status=201,
        errors={
            403: ("CALL_DENIED", "CALL_UNANSWERED"),
            404: ("JOB_NOT_FOUND",),
            409: ("CALL_CHANGED",),
        },
    ),
    HttpRoute(
        "POST",
        "/runs/{id}/retry",
        "retryRun",
        "Run the job of a run again.",
        "prompt",
        retry_run,
        RunView,
        status=201,
        errors={**_RUN, 403: ("CALL_DENIED", "CALL_UNANSWERED"), 409: ("RUN_STATE_CONFLICT", "CALL_CHANGED")},
    ),
    HttpRoute(
        "POST",
        "/runs/{id}/cancel",
        "cancelRun",
        "Cancel a run; its processes are ended.",
        "prompt",
        cancel_run,
        RunView,
        errors={**_RUN, 409: ("RUN_STATE_CONFLICT",)},
    ),
)
