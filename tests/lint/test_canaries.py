import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.lint.checks.leaked_secret import canary, leak


@pytest.mark.parametrize(
    "encode",
    [
        str,
        lambda value: quote(value, safe=""),
        lambda value: quote(value, safe="").lower(),
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex().upper(),
        lambda value: value.replace("+", "\\u002B"),
        lambda value: "".join(f"\\u{ord(letter):04x}" for letter in value),
    ],
)
def test_a_canary_is_found_in_each_form(encode):
    value = canary("x")

    assert leak(f"before {encode(value)} after", value) is not None
    assert leak(f"before {encode(canary('y'))} after", value) is None


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_a_canary_is_found_in_base64_wherever_it_stands(before, after):
    value = canary("x")

    whole = before + value.encode() + after
    assert leak(base64.b64encode(whole).decode(), value) == "in base64"
    assert leak(base64.urlsafe_b64encode(whole).decode(), value) == "in base64"
