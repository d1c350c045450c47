"""Lines to events: what each line is, told exactly, whatever its neighbours."""

import msgspec
import pytest

from operable.kernel.errors import Fail
from operable.wire.decode import LineDecoder, Offence, is_object
from operable.wire.framework import Hit, Meta, Summary
from tests.requirement import requirement


class Found(msgspec.Struct, tag_field="type", tag="found"):
    """A caller's type that ignores what it does not know."""

    rank: int
    detail: msgspec.Raw = msgspec.Raw(b"null")


class Strict(msgspec.Struct, tag_field="type", tag="strict", forbid_unknown_fields=True):
    """A caller's type that does not."""

    rank: int = 0


DECODERS = {"plain": LineDecoder(), "typed": LineDecoder((Found, Strict, Hit))}


@pytest.fixture(params=DECODERS)
def decoder(request):
    return DECODERS[request.param]


def offence(decoder, line):
    with pytest.raises(Offence) as caught:
        decoder.decode(line)
    # A line that the exact path refuses never gets through in a batch, neither alone nor in company.
    for batch in ([line], [b'{"type":"a"}', line]):
        values = decoder.batch(batch)
        if values is not None:
            with pytest.raises(Offence):
                decoder.shape(values[0][-1])
    return caught.value.code


@requirement("aoi:2:one-object-per-line", "aoi:2:utf8-jsonl")
@pytest.mark.parametrize(
    "line, code",
    [
        (b"", "BLANK_LINE"),
        (b" \t\r", "BLANK_LINE"),
        (b"Searching...", "NOT_JSON"),
        (b'\x1b[32m{"type":"a"}\x1b[0m', "NOT_JSON"),
        (b'{"type":"a"', "NOT_JSON"),
        (b'"x":1}', "NOT_JSON"),
        (b'{"type":"a"} {"type":"b"}', "NOT_JSON"),
        (b'{"type":"a"},{"type":"b"}', "NOT_JSON"),
        (b'{"type":"a"}{"type":"b"}', "NOT_JSON"),
        (b"{'type':'a'}", "NOT_JSON"),
        (b'{"type":"a",}', "NOT_JSON"),
        (b'{"type":"a","x":NaN}', "NOT_JSON"),
        (b'{"type":"a","x":Infinity}', "NOT_JSON"),
        (b'{"type":"a","x":1e400}', "NUMBER_OUT_OF_RANGE"),
        (b'{"type":"a","x":' + b"9" * 5000 + b"}", "NUMBER_OUT_OF_RANGE"),
        (b'{"type":"a","x":"\\ud800"}', "LONE_SURROGATE"),
        (b'{"type":"a","x":"\\udc00\\ud800"}', "LONE_SURROGATE"),
        (b'{"type":"a","\\ud800x":1}', "LONE_SURROGATE"),
        (b'{"type":"a","x":"\\ud800",}', "NOT_JSON"),
        (b'{"type":"a","x":"tab\there"}', "NOT_JSON"),
        (b'{"type":"a","x":"cr\rhere"}', "NOT_JSON"),
        (b'\xef\xbb\xbf{"type":"a"}', "BYTE_ORDER_MARK"),
        (b'{"type":"a"}\0', "NUL_BYTE"),
        (b'{"type":"a","x":"\0"}', "NUL_BYTE"),
        (b'{"type":"a","x":"\xff"}', "INVALID_UTF8"),
        (b'{"type":"a","\xc3":1}', "INVALID_UTF8"),
        (b'{"type":"a","x":"\xed\xa0\x80"}', "INVALID_UTF8"),
        (b"caf\xe9", "INVALID_UTF8"),
        (b'{"type":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "NESTED_TOO_DEEP"),
        (b"[1]", "NOT_AN_OBJECT"),
        (b'"type"', "NOT_AN_OBJECT"),
        (b"null", "NOT_AN_OBJECT"),
        (b'[{"type":"a"}]', "NOT_AN_OBJECT"),
    ],
)
def test_a_line_that_is_not_one_json_object_has_its_own_code(decoder, line, code):
    assert offence(decoder, line) == code


@requirement("aoi:2:type-required")
@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b'{"Type":"a"}',
        b'{"type":""}',
        b'{"type":1}',
        b'{"type":null}',
        b'{"type":["a"]}',
        b'{"type":{}}',
    ],
)
def test_an_object_without_a_type_is_no_event(decoder, line):
    assert offence(decoder, line) == "NO_TYPE"


@requirement("aoi:13:unknown-types-ignored", "aoi:8.2:no-aliases")
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"created","id":"n1"}',
        b'{"id":"n1","type":"created"}',
        b' {"type" : "created"} \t',
        b'{"type":"aoi:future","ok":"perhaps"}',
        b'{"type":"summary","text":"A summary of the document.","ok":"no"}',
        '{"type":"créé","x":"\ufeff\\u0000 \\ud83d\\ude00"}'.encode(),
        b'{"type":"big","x":[123456789012345678901234567890,-1e300,1.5,true,null]}',
    ],
)
def test_an_event_of_an_unknown_type_stays_plain_json(decoder, line):
    assert decoder.decode(line) == msgspec.json.decode(line)


