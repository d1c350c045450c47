"""What the agentcli command line prints: JSON as JavaScript prints it, lines, colours, errors."""

import json
import re

import pytest

from operable.cli.agentcli.front import error_text, output_format, rendered
from operable.flow.errors import FlowError
from tests.requirement import requirement


@requirement("agentcli:cli:output")
def test_json_has_two_spaces_and_the_numbers_of_javascript():
    assert rendered({"a": [1.0, 2.5, 1e30], "b": {}, "c": "é\u2028"}, "json", pretty=False) == (
        '{\n  "a": [\n    1,\n    2.5,\n    1e+30\n  ],\n  "b": {},\n  "c": "é\u2028"\n}'
    )
    assert rendered(["\ud800"], "json", pretty=False) == '[\n  "\\ud800"\n]'


@requirement("agentcli:cli:output")
@pytest.mark.parametrize(
    "payload, text",
    [
        ({"ok": True, "items": [{"a": 1}, {"b": 2}]}, '{"a":1}\n{"b":2}'),
        ({"ok": True, "items": []}, ""),
        ({"ok": True, "items": None}, '{"ok":true,"items":null}'),
        ([1, 2], "1\n2"),
        ({"ok": True, "records": [1]}, '{"ok":true,"records":[1]}'),
    ],
)
def test_lines_are_one_item_each(payload, text):
    assert rendered(payload, "ndjson", pretty=False) == text


@requirement("agentcli:cli:output")
def test_pretty_colours_keys_strings_words_and_numbers_and_changes_nothing_else():
    value = {"key": ['a "quoted: text', True, False, None, -1.5e-9, {"true": "12"}]}
    text = rendered(value, "json", pretty=True)

    assert [(each[1], each[2]) for each in re.finditer("\x1b\\[([0-9]+)m(.*?)\x1b\\[0m", text)] == [
        ("36", '"key"'), ("32", '"a \\"quoted: text"'), ("33", "true"), ("33", "false"), ("33", "null"), ("35", "-1.5e-9"),
        ("36", '"true"'), ("32", '"12"'),
    ]  # fmt: skip
    assert json.loads(re.sub("\x1b\\[[0-9]+m", "", text)) == value


@requirement("agentcli:cli:output")
def test_flags_win_over_the_environment_and_other_words_are_refused():
    assert output_format(frozenset(), {}) == "json"
    assert output_format(frozenset(), {"AGENTCLI_OUTPUT": "ndjson"}) == "ndjson"
    assert output_format(frozenset({"json"}), {"AGENTCLI_OUTPUT": "ndjson"}) == "json"
    with pytest.raises(FlowError, match="Unknown AGENTCLI_OUTPUT value: xml"):
        output_format(frozenset(), {"AGENTCLI_OUTPUT": "xml"})


@requirement("agentcli:cli:output")
def test_an_error_has_its_type_code_and_validation():
    assert json.loads(error_text(FlowError("no_runtime", "m"))) == {
        "ok": False,
        "error": "m",
        "error_type": "invalid_argument",
        "code": "no_runtime",
    }
    assert json.loads(error_text(FlowError("internal_error", "m", validation={"ok": False}))) == {
        "ok": False,
        "error": "m",
        "error_type": "validation_error",
        "code": "validation_error",
        "validation": {"ok": False},
    }
    assert json.loads(error_text(FlowError("nobody_knows", "m")))["code"] == "internal_error"
    more = json.loads(
        error_text(
            FlowError("contract_violation", "m", violations=[1], validation={"ok": False}, execution_id="e")
        )
    )
    assert list(more) == ["ok", "error", "error_type", "code", "validation", "violations", "execution_id"]
