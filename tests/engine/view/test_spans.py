"""Spans reach a real collector: an OTLP server on loopback that keeps what a worker sends."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from operable.engine.view.spans import open_spans, span_id_of, trace_id_of
from tests.cli.drive import running
from tests.engine.manifests import task
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
                assert service["service.name"] == "operable-engine"
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


def test_runs_and_attempts_are_spans_of_one_trace_and_triggers_are_links(tmp_path: Path) -> None:
    engine = Engine(
        tmp_path,
        task("a", "sh", "-c", "exit 3"),
        task("b", "true", trigger={"parent": "a", "on": "failure"}),
    )
    run = engine.trigger("a")
    with collector() as (address, spans):
        env = {**engine.environment, "OTEL_EXPORTER_OTLP_ENDPOINT": address, "NO_PROXY": "127.0.0.1"}
        with running("engine", "start", "--until-idle", env=env, cwd=tmp_path) as worker:
            assert worker.process.wait(120) == 0
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
