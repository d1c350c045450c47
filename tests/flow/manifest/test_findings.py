"""The generic checks of a manifest: what each accepts, and its exact words for what it does not."""

from typing import Any

import pytest

from operable.flow.manifest.findings import Findings
from tests.flow.manifests import NO_LISTS, NO_OBJECTS
from tests.requirement import requirement

CONTROL = "contains unsupported control characters"
IDENTIFIER = "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"
TOKEN = "contains unsupported path or token characters"
NO_TEXTS: list[Any] = [5, True, False, [], {}, ["a"], 1.5]
NO_INTEGERS: list[Any] = [0, 0.0, -1, 1.5, True, "5", [], {}, float("inf")]
NO_NUMBERS: list[Any] = [-1, -0.1, True, "5", [], {}]
NO_BOOLEANS: list[Any] = [0, 1, "true", [], {}]
NO_A_OR_B: list[Any] = ["A", "", "a ", 5, True, [], ["a"], {}]


def found(check, value, *arguments, **options):
    findings = Findings()
    getattr(findings, check)(value, "$.x", *arguments, **options)
    assert {each["path"].partition("[")[0] for each in findings.errors} <= {"$.x"}
    return [each["message"] for each in findings.errors]


@requirement("agentcli:validation:characters")
@pytest.mark.parametrize("check", ["string", "identifier", "token"])
def test_a_text_is_there_if_needed_a_text_and_not_blank(check):
    assert found(check, None) == []
    assert found(check, None, required=True) == ["is required"]
    for wrong in NO_TEXTS:
        assert found(check, wrong, required=True) == ["must be a string"]
    for blank in ("", " ", "\t\n\r\v\f"):
        assert found(check, blank) == ["cannot be empty"]


@requirement("agentcli:validation:characters")
@pytest.mark.parametrize("code", [*range(0x09, 0x0E), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF])  # fmt: skip
def test_blank_is_what_javascript_trims(code):
    assert found("string", chr(code)) == ["cannot be empty"]


@requirement("agentcli:validation:characters")
@pytest.mark.parametrize("character", ["\x85", "\u180e", "\u200b", "\u2060"])
def test_what_only_others_call_blank_is_a_text(character):
    assert found("string", character) == []


@requirement("agentcli:validation:characters")
def test_control_characters_are_refused_but_for_tab_and_line_ends():
    refused = [code for code in range(0x100) if found("string", f"a{chr(code)}") == [CONTROL]]

    assert refused == [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F]
    assert found("string", "\x1f") == [CONTROL]  # Python would strip it
    assert found("string", "a\tb\r\nc") == []


@requirement("agentcli:validation:characters")
def test_identifiers_begin_with_a_letter_or_digit_and_go_on_with_four_more_kinds():
    first = {chr(code) for code in range(0x21, 0x180) if found("identifier", chr(code)) == []}
    later = {chr(code) for code in range(0x21, 0x180) if found("identifier", f"a{chr(code)}") == []}

    alphanumeric = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    assert first == alphanumeric
    assert later == alphanumeric | set("._-")
    assert found("identifier", "a b") == [IDENTIFIER]
    assert found("identifier", "a\n") == [IDENTIFIER]
    assert found("identifier", "a\x01") == [CONTROL, IDENTIFIER]


@requirement("agentcli:validation:characters")
def test_tokens_are_made_of_letters_digits_and_six_marks():
    tokens = {chr(code) for code in range(0x21, 0x180) if found("token", chr(code)) == []}

    assert tokens == set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@:_./-")
    assert found("token", "a b") == [TOKEN]
    assert found("token", "a\n") == [TOKEN]
    assert found("token", "a\x7f") == [CONTROL, TOKEN]


@requirement("agentcli:validation:output-and-contract")
def test_integers_and_numbers_are_those_of_javascript():
    for good in (1, 1.0, 2**60, 5e15):
        assert found("integer", good, 1) == []
    for wrong in NO_INTEGERS:
        assert found("integer", wrong, 1) == ["must be an integer >= 1"]
    assert found("integer", 63, 64) == ["must be an integer >= 64"]
    assert found("integer", 0, 0) == found("integer", None, 1) == []
    for good in (0, 0.0, 0.5, 7):
        assert found("number", good) == []
    for wrong in NO_NUMBERS:
        assert found("number", wrong) == ["must be a number >= 0"]


@requirement("agentcli:validation:output-and-contract")
def test_the_other_checks_have_their_words():
    assert found("boolean", None) == found("boolean", True) == found("boolean", False) == []
    for wrong in NO_BOOLEANS:
        assert found("boolean", wrong) == ["must be a boolean"]
    assert found("enum", "a", ["a", "b"]) == found("enum", None, ["a", "b"]) == []
    assert found("enum", None, ["a", "b"], required=True) == ["is required"]
    for wrong in NO_A_OR_B:
        assert found("enum", wrong, ["a", "b"]) == ["must be one of: a, b"]
    assert found("object", None) == found("object", {}) == []
    for wrong in NO_OBJECTS:
        assert found("object", wrong) == ["must be an object"]
    assert found("array", None) == found("array", []) == []
    for wrong in NO_LISTS:
        assert found("array", wrong) == ["must be an array"]


@requirement("agentcli:validation:profile-sources")
def test_lists_of_texts_are_judged_entry_by_entry():
    assert found("strings", ["a", "a"]) == found("strings", None) == found("unique_strings", ["a", "b"]) == []
    assert found("strings", "a") == found("unique_strings", {}) == ["must be an array"]
    assert found("strings", ["a", "", None, 5]) == ["cannot be empty", "is required", "must be a string"]
    assert found("unique_strings", ["a", "b", "a", " "]) == ["must be unique", "cannot be empty"]
    findings = Findings()
    findings.unique_strings(["a", "b", "a", " "], "$.x")
    assert [each["path"] for each in findings.errors] == ["$.x[2]", "$.x[3]"]
