"""Conditions of triggers and handlers: their prefixes, and regular expressions as JavaScript has them."""

import pytest

from tests.flow.manifests import errors, manifest, shell_task, triggered
from tests.requirement import requirement

PREFIX = "must start with contains: or regex:"


def of_a_trigger(condition):
    value = manifest(shell_task(), shell_task("b", **triggered("a", condition=condition)))
    found = errors(value)
    assert {path for path, _ in found} <= {"$.workflows[0].tasks[1].trigger.condition"}
    return [message for _, message in found]


def of_a_handler(condition):
    found = errors(manifest(shell_task(on_failure={"prompt": "x", "condition": condition})))
    assert {path for path, _ in found} <= {"$.workflows[0].tasks[0].on_failure.condition"}
    return [message for _, message in found]


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("judged", [of_a_trigger, of_a_handler])
@pytest.mark.parametrize(
    "condition, found",
    [
        (None, []),
        ("contains:x", []),
        ("contains: x", []),
        ("contains:regex:(", []),
        ("regex:^ok$", []),
        ("regex:a|b ", []),
        ("contains:", ["contains trigger condition cannot be empty"]),
        ("contains:\ufeff\u00a0", ["contains trigger condition cannot be empty"]),
        ("regex: \t", ["regex trigger condition cannot be empty"]),
        ("", ["cannot be empty", PREFIX]),
        ("  ", ["cannot be empty", PREFIX]),
        ("x", [PREFIX]),
        (" contains:x", [PREFIX]),
        ("Contains:x", [PREFIX]),
        ("regexp:x", [PREFIX]),
        ("contains", [PREFIX]),
        ("contains:a\x00", ["contains unsupported control characters"]),
        ("x\x00", ["contains unsupported control characters", PREFIX]),
        (5, ["must be a string"]),
        (["contains:x"], ["must be a string"]),
        (False, ["must be a string"]),
    ],
)
def test_a_condition_has_a_prefix_and_a_text(judged, condition, found):
    assert judged(condition) == found


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("source", ["(?<n>a)", r"\/", "[^]", "a{,3}", r"\d$", "a{", "]", r"(?=a)", r"(?<!a)b", r"(a)\2"])  # fmt: skip
def test_expressions_of_javascript_are_accepted(source):
    assert of_a_trigger(f"regex:{source}") == of_a_handler(f"regex:{source}") == []


@requirement("agentcli:validation:conditions")
@pytest.mark.parametrize("source", ["(", ")", "[", "*", "a**", "(?i)x", "(?P<n>a)", "[b-a]", "a{2,1}"])
def test_what_is_none_there_is_refused_in_the_words_of_the_engine(source):
    for judged in (of_a_trigger, of_a_handler):
        [message] = judged(f"regex:{source}")
        assert message.startswith("invalid regex: ")
        assert len(message) > len("invalid regex: ")