@requirement("aoi:10.3:output-permissive")
def test_unknown_fields_of_framework_events_are_kept(decoder):
    event = decoder.decode(b'{"type":"aoi:meta","tool":"outline","colour":{"r":1}}')

    assert event == Meta(tool="outline", extra={"colour": {"r": 1}})


def test_a_malformed_framework_event_is_an_offence_that_names_the_field(decoder):
    with pytest.raises(Offence) as caught:
        decoder.decode(b'{"type":"aoi:summary","ok":"yes"}')

    assert caught.value.code == "MALFORMED_EVENT"
    assert caught.value.detail == "aoi:summary: `ok`: Expected `bool`, got `str`"


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"aoi:summary","ok":false,"ok":true}',
        b'{"type":"aoi:warning","ok":true,"type":"aoi:summary"}',
        b'{"type":"aoi:summary","type":"aoi:summary","ok":true}',
    ],
)
def test_of_repeated_keys_the_last_wins(decoder, line):
    assert decoder.decode(line) == Summary(ok=True)


def test_the_caller_s_types_are_decoded_and_what_they_skip_is_skipped():
    typed = DECODERS["typed"]

    assert typed.decode(b'{"type":"found","rank":1,"more":[1e400]}') == Found(rank=1)
    assert typed.batch([b'{"type":"found","rank":1}', b'{"rank":2,"type":"found","more":{}}']) == (
        [Found(rank=1), Found(rank=2)],
        [],
    )


def test_an_open_shape_among_the_caller_s_types_keeps_unknown_fields():
    assert DECODERS["typed"].decode(b'{"type":"hit","rank":1,"tags":["a"]}') == Hit(
        rank=1, extra={"tags": ["a"]}
    )


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"found","rank":1,"more":"\xff"}',
        b'{"type":"found","rank":1,"\xff":0}',
        b'{"type":"found","rank":1,"detail":"\xff"}',
    ],
)
def test_invalid_utf8_is_found_even_where_the_caller_s_type_does_not_look(line):
    assert offence(DECODERS["typed"], line) == "INVALID_UTF8"


@requirement("aoi:1.1:schema-governed")
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"found"}',
        b'{"type":"found","rank":"first"}',
        b'{"type":"strict","unknown":1}',
        b'{"type":"created","rank":1,"type":"found"}',
    ],
)
def test_an_event_that_does_not_fit_the_caller_s_type_is_an_offence(line):
    assert offence(DECODERS["typed"], line) == "TYPE_MISMATCH"


def test_a_complaint_that_quotes_the_peer_is_bounded():
    typed = DECODERS["typed"]

    with pytest.raises(Offence) as caught:
        typed.decode(b'{"type":"' + b"x" * 1_000_000 + b'","type":"found"}')

    assert len(caught.value.detail) <= 300


def test_a_batch_points_out_the_framework_s_events_and_their_namesakes():
    lines = [
        b'{"type":"a"}',
        b'{"type":"aoi:meta"}',
        b'{"type":"b"}',
        b'{"type":"error"}',
        b'{"type":"aoi:x"}',
    ]

    values, places = DECODERS["plain"].batch(lines) or ([], [])

    assert values == [msgspec.json.decode(line) for line in lines]
    assert places == [1, 3, 4]
    assert DECODERS["typed"].batch([b'{"type":"strict"}', b'{"type":"aoi:meta"}']) == (
        [Strict(), Meta()],
        [1],
    )


def test_a_batch_with_one_line_that_needs_a_closer_look_is_left_to_the_exact_path():
    assert DECODERS["typed"].batch([b'{"type":"strict"}', b'{"type":"unknown"}']) is None


@pytest.mark.parametrize(
    "kind",
    [
        msgspec.defstruct("Untagged", ["a"]),
        msgspec.defstruct("Other", ["a"], tag_field="kind", tag="other"),
        msgspec.defstruct("Numbered", ["a"], tag_field="type", tag=3),
        msgspec.defstruct("Listed", ["a"], tag_field="type", tag="listed", array_like=True),
    ],
)
def test_a_type_that_cannot_be_an_event_is_the_caller_s_mistake(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} is not an event type"):
        LineDecoder((kind,))


@requirement("aoi:8.2:framework-names-reserved")
@pytest.mark.parametrize("tag", ["summary", "aoi:meta", "aoi:own"])
def test_a_type_with_a_framework_name_is_refused(tag):
    with pytest.raises(Fail, match=tag):
        LineDecoder((msgspec.defstruct("Own", ["a"], tag_field="type", tag=tag),))


@pytest.mark.parametrize(
    "line, complete",
    [(b'{"a":1}', True), (b"[1]", False), (b'{"a"', False), (b"", False), (b"{" * 100_000, False)],
)
def test_only_a_complete_object_is_an_object(line, complete):
    assert is_object(line) is complete
