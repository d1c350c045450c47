"""Spans reach a real collector: an OTLP server on loopback that keeps what a worker sends."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from operable.engine.lifecycle.identifiers import span_id_of, trace_id_of
from operable.engine.view.attempt_trace import AttemptTrace
from operable.engine.view.spans import open_spans
from operable.wire.events import ToolCall, ToolResult
from tests.cli.agents import Scene, steps
from tests.cli.drive import running
from tests.engine.manifests import prompt, task
from tests.engine.worker.engines import Engine


@contextmanager
def collector() -> Iterator[tuple[str, list[Any]]]:
    """Its address, and the spans that came."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans: list[Any] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportTraceServiceRequest()
            request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
            for resource in request.resource_spans:
                service = {each.key: each.value.string_value for each in resource.resource.attributes}
                assert service["service.name"] in ("operable-engine", "operable", "a-task")
                spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", spans
        finally:
            server.shutdown()


# A program that joins the trace of its variables, with the SDK that users have.
JOINS = """
import os
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
given = {name.lower(): os.environ[name] for name in ("TRACEPARENT", "TRACESTATE")}
context = TraceContextTextMapPropagator().extract(given)
with provider.get_tracer("task").start_as_current_span("work of the task", context=context):
    pass
provider.shutdown()
"""


def work(engine: Engine, folder: Path, address: str, **more: str) -> None:
    """A worker with this collector, until nothing is left to do."""
    env = {
        **engine.environment,
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "NO_PROXY": "127.0.0.1",
        **more,
    }
    with running("engine", "start", "--until-idle", env=env, cwd=folder) as worker:
        assert worker.process.wait(120) == 0


def test_turns_and_tool_calls_of_an_agent_are_spans_and_a_task_joins_the_trace(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "agents")
    scene.user()
    secret = "a-secret-argument"
    reads = {"call": "Read", "kind": "read", "args": {"path": secret}, "result": secret}
    breaks = {"call": "Search", "kind": "search", "fail": "no"}
    with collector() as (address, spans):
        shell = {
            "program": sys.executable,
            "args": ["-c", JOINS],
            "env": {
                "OTEL_EXPORTER_OTLP_ENDPOINT": address,
                "NO_PROXY": "127.0.0.1",
                "OTEL_SERVICE_NAME": "a-task",
            },
        }
        engine = Engine(
            tmp_path,
            prompt("talks", steps(reads, breaks, {"say": "done"})),
            task("joins", shell=shell, verify={"shell": 'test -n "$TRACEPARENT"'}),
            environment=scene.env,
        )
        talks, joins = engine.trigger("talks"), engine.trigger("joins")
        work(engine, tmp_path, address)
    assert [engine.state(run) for run in (talks, joins)] == ["succeeded", "succeeded"]
    by_name = {span.name: span for span in spans}
    turn = by_name["invoke_agent scripted"]
    assert turn.trace_id.hex() == trace_id_of(talks)
    assert turn.parent_span_id.hex() == span_id_of(f"{talks}#1")
    kept = {each.key: each.value for each in turn.attributes}
    assert kept["gen_ai.agent.name"].string_value == "scripted"
    assert kept["operable.tool_calls"].int_value == 2
    calls = [by_name["execute_tool Read"], by_name["execute_tool Search"]]
    assert {call.parent_span_id for call in calls} == {turn.span_id}
    assert [call.status.message for call in calls] == ["", "failed"]
    for call in calls:
        assert turn.start_time_unix_nano <= call.start_time_unix_nano <= call.end_time_unix_nano
        assert call.end_time_unix_nano <= turn.end_time_unix_nano
    assert secret not in str(spans)
    own = by_name["work of the task"]
    assert own.trace_id.hex() == trace_id_of(joins)
    assert own.parent_span_id.hex() == span_id_of(f"{joins}#1")
    assert own.trace_state == f"operable={joins}#1"


def test_a_trace_that_is_not_sampled_has_no_parts(tmp_path: Path) -> None:
    """With a sampler by ratio a run may be left out; then its attempts and its tasks are as well."""
    engine = Engine(tmp_path, task("says", "printenv", "TRACEPARENT"))
    run = engine.trigger("says")
    with collector() as (address, spans):
        work(
            engine,
            tmp_path,
            address,
            OTEL_TRACES_SAMPLER="parentbased_traceidratio",
            OTEL_TRACES_SAMPLER_ARG="0",
        )
    assert spans == []
    assert engine.outputs(run) == [f"00-{trace_id_of(run)}-{span_id_of(f'{run}#1')}-00\n"]


def test_an_agent_that_calls_tools_without_end_fills_no_memory_and_titles_are_not_names() -> None:
    trace = AttemptTrace("run_1", 1, sampled=True)
    observe = trace.begin_turn("busy")
    for number in range(1500):
        observe(ToolCall("s", f"c{number}", "x" * 500))
    observe(ToolResult("s", "c1400"))
    observe(ToolCall("s", "last", "rm -rf /secret", kind="execute", unnamed=True))
    (turn,) = trace.turns
    assert (len(turn.calls), turn.count) == (1000, 1501)
    assert {len(call.name) for call in turn.calls.values()} == {100}
    trace.begin_turn("terse")(ToolCall("s", "c", "rm -rf /secret", kind="execute", unnamed=True))
    assert trace.turns[1].calls["c"].name == "execute"


def test_runs_and_attempts_are_spans_of_one_trace_and_triggers_are_links(tmp_path: Path) -> None:
    engine = Engine(
        tmp_path,
        task("a", "sh", "-c", "exit 3"),
        task("b", "true", trigger={"parent": "a", "on": "failure"}),
    )
    run = engine.trigger("a")
    with collector() as (address, spans):
        work(engine, tmp_path, address)
    (child,) = engine.runs(parent_run_id=run)
    (shown,) = engine.call("runs", "--job", "flow/a")
    by_id = {span.span_id.hex(): span for span in spans}
    root, attempt, triggered = (by_id[span_id_of(key)] for key in (run, f"{run}#1", child.run_id))
    assert {root.trace_id.hex(), attempt.trace_id.hex()} == {trace_id_of(run)} == {shown["trace_id"]}
    assert attempt.parent_span_id == root.span_id
    assert root.parent_span_id == b""
    assert (root.name, root.status.message, attempt.status.message) == ("a", "exit status 3", "exit status 3")
    assert root.start_time_unix_nano <= attempt.start_time_unix_nano <= attempt.end_time_unix_nano
    assert [link.span_id for link in triggered.links] == [root.span_id]
    assert (triggered.trace_id.hex(), triggered.status.message) == (trace_id_of(child.run_id), "")
    kept = {each.key: each.value for each in attempt.attributes}
    assert (kept["operable.attempt"].int_value, kept["process.exit.code"].int_value) == (1, 3)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_without_a_collector_there_are_no_spans(environment: dict[str, str]) -> None:
    assert open_spans(environment) is None
