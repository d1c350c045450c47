"""One spelling for a JSON value."""

import json
import math
import shutil
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.canonical import canonical_json, digest

JSON = st.recursive(
    # Doubles within ±2**53: `json` reads a larger one back as an integer with other last digits.
    st.none() | st.booleans() | st.integers() | st.floats(-(2.0**53), 2.0**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)

# The samples of RFC 8785, appendix B: the bits of a double and its only spelling.
NUMBERS = """0000000000000000 0
8000000000000000 0
0000000000000001 5e-324
8000000000000001 -5e-324
7fefffffffffffff 1.7976931348623157e+308
ffefffffffffffff -1.7976931348623157e+308
4340000000000000 9007199254740992
c340000000000000 -9007199254740992
4430000000000000 295147905179352830000
44b52d02c7e14af5 9.999999999999997e+22
44b52d02c7e14af6 1e+23
44b52d02c7e14af7 1.0000000000000001e+23
444b1ae4d6e2ef4e 999999999999999700000
444b1ae4d6e2ef4f 999999999999999900000
444b1ae4d6e2ef50 1e+21
3eb0c6f7a0b5ed8c 9.999999999999997e-7
3eb0c6f7a0b5ed8d 0.000001
41b3de4355555553 333333333.3333332
41b3de4355555554 333333333.33333325
41b3de4355555555 333333333.3333333
41b3de4355555556 333333333.3333334
41b3de4355555557 333333333.33333343
becbf647612f3696 -0.0000033333333333333333
43143ff3c1cb0959 1424953923781206.2"""


@pytest.mark.parametrize("sample", NUMBERS.splitlines())
def test_doubles_are_written_as_rfc_8785_shows(sample):
    bits, expected = sample.split()
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value) == expected.encode()


def test_keys_are_sorted_by_utf_16_code_units():
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7}
    assert list(json.loads(canonical_json(value))) == [
        "\r",
        "1",
        "\x80",
        "\xf6",
        "\u20ac",
        "\U0001f600",
        "\ufb33",
    ]


def test_strings_are_escaped_no_more_than_needed():
    assert (
        canonical_json('\u20ac$\x0f\nA\'B"\\"/\x7f\u2028')
        == b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\"/\x7f\xe2\x80\xa8"'
    )


def test_large_integers_stay_exact():
    assert canonical_json(2**64 + 1) == b"18446744073709551617"
    assert digest(2**53) != digest(2**53 + 1)


def test_equal_numbers_have_one_spelling():
    assert canonical_json([1, 1.0, -0.0, 0, 100.0]) == b"[1,1,0,0,100]"


def test_empty_containers_and_tuples_are_written():
    assert (
        canonical_json({"a": [], "b": {}, "c": (1, None, True, False)})
        == b'{"a":[],"b":{},"c":[1,null,true,false]}'
    )


@given(JSON)
def test_the_spelling_reads_back_as_the_same_value(value):
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=5))
def test_the_order_of_keys_does_not_matter(value):
    assert digest(value) == digest(dict(reversed(value.items())))


@given(JSON)
def test_spelling_a_read_back_value_again_changes_nothing(value):
    # Beyond 2**53 a double may spell like an integer; reading it gives that integer, whose spelling is the same.
    once = canonical_json(value)
    assert canonical_json(json.loads(once)) == once


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_survive_to_the_last_bit(value):
    assert float(canonical_json(value)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan], "\ud800", {"\udfff": 1}])
def test_what_json_cannot_say_is_a_value_error(value):
    with pytest.raises(ValueError, match=r"NaN|surrogate"):
        canonical_json(value)


@pytest.mark.parametrize("value", [b"x", {1: 2}, {None: 1}, object(), {1, 2}])
def test_other_types_are_a_type_error(value):
    with pytest.raises(TypeError):
        canonical_json(value)


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_endless_nesting_is_a_value_error(wrap):
    deep: object = 1
    for _ in range(100_000):
        deep = wrap(deep)
    with pytest.raises(ValueError, match="nested deeper"):
        canonical_json(deep)


def test_the_digest_is_sha_256_of_the_spelling():
    expected = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert digest({}) == expected
    if program := shutil.which("sha256sum"):
        done = subprocess.run([program], input=b"{}", capture_output=True, check=True, timeout=200)
        assert done.stdout.decode().split()[0] == expected.removeprefix("sha256:")


def test_a_digest_loads_neither_json_nor_hashlib():
    script = (
        "import sys; from operable.kernel.canonical import digest; digest({'a': 1.5});"
        "print(*sorted({'re', 'typing', 'json', 'hashlib', 'enum'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stdout.strip() == ""
