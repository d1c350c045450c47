"""A call at the gate is a span, where the user has a collector: a real one, on loopback."""

import sys

import pytest

from operable.gate.spans import names_collector
from tests.cli.drive import operable, running
from tests.engine.view.test_spans import collector

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def called(tmp_path, address, *words):
    """An operable command with this collector, in a process of its own; its exit status."""
    env = {
        "OPERABLE_HOME": str(tmp_path / "home"),
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "NO_PROXY": "127.0.0.1",
        "TRACEPARENT": f"00-{TRACE}-{PARENT}-01",
    }
    with running(*words, env=env, cwd=tmp_path) as process:
        process.process.communicate(timeout=120)
        return process.process.returncode


def attributes(span):
    return {each.key: each.value.string_value for each in span.attributes}


@pytest.fixture
def project(tmp_path):
    from tests.app.making import made

    (tmp_path / ".git").mkdir()
    made(tmp_path / "apps" / "one", "say(words)")
    return tmp_path


def rules(project, text):
    config = project / "home" / "config"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(text)


def test_a_call_is_a_span_below_the_trace_of_its_environment_and_has_no_arguments(project):
    rules(project, 'allow = ["app/one/*"]\n')
    with collector() as (address, spans):
        assert called(project, address, "app", "approve", "one") == 0
        assert called(project, address, "app", "call", "one", "--", "list", "a-secret-word") == 0

    (span,) = spans
    assert span.name.startswith("execute_tool app/one")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    facts = attributes(span)
    assert facts["gen_ai.operation.name"] == "execute_tool"
    assert facts["operable.caller"].startswith("person:")
    assert facts["operable.code"] == "OK"
    assert "a-secret-word" not in str(span)
    assert span.end_time_unix_nano > span.start_time_unix_nano


def test_a_call_that_a_rule_refuses_is_a_span_with_an_error(project):
    rules(project, 'deny = [{ pattern = "app/one/*", reason = "not this one" }]\n')
    with collector() as (address, spans):
        assert called(project, address, "app", "approve", "one") == 0
        assert called(project, address, "app", "call", "one", "--", "list") == 77

    (span,) = spans
    assert attributes(span)["operable.code"] == "CALL_DENIED"
    assert span.status.code == span.status.STATUS_CODE_ERROR


def test_a_collector_that_is_not_there_costs_seconds_and_no_call(project):
    rules(project, 'allow = ["app/one/*"]\n')
    assert called(project, "http://127.0.0.1:9", "app", "approve", "one") == 0
    assert called(project, "http://127.0.0.1:9", "app", "call", "one", "--", "list") == 0


def test_without_a_collector_nothing_of_the_sdk_is_loaded():
    import subprocess

    line = (
        "import sys; from operable.gate.call_gate import CallGate; from operable.gate.spans import call_spans; "
        "assert call_spans() is None; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", line], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "variables, wanted",
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_standard_variables_say_whether_spans_are_wanted(variables, wanted):
    assert names_collector(variables) is wanted


def test_doctor_says_whether_spans_can_be_sent(tmp_path):
    env = {"OPERABLE_HOME": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    found = {
        event["name"]: event for event in operable("doctor", env=env).events if event["type"] == "aoi:check"
    }
    without = {event["name"]: event for event in operable("doctor").events if event["type"] == "aoi:check"}

    assert (found["tracing"]["ok"], without["tracing"]["ok"]) == (True, True)
    assert found["tracing"]["detail"] != without["tracing"]["detail"]
