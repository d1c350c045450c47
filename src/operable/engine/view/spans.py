"""Spans of runs, attempts, turns of agents and their tool calls for OpenTelemetry, where the user has an exporter.

`operable.gate.spans` says whether there is a collector, and sends.

The ids of a trace and of its spans follow from the run. So an attempt that one worker made and the end that another
recorded are one trace, and `trace_id_of` says which, without a lookup. A triggered run is a trace of its own, with a link.
Whether a trace is sampled is decided once, about the run: a part of a trace is of no use.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any

from operable.engine.lifecycle.identifiers import span_id_of, trace_id_of
from operable.engine.lifecycle.states import OUTCOMES
from operable.engine.store.rows import Definition, Run
from operable.engine.view.attempt_trace import AttemptTrace, TracedCall, TracedTurn
from operable.gate.spans import names_collector, open_provider
from operable.wire.events import COMPLETED

_MILLISECOND = 1_000_000  # in nanoseconds, the unit of spans
_CALL_ID = 200  # characters
_FLUSH = 5_000  # milliseconds that the last spans have when a worker ends


def open_spans(environment: Mapping[str, str]) -> "RunSpans | None":
    """Returns None if no collector is configured. Raises Fail if one is, and the SDK is not installed."""
    return RunSpans() if names_collector(environment) else None


class RunSpans:
    """Writes spans of what has ended. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._ids = _ChosenIds()
        self._provider = open_provider("operable-engine", self._ids)
        self._tracer = self._provider.get_tracer("operable.engine")

    def attempt(
        self, run: Run, number: int, definition: Definition, times: tuple[int, int], end: Any
    ) -> None:
        """One attempt that ended, as a child of its run. Times are milliseconds; `end` is an `AttemptEnd`."""
        attributes = {
            "operable.run_id": run.run_id,
            "operable.attempt": number,
            "operable.state": str(end.state),
            "process.exit.code": end.exit_code,
        }
        name = f"attempt {number} of {definition.document['name']}"
        failed = None if end.state == "succeeded" else str(end.reason or end.state)
        nanoseconds = times[0] * _MILLISECOND, times[1] * _MILLISECOND
        key = f"{run.run_id}#{number}"
        self._write(name, run.run_id, key, nanoseconds, attributes, failed=failed, under=run.run_id)

    def turns(self, trace: AttemptTrace) -> None:
        """The turns of an attempt's agent, and below each its tool calls. The names are those of OpenTelemetry."""
        now = time.time_ns()
        for index, turn in enumerate(trace.turns, 1):
            key, ended = f"{trace.key}/{index}", turn.ended or now
            self._write(
                f"invoke_agent {turn.agent}",
                trace.run_id,
                key,
                (turn.began, ended),
                _turn_attributes(turn),
                failed=None if turn.reason == COMPLETED else turn.reason or "it did not end",
                under=trace.key,
            )
            for number, call in enumerate(turn.calls.values(), 1):
                self._write(
                    f"execute_tool {call.name}",
                    trace.run_id,
                    f"{key}/{number}",
                    (call.began, call.ended or ended),
                    _call_attributes(call),
                    failed="it has no result" if call.ended is None else call.failed,
                    under=key,
                )

    def is_sampled(self, run_id: str) -> bool:
        """Whether the trace of a run is recorded, as OTEL_TRACES_SAMPLER says."""
        decided = self._provider.sampler.should_sample(None, int(trace_id_of(run_id), 16), "run")
        return bool(decided.decision.is_sampled())

    def run(self, run: Run, definition: Definition) -> None:
        """One run that ended."""
        attributes = {
            "operable.run_id": run.run_id,
            "operable.job": definition.label,
            "operable.state": str(run.state),
            "operable.cause": str(run.cause),
            "operable.attempts": run.attempts,
        }
        failed = str(run.reason or run.state) if OUTCOMES.get(run.state) == "failure" else None
        times = run.created_at * _MILLISECOND, (run.ended_at or run.changed_at) * _MILLISECOND
        name = str(definition.document["name"])
        self._write(
            name, run.run_id, run.run_id, times, attributes, failed=failed, triggered_by=run.parent_run_id
        )

    def close(self) -> None:
        self._provider.force_flush(_FLUSH)
        self._provider.shutdown()

    def _write(
        self,
        name: str,
        run_id: str,
        key: str,
        times: tuple[int, int],
        attributes: Mapping[str, Any],
        *,
        failed: str | None,
        under: str | None = None,
        triggered_by: str | None = None,
    ) -> None:
        """`key` is what the span's id follows from, `under` the key of its parent. Times are nanoseconds."""
        from opentelemetry import trace

        context = None if under is None else trace.set_span_in_context(self._remote(run_id, under))
        links = (
            [trace.Link(self._remote(triggered_by, triggered_by).get_span_context())] if triggered_by else []
        )
        self._ids.choose(trace_id_of(run_id), span_id_of(key))
        span = self._tracer.start_span(
            name,
            context=context,
            start_time=times[0],
            attributes={name: value for name, value in attributes.items() if value is not None},
            links=links,
        )
        if failed is not None:
            span.set_status(trace.Status(trace.StatusCode.ERROR, failed))
        span.end(end_time=max(times))

    def _remote(self, run_id: str, key: str) -> Any:
        """A span of a run, which another worker may write, or has written."""
        from opentelemetry import trace

        flags = trace.TraceFlags(
            trace.TraceFlags.SAMPLED if self.is_sampled(run_id) else trace.TraceFlags.DEFAULT
        )
        ids = int(trace_id_of(run_id), 16), int(span_id_of(key), 16)
        return trace.NonRecordingSpan(trace.SpanContext(*ids, is_remote=True, trace_flags=flags))


def _turn_attributes(turn: TracedTurn) -> dict[str, Any]:
    usage = turn.usage
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": turn.agent,
        "gen_ai.response.finish_reasons": None if turn.reason is None else (turn.reason,),
        "gen_ai.usage.input_tokens": None if usage is None else usage.input_tokens,
        "gen_ai.usage.output_tokens": None if usage is None else usage.output_tokens,
        "operable.cost_usd": None if usage is None else usage.cost_usd,
        "operable.tool_calls": turn.count,
    }


def _call_attributes(call: TracedCall) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.call_id[:_CALL_ID],
        "operable.tool.kind": call.kind,
    }


class _ChosenIds:
    """The ids of the next span of this thread."""

    def __init__(self) -> None:
        self._next = threading.local()

    def choose(self, trace_id: str, span_id: str) -> None:
        self._next.trace_id, self._next.span_id = int(trace_id, 16), int(span_id, 16)

    def generate_trace_id(self) -> int:
        return int(self._next.trace_id)

    def generate_span_id(self) -> int:
        return int(self._next.span_id)

    def is_trace_id_random(self) -> bool:
        return False
