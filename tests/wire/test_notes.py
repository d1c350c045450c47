"""Notes: what a stream could do better, never more than a remark."""

from typing import Any

import pytest

from operable.wire.framework import Check, Error, Hit, Meta, Summary
from operable.wire.notes import Note, is_noteworthy, remarks
from tests.requirement import requirement

FULL_META: dict[str, Any] = {
    "tool": "outline",
    "tool_version": "1.8.2",
    "aoi_version": "0.2",
    "schema_name": "com.example.outline.events",
    "schema_version": "1.0.0",
}
FULL_ERROR: dict[str, Any] = {
    "category": "io",
    "code": "DISK_FULL",
    "message": "No space.",
    "retryable": False,
}


def codes(event):
    return [code for code, _ in remarks(event)]


@pytest.mark.parametrize(
    "event",
    [
        Meta(**FULL_META),
        Meta(**FULL_META, args_redacted=True, extra={"args": ["--token", "[redacted]"]}),
        Error(**FULL_ERROR),
        Check(name="db", ok=False),
        Summary(ok=True),
        Hit(),
        {"type": "created"},
        {"type": "aoi:meta"},
    ],
)
def test_there_is_nothing_to_say_about_a_complete_event(event):
    assert codes(event) == []


@requirement("aoi:5:meta-versions")
def test_a_meta_without_recommended_fields_is_remarked_on_with_their_names():
    meta = Meta(tool="outline", schema_name=None)

    assert list(remarks(meta)) == [
        ("META_INCOMPLETE", "aoi:meta lacks tool_version, aoi_version, schema_name, schema_version")
    ]


@requirement("aoi:8.3:meta-no-argv")
@pytest.mark.parametrize("name", ["argv", "env", "environ", "environment", "args"])
def test_a_meta_that_seems_to_echo_arguments_or_environment_is_remarked_on(name):
    assert codes(Meta(**FULL_META, extra={name: ["x"]})) == ["META_ECHOES_ARGUMENTS"]


@requirement("aoi:9:error-fields", "aoi:9:category-mapped")
@pytest.mark.parametrize(
    "changes, code",
    [
        ({"retryable": None}, "ERROR_INCOMPLETE"),
        ({"message": None}, "ERROR_INCOMPLETE"),
        ({"category": "weather"}, "CATEGORY_UNKNOWN"),
        ({"code": "disk-full"}, "CODE_NOT_UPPER_SNAKE"),
        ({"code": "9LIVES"}, "CODE_NOT_UPPER_SNAKE"),
        ({"code": "ÜBER"}, "CODE_NOT_UPPER_SNAKE"),
        ({"code": ""}, "CODE_NOT_UPPER_SNAKE"),
        ({"code": "A-B"}, "CODE_NOT_UPPER_SNAKE"),
    ],
)
def test_an_error_that_portable_consumers_cannot_use_is_remarked_on(changes, code):
    assert codes(Error(**{**FULL_ERROR, **changes})) == [code]


def test_a_check_without_a_result_is_remarked_on():
    assert codes(Check(name="db")) == ["CHECK_INCOMPLETE"]


@pytest.mark.parametrize(
    "name, code", [("summary", "FRAMEWORK_NAME_UNPREFIXED"), ("aoi:future", "FRAMEWORK_TYPE_UNKNOWN")]
)
def test_a_type_that_looks_like_the_framework_s_but_is_not_is_remarked_on(name, code):
    assert codes({"type": name}) == [code]


def test_the_words_of_the_peer_are_quoted_in_moderation():
    ((_, message),) = remarks({"type": "aoi:" + "x" * 10_000_000})

    assert len(message) < 200


@pytest.mark.parametrize("name", ["meta", "aoi:meta", "aoi:future"])
def test_the_framework_s_types_and_their_namesakes_need_a_look(name):
    assert is_noteworthy(name)


def test_a_domain_type_needs_none():
    assert not is_noteworthy("hit")


def test_a_note_reads_with_its_line():
    assert str(Note("CRLF", "lines end with CR LF", 3)) == "line 3: lines end with CR LF"
    assert str(Note("META_MISSING", "there is no aoi:meta")) == "there is no aoi:meta"
