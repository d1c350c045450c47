"""Schema versions: a caller gets the newest version it asked for, or a list of what there is."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.errors import Fail
from operable.tool import Tool
from operable.tool.discovery.versions import negotiate, supported
from tests.requirement import requirement
from tests.tool import notebook
from tests.tool.drive import run

NOTEBOOK = Path(notebook.__file__)


def tool_with(*versions: str) -> Tool:
    tool = Tool("t", version="9.9.9", schema_name="com.example.t", schema_version=versions[-1])
    for version in versions[:-1]:
        tool.older_schema(version, events=[], convert=lambda event: event)
    return tool


TOOL = tool_with("1.0.0", "1.2.0", "1.10.0", "2.0.0-beta", "2.0.0")


def choose(tool: Tool = TOOL, **options: Any) -> str:
    return negotiate(tool, {name.replace("_", "-"): value for name, value in options.items()})[0]


def test_versions_are_listed_by_number_not_by_letter():
    assert supported(TOOL) == ["1.0.0", "1.2.0", "1.10.0", "2.0.0-beta", "2.0.0"]


@requirement("aoi:5.1:several-versions", "aoi:5.1:accept-schema")
@pytest.mark.parametrize(
    ("options", "version"),
    [
        ({}, "2.0.0"),
        ({"schema_version": "1"}, "1.10.0"),
        ({"schema_version": "1.2"}, "1.2.0"),
        ({"schema_version": "1.0.0"}, "1.0.0"),
        ({"schema_version": "2"}, "2.0.0"),
        ({"accept_schema": "com.example.t@1"}, "1.10.0"),
        ({"accept_schema": "com.example.t@2.0"}, "2.0.0"),
        ({"schema_version": "1.0.0", "accept_schema": "com.example.t@1"}, "1.0.0"),
        ({"schema_version": "1", "accept_schema": "com.example.t@1.2"}, "1.2.0"),
    ],
)
def test_the_newest_version_that_fits_is_chosen(options, version):
    assert choose(**options) == version


@pytest.mark.parametrize("wanted", ["3", "1.1", "0", "", "1.0.0.0", "v1", "01", "1.", ".", "latest", "１"])
def test_an_unsupported_version_is_a_usage_error_that_lists_what_there_is(wanted):
    with pytest.raises(Fail) as caught:
        choose(schema_version=wanted)

    refused = caught.value
    assert (refused.category, refused.code, refused.exit_code) == ("usage", "UNSUPPORTED_SCHEMA_VERSION", 64)
    assert refused.details["supported"] == supported(TOOL)
    assert refused.hint == "--schema-version 2.0.0"
    assert "1.0.0, 1.2.0" in refused.message


@pytest.mark.parametrize(
    "accepted", ["com.example.t@3", "com.example.other@1", "com.example.t", "com.example.t@", "@1", "@", ""]
)
def test_a_schema_that_is_not_spoken_is_refused_with_what_is(accepted):
    with pytest.raises(Fail, match=r"has no schema .* supports com\.example\.t in 1\.0\.0") as caught:
        choose(accept_schema=accepted)

    assert caught.value.code == "UNSUPPORTED_SCHEMA_VERSION"


def test_options_that_exclude_each_other_are_a_conflict():
    with pytest.raises(Fail) as caught:
        choose(schema_version="1", accept_schema="com.example.t@2")

    assert (caught.value.category, caught.value.code) == ("usage", "CONFLICTING_OPTIONS")
    assert caught.value.hint


@given(st.none() | st.text(max_size=20), st.none() | st.text(max_size=20) | st.just("com.example.t@1"))
def test_any_wish_is_granted_or_refused_as_usage(wanted, accepted):
    try:
        assert negotiate(TOOL, {"schema-version": wanted, "accept-schema": accepted})[0] in supported(TOOL)
    except Fail as refused:
        assert refused.category == "usage"  # noqa: PT017 - either outcome is right
        assert len(refused.message) < 500  # noqa: PT017


def test_the_converter_belongs_to_the_version_and_the_present_one_has_none():
    assert negotiate(notebook.tool, {"schema-version": "1"})[1] is notebook.to_version_1
    assert negotiate(notebook.tool, {"schema-version": "2.1"}) == ("2.1.0", None)


@requirement("aoi:5.1:several-versions", "aoi:5:three-versions", "aoi:5.2:branch-on-schema")
def test_events_of_an_older_version_are_converted_and_valid_under_its_schema():
    old = run("search", "cats", "--limit", "2", "--schema-version", "1", tool=NOTEBOOK)
    new = run("search", "cats", "--limit", "2", tool=NOTEBOOK)
    schema = run("schema", "--schema-version", "1", output="json", tool=NOTEBOOK)

    assert old.results == [
        {"type": "hit", "rank": 1, "name": "cats 1"},
        {"type": "hit", "rank": 2, "name": "cats 2"},
    ]
    assert "name" not in new.results[0]
    metas = [stream.events[0] for stream in (old, new)]
    assert [meta["schema_version"] for meta in metas] == ["1.0.0", "2.1.0"]
    assert {meta["tool_version"] for meta in metas} == {"2.3.4"}
    assert {meta["aoi_version"] for meta in metas} == {"0.2"}
    validator = jsonschema_rs.validator_for(json.loads(schema.stdout))
    for event in old.events:
        validator.validate(event)
    assert not validator.is_valid(new.results[0])


def test_an_unsupported_version_on_the_command_line_ends_with_the_list_and_without_results():
    refused = run("search", "cats", "--schema-version", "7", tool=NOTEBOOK)

    assert (refused.exit_code, refused.error["code"]) == (64, "UNSUPPORTED_SCHEMA_VERSION")
    assert refused.error["supported"] == ["1.0.0", "2.0.0", "2.1.0"]
    assert refused.results == []
    assert refused.summary["ok"] is False
