"""Spans for OpenTelemetry: whether the user has a collector, what sends to it, and a span for each call at the gate.

Nothing is imported unless a variable names a collector (`OTEL_EXPORTER_OTLP_ENDPOINT`, or the one for traces). Then the
standard variables decide about the rest: headers, limits, resource, sampling. A collector that does not answer delays
only the end of a process, by seconds: spans are sent by a thread of the SDK, and dropped when its queue is full.

The span of a call has the names of OpenTelemetry for tools (`execute_tool`). It says who called what, for how long and with
which code; never arguments or results. `TRACEPARENT` in the environment of the process is its parent. A user who names a
collector without the extra `otel` has calls without spans, and `operable doctor` says so: a record that is only a view
must not refuse work. The engine's spans (`operable.engine.view.spans`) use the same sender.
"""

import os
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from operable.gate.call import GatedCall
from operable.kernel.errors import Fail

_VARIABLES: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PATIENCE: Final = 3.0  # seconds that one message to the collector may take, where no variable says otherwise
_FLUSH: Final = 5_000  # milliseconds that the last spans have when a process ends
_GOOD: Final = "OK"


def names_collector(environment: Mapping[str, str]) -> bool:
    """Whether spans are wanted."""
    named = any(environment.get(variable) for variable in _VARIABLES)
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return named and not is_off and environment.get("OTEL_TRACES_EXPORTER", "otlp") == "otlp"


def open_provider(service: str, ids: Any = None) -> Any:
    """What makes spans and sends them. Raises Fail if the SDK is not installed. `ids` chooses the ids of spans."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come before this name.
    resource = Resource.create({} if _names_service() else {"service.name": service})
    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    says = {
        name for name in os.environ if name.startswith("OTEL_EXPORTER_OTLP_") and name.endswith("TIMEOUT")
    }
    exporter = OTLPSpanExporter() if says else OTLPSpanExporter(timeout=_PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


@cache
def call_spans() -> "CallSpans | None":
    """Those of this process; None: the user has no collector, or no SDK."""
    if not names_collector(os.environ):
        return None
    try:
        return CallSpans(open_provider("operable"))
    except Fail:
        return None


class CallSpans:
    """Writes spans of calls that have ended. Methods may be called from any thread."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("operable.gate")
        given = {
            name: os.environ[name.upper()]
            for name in ("traceparent", "tracestate")
            if name.upper() in os.environ
        }
        self._context = TraceContextTextMapPropagator().extract(given)

    def ended(self, call: GatedCall, call_id: str, seconds: float, code: str) -> None:
        """One call that took so long, up to now; a refusal takes no time."""
        from opentelemetry.trace import Status, StatusCode

        end = time.time_ns()
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": call_id,
            "operable.caller": str(call.caller),
            "operable.effect": call.effect,
            "operable.code": code,
        }
        begin = end - round(seconds * 1e9)
        span = self._tracer.start_span(
            f"execute_tool {call.tool}", context=self._context, start_time=begin, attributes=attributes
        )
        if code != _GOOD:
            span.set_status(Status(StatusCode.ERROR, code))
        span.end(end_time=end)

    def flush(self) -> None:
        self._provider.force_flush(_FLUSH)


def _names_service() -> bool:
    named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return "OTEL_SERVICE_NAME" in os.environ or "service.name" in named
