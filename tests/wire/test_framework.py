"""Framework events and recommended shapes: every field kept, known ones typed, nothing invented."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, ValidationError, defstruct
from msgspec.json import Decoder
from msgspec.structs import fields

from operable.spec import schema
from operable.wire.framework import (
    DEFINED,
    FRAMEWORK,
    Check,
    Entry,
    Error,
    Heartbeat,
    Hit,
    Malformed,
    Match,
    Meta,
    Open,
    Plan,
    Progress,
    Summary,
    Warning,  # noqa: A004
    encode,
    plain,
    shape,
)
from tests.requirement import requirement

SHAPES: dict[str, type[Open]] = {**FRAMEWORK, "entry": Entry, "hit": Hit, "match": Match}

# The events that the specification itself shows, and one of each kind that it only names.
EXAMPLES = """
{"type":"aoi:meta","tool":"outline","tool_version":"1.8.2","aoi_version":"0.2","schema_name":"com.example.outline.events","schema_version":"1.0.0","command":"search"}
{"type":"aoi:meta","command":"search","input_fingerprint":"sha256:00","args_redacted":true}
{"type":"aoi:meta","tool":"outline","command":"import","input_mode":"jsonl","continue_on_error":true}
{"type":"aoi:check","name":"config_file","ok":true,"severity":"info","detail":"found"}
{"type":"aoi:summary","ok":true,"count":42,"warning_count":1,"error_count":0,"partial":false,"truncated":false,"next_cursor":null,"elapsed_ms":384}
{"type":"aoi:summary","ok":false,"reason":"interrupted","partial":true}
{"type":"aoi:summary","ok":true,"count":100,"truncated":true,"next_cursor":"opaque-token"}
{"type":"aoi:error","code":"FILE_NOT_FOUND","category":"not_found","message":"No file exists at path.","retryable":false,"target":"/Files/kubo/missing.md"}
{"type":"aoi:error","category":"authn","code":"INTERACTIVE_REQUIRED","message":"Run it.","retryable":false,"hint":"outline auth login"}
{"type":"aoi:error","category":"validation","code":"INPUT_JSONL_PARSE_ERROR","line_number":17,"message":"Invalid JSON on input line 17","retryable":false}
{"type":"aoi:warning","code":"STALE","message":"The index is old.","trace_id":"t1"}
{"type":"aoi:heartbeat","timestamp":"2026-01-01T00:00:00Z"}
{"type":"aoi:plan","action":"delete","target":"n1","bytes":12}
{"type":"aoi:progress","done":1,"total":2.5,"message":"half"}
{"type":"hit","rank":1,"id":"doc_123","title":"Agent-Operable Tools","snippet":"A conforming tool"}
{"type":"match","path":"a.py","line_number":3,"column":1,"text":"x","submatches":[{"start":0}]}
{"type":"entry","id":"n1","path":"notes/n1"}
""".split("\n")[1:-1]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def known(kind):
    return {info.name for info in fields(kind)} - {"extra"}


@st.composite
def plain_events(draw):
    """Events of all types with any mixture of suitable, unsuitable, unknown and awkwardly named fields."""
    name = draw(st.sampled_from(sorted(SHAPES)))
    names = st.sampled_from([*sorted(known(SHAPES[name])), "extra", "other", ""])
    return {"type": name, **draw(st.dictionaries(names, VALUES, max_size=5))}


@requirement(
    "aoi:8.1:envelope", "aoi:8.3:entry", "aoi:8.3:hit", "aoi:8.3:match", "aoi:8.3:plan", "aoi:8.3:check"
)
@pytest.mark.parametrize("text", EXAMPLES)
def test_every_event_of_the_specification_is_read_and_written_without_loss(text):
    sent = json.loads(text)

    event = shape(SHAPES[sent["type"]], sent)

    assert json.loads(encode(event)) == sent
    assert encode(event).startswith(b'{"type":')
    for name in set(sent) & known(type(event)):
        assert name == "type" or getattr(event, name) == sent[name]


@given(plain_events())
def test_whatever_an_event_carries_is_kept(sent):
    try:
        event = shape(SHAPES[sent["type"]], sent)
    except Malformed:
        assert DEFINED.get(SHAPES[sent["type"]])
    else:
        assert json.loads(encode(event)) == sent
        assert shape(type(event), json.loads(encode(event))) == event


@given(plain_events())
def test_what_msgspec_can_decode_at_once_is_shaped_alike(sent):
    kind = SHAPES[sent["type"]]
    try:
        event = Decoder(kind).decode(json.dumps(sent))
    except ValidationError:
        return

    assert shape(kind, sent) == event


def test_absent_and_null_are_told_apart_and_both_are_false():
    event = shape(Summary, {"type": "aoi:summary", "ok": True, "next_cursor": None})

    assert event == Summary(ok=True, next_cursor=None)
    assert event.next_cursor is None
    assert event.reason is UNSET
    assert not event.partial


def test_a_field_that_is_called_extra_is_kept_like_any_unknown_field():
    event = shape(Meta, {"type": "aoi:meta", "extra": {"a": 1}})

    assert event.extra == {"extra": {"a": 1}}
    assert encode(event) == b'{"type":"aoi:meta","extra":{"a":1}}'


def test_a_known_field_wins_over_an_extra_of_the_same_name():
    assert encode(Meta(tool="outline", extra={"tool": "other"})) == b'{"type":"aoi:meta","tool":"outline"}'


def test_an_event_can_be_had_as_plain_json():
    assert plain(Meta(tool="outline", extra={"a": 1})) == {"type": "aoi:meta", "tool": "outline", "a": 1}
    assert plain(Entry(id="n1")) == {"type": "entry", "id": "n1"}
    assert plain({"type": "created"}) == {"type": "created"}
    assert plain(defstruct("Own", [("a", int)], tag_field="type", tag="own")(1)) == {"type": "own", "a": 1}


def test_a_plain_dict_is_written_as_it_is():
    assert encode({"type": "created", "id": 2**70}) == b'{"type":"created","id":1180591620717411303424}'


@pytest.mark.parametrize(
    "kind, sent, complaint",
    [
        (Summary, {}, "`ok` is missing"),
        (Summary, {"ok": None}, "`ok`: Expected `bool`, got `null`"),
        (Summary, {"ok": "yes"}, "`ok`: Expected `bool`, got `str`"),
        (Summary, {"ok": 1}, "`ok`: Expected `bool`, got `int`"),
        (Summary, {"ok": True, "count": "3"}, "`count`: "),
        (Summary, {"ok": True, "count": 3.5}, "`count`: "),
        (Summary, {"ok": True, "partial": 0}, "`partial`: "),
        (Meta, {"tool": 1}, "`tool`: "),
        (Meta, {"schema_version": 1}, "`schema_version`: "),
        (Meta, {"trace_id": []}, "`trace_id`: "),
        (Error, {"category": ["io"]}, "`category`: "),
        (Error, {"retryable": "no"}, "`retryable`: "),
        (Check, {"ok": "true"}, "`ok`: "),
    ],
)
def test_a_wrong_type_in_a_field_that_the_specification_defines_is_malformed(kind, sent, complaint):
    with pytest.raises(Malformed) as caught:
        shape(kind, {"type": "any", **sent})

    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    "kind, field, value",
    [
        (Meta, "heartbeat_interval", "15s"),
        (Summary, "replayed", "yes"),
        (Error, "retry_after", "tomorrow"),
        (Check, "hint", ["run it"]),
        (Warning, "message", {"en": "old"}),
        (Plan, "target", {"path": "a"}),
        (Progress, "done", "half"),
        (Heartbeat, "timestamp", 1767225600),
        (Entry, "id", 7),
        (Hit, "rank", "first"),
        (Match, "submatches", "a"),
    ],
)
def test_a_value_that_does_not_suit_a_convention_is_kept_as_an_extra(kind, field, value):
    required = {"ok": True} if kind is Summary else {}
    event = shape(kind, {"type": "any", field: value, **required})

    assert getattr(event, field) is UNSET
    assert event.extra == {field: value}


def test_the_types_and_the_published_schema_know_the_same_fields():
    definitions = schema("aoi-events")["$defs"]

    for name, kind in SHAPES.items():
        published = set(definitions[name]["properties"]) - {"type"}
        # Our types also carry the envelope, and what a reader may meet but we never write.
        assert published <= known(kind), name
        assert known(kind) - published <= {"timestamp", "trace_id", "unit", "text"}, name


def test_what_the_specification_defines_are_known_fields():
    for kind, names in DEFINED.items():
        assert names <= known(kind)
