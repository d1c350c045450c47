"""What errors of real agents mean, as they were seen."""

import pytest

from operable.host.agent_failure import classified, explained
from operable.wire.events import Failure

GEMINI = '{"error":{"code":401,"message":"the key is not valid","status":"UNAUTHENTICATED"}}'


@pytest.mark.parametrize(
    "message, data, words",
    [
        (
            "Internal error",
            {"details": "401 the key is not valid"},
            "Internal error: 401 the key is not valid",
        ),
        ("Internal error", "No previous sessions found", "Internal error: No previous sessions found"),
        ("Internal error.", {"error": {"message": "deep"}}, "Internal error: deep"),
        ("the reason is here", {"message": "the reason"}, "the reason is here"),
        ("", {"reason": "only there"}, "only there"),
        (GEMINI, None, "the key is not valid"),
        ("Internal error", {"details": GEMINI}, "Internal error: the key is not valid"),
        ("Failed", {"details": 7}, "Failed"),
        ("Failed", "x" * 5000, "Failed: " + "x" * 500),
    ],
)
def test_the_reason_is_found_wherever_the_agent_put_it(message, data, words):
    assert explained(message, data) == words


@pytest.mark.parametrize(
    "message, data, code, retryable",
    [
        ("Internal error: 401 the key is not valid", None, "auth_required", False),
        ("401 the key is not valid", None, "auth_required", False),
        ("API Error: 403 forbidden", None, "auth_required", False),
        ("The provider refused access (401): bad key.", None, "auth_required", False),
        ("Internal error", {"detail": {"status": 401}}, "auth_required", False),
        ("Internal error", {"detail": GEMINI}, "auth_required", False),
        ("Invalid API key", None, "auth_required", False),
        ("HTTP 429: too many requests", None, "rate_limited", True),
        ("Rate limit exceeded: slower.", None, "rate_limited", True),
        ("500 the model is broken", None, "model_error", True),
        ("HTTP 400: the request is bad", None, "model_error", False),
        ("line 401 of the file is wrong", None, "agent_error", False),
        ("it took 429.5 ms", None, "agent_error", False),
        ("the tool failed", {"code": -32603}, "agent_error", False),
        ("the tool failed", {"status": True}, "agent_error", False),
    ],
)
def test_its_code_says_who_refused(message, data, code, retryable):
    found = classified(Failure(message, data=data))

    assert (found.code, found.retryable, found.message) == (code, retryable, message)


def test_a_code_that_says_more_is_kept():
    assert classified(Failure("401", "budget_exceeded")).code == "budget_exceeded"


def test_an_error_without_end_is_read_in_bounded_time():
    nested: object = "401"
    for _ in range(10_000):
        nested = {"error": nested}

    assert classified(Failure("x" * 10_000_000, data=nested)).code == "agent_error"
    assert explained("Failed", nested) == "Failed"
