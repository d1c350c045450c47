"""The spelling json-sort-v1, against vectors that JavaScript computed."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.flow.canonical import (
    READ_DEPTH,
    canonical_digest,
    canonical_text,
    parse,
    stable_id,
    utf16_length,
)
from operable.flow.operation import Defaults
from operable.flow.rpc.protocol import answer_to
from tests.requirement import requirement


@pytest.mark.parametrize(
    "text, canonical, digest",
    [
        (
            '{"b":1,"a":2}',
            '{"a":2,"b":1}',
            "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
        ),
        (
            '{"10":1,"9":2,"a":3,"01":4}',
            '{"9":2,"10":1,"01":4,"a":3}',
            "d54a4e7f7eaca7e1952a176a066acd98350bf775a0451630ab1cc8163813474b",
        ),
        (
            '{"\\u00e9":1,"z":2,"\\ud83d\\ude00":3,"\\uff21":4}',
            '{"z":2,"\u00e9":1,"\U0001f600":3,"\uff21":4}',
            "c22996417b846f79521ff36f3be7a7dbf12c467b913d1b78eb99c714fb21abfe",
        ),
        ("{}", "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        ("[]", "[]", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
        ('{"k":null}', '{"k":null}', "1593875d9ce96c358d8bc6a80b95e4fa420e006fae36a5e510d1ebf07a1a55aa"),
    ],
)
def test_the_vectors_of_the_contract(text, canonical, digest):
    assert canonical_text(parse(text)) == canonical
    assert canonical_digest(parse(text)) == f"sha256:{digest}"


@pytest.mark.parametrize(
    "number, text",
    [
        ("1.0", "1"), ("5.00", "5"), ("2.50", "2.5"), ("-0", "0"), ("-0.0", "0"), ("1e21", "1e+21"), ("1e-7", "1e-7"),
        ("123456789012345680000", "123456789012345680000"), ("9007199254740993", "9007199254740992"), ("0.000001", "0.000001"),
    ],
)  # fmt: skip
def test_numbers_are_spelled_as_javascript_spells_them(number, text):
    assert canonical_text(parse(number)) == text


def test_strings_escape_what_json_stringify_escapes_and_nothing_else():
    assert (
        canonical_text('"\\\b\f\n\r\t\x01\x7f\u2028/\ud800')
        == '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f\u2028/\\ud800"'
    )


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", '{"__proto__": 1}', '{"a": {"__proto__": {}}}', "[" * 5000]
)
def test_what_javascript_refuses_or_would_lose_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize("opened, closed", [("[", "]"), ('{"a":', "}")])
def test_a_text_is_read_down_to_its_limit_and_not_below(opened, closed):
    def nested(depth: int) -> str:
        return f"{opened * depth}1{closed * depth}"

    assert parse(nested(READ_DEPTH))
    with pytest.raises(ValueError, match="nested deeper than"):
        parse(nested(READ_DEPTH + 1))


@requirement("agentcli:compile:plans")
def test_compiled_ids_are_the_documented_ones():
    assert stable_id("w", "t") == "beae5a29f7cb40a6476e67f456fac907"
    assert stable_id("fixture", "positive") == "6c8425797c0e0f48dffcca7a85931f50"
    assert stable_id("beta", "shared-task") == "71f69c3cfa59e581791c6a3902f000b3"


@requirement("agentcli:compile:scheduler")
def test_lengths_count_utf16_units():
    assert utf16_length("a\U0001f600") == 3


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(_VALUES)
def test_the_canonical_text_reads_back_as_the_same_value_and_spells_it_again(value):
    text = canonical_text(value)

    assert canonical_text(json.loads(text)) == text
    assert (
        canonical_digest(value)
        == "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    )


@requirement("agentcli:rpc:methods")
@pytest.mark.parametrize(
    "text, printed",
    [
        ("10.00", "10"),
        ("5.0", "5"),
        ("1e3", "1000"),
        ("-0.0", "0"),
        ("2.50", "2.5"),
        ("9007199254740992.0", "9007199254740992"),
    ],
)
def test_a_number_that_is_whole_is_printed_as_one_however_it_was_written(text, printed):
    assert json.dumps(parse(text)) == printed
    line = f'{{"jsonrpc":"2.0","id":{text},"method":"agentcli.ping"}}'
    assert answer_to(line.encode(), Defaults(cwd="/"), print) == (
        f'{{"jsonrpc":"2.0","id":{printed},"result":{{"ok":true,"pong":true}}}}\n'.encode()
    )
