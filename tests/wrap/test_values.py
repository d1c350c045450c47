"""JSON values out of any chunks: all of them, whole, once."""

import json
from binascii import a2b_base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.wrap.values import Values, decode

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def fed(raw: bytes, cuts: list[int], *, inside: bool) -> tuple[list[bytes], bool]:
    values, found, start = Values(1 << 20, inside=inside), [], 0
    for cut in [*sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]:
        found += values.feed(raw[start:cut])
        start = cut
    rest, whole = values.eof()
    return [*found, *rest], whole


@given(
    values=st.lists(documents, max_size=5),
    cuts=st.lists(st.integers(0, 10_000)),
    indent=st.sampled_from([None, 2]),
)
def test_the_elements_of_an_array_come_out_whatever_the_chunks_are(values, cuts, indent):
    raw = json.dumps(values, indent=indent, ensure_ascii=False).encode()

    found, whole = fed(raw, cuts, inside=True)

    assert (list(map(decode, found)), whole) == (values, True)


@given(
    values=st.lists(st.dictionaries(st.text(), documents, max_size=3), max_size=4),
    cuts=st.lists(st.integers(0, 10_000)),
    indent=st.sampled_from([None, 2]),
)
def test_objects_one_after_another_come_out_whatever_the_chunks_are(values, cuts, indent):
    raw = "\n".join(json.dumps(value, indent=indent, ensure_ascii=False) for value in values).encode()

    found, whole = fed(raw, cuts, inside=True)

    assert (list(map(decode, found)), whole) == (values, True)


@pytest.mark.parametrize("raw", [b'{"a": [1', b"[1, 2", b'["abc', b'{"a":"\\'])
def test_what_is_never_closed_is_not_whole(raw):
    assert fed(raw, [], inside=True)[1] is False


def test_a_value_without_end_is_refused():
    values = Values(1000)
    values.feed(b'{"a": "' + b"x" * 900)

    with pytest.raises(OverflowError):
        values.feed(b"x" * 900)


def test_each_of_many_values_may_be_as_long_as_the_limit():
    values = Values(4, inside=False)

    for _ in range(3):
        assert values.feed(b'{"a"') == []
        assert values.feed(b":1}") == [b'{"a":1}']


def test_text_between_objects_comes_out_by_itself():
    found, whole = fed(b'Warning: no config\n{"a": 1}\nDone.\n', [], inside=True)

    assert (found, whole) == ([b"Warning: no config", b'{"a": 1}', b"Done."], True)


@pytest.mark.parametrize("raw", [b"NaN", b"1e400", b'"\xff"', b"{'a': 1}", b"[1,]", b"[" * 10_000])
def test_what_is_no_exact_json_is_refused(raw):
    with pytest.raises(ValueError, match=r"."):
        decode(raw)


def test_bytes_that_are_no_text_stand_beside_it_and_control_characters_are_read():
    """As `ip -j link` prints an interface with such a name."""
    assert decode(b'{"name":"a\xff\x01","in":[{"n":"\xfe"}],"list":["x","\xfd"],"ok":"\xc3\xa9"}') == {
        "name": "a\ufffd\x01",
        "name_b64": "Yf8B",
        "in": [{"n": "\ufffd", "n_b64": "/g=="}],
        "list": ["x", "\ufffd"],
        "list_b64": ["eA==", "/Q=="],
        "ok": "\u00e9",
    }


@pytest.mark.parametrize(
    "raw",
    [
        b'{"\xff": 1}',
        b'{"a": "\xff", "b": "\\udcff"}',
        b'{"a": "\xff", "b": NaN}',
        b'{"a": "\xff", "b": 1e400}',
        b'{"a": ["\xff", 1]}',
        b'{"a": [["\xff"]]}',
        b'["\xff"]',
        b'{"a": "\xff"' + b"[" * 100_000,
    ],
)
def test_bytes_that_cannot_be_told_exactly_are_refused(raw):
    with pytest.raises(ValueError, match=r"."):
        decode(raw)


@given(raw=st.binary(min_size=1).filter(lambda raw: b'"' not in raw and b"\\" not in raw))
def test_any_bytes_of_a_text_come_back(raw):
    value = decode(b'{"a":"' + raw + b'"}')

    assert (a2b_base64(value["a_b64"]) if "a_b64" in value else value["a"].encode()) == raw
