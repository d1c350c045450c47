"""The registry of known secrets: every spelling, every cut of a stream, nothing else."""

import base64
import json
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.redact import MASK, Known, Redactor, as_known

CANARY = "cAn4ry/\"'&<\n+Q9z-tail"
SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=30).filter(
    lambda secret: not set(secret) <= set(MASK) and not set(secret) & set("[]")
)
ENCODED = {
    "raw": CANARY,
    "json": json.dumps(CANARY)[1:-1],
    "json in json": json.dumps(json.dumps(CANARY))[1:-1],
    "json with escaped slashes": json.dumps(CANARY)[1:-1].replace("/", "\\/"),
    "url": quote(CANARY, safe=""),
    "url with slashes": quote(CANARY),
    "python": repr(CANARY)[1:-1],
    "xml": escape(CANARY),
    "hex": CANARY.encode().hex(),
    "base64": base64.b64encode(CANARY.encode()).decode(),
    "base64 after one byte": base64.b64encode(b"u" + CANARY.encode()).decode(),
    "base64 after two bytes": base64.b64encode(b"u:" + CANARY.encode()).decode(),
    "base64url": base64.urlsafe_b64encode(CANARY.encode()).decode(),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_known_value_is_masked_in_every_spelling_that_output_shows(encoding):
    shown = f"before {ENCODED[encoding]} after"

    masked = Known([CANARY]).text(shown)

    assert MASK in masked
    assert ENCODED[encoding][3:-5] not in masked
    assert Known([CANARY]).data(shown.encode()) == masked.encode()


@given(st.text(max_size=60), SECRET, st.text(max_size=60), st.data())
def test_a_stream_shows_the_same_at_whatever_places_it_is_cut(before, secret, after, data):
    known = Known([secret])
    text = before + secret + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    stream = known.stream()

    pieces = [stream.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    shown = "".join([*pieces, stream.flush()])

    assert shown == known.text(text)
    assert secret not in shown


def test_what_cannot_be_the_beginning_of_a_secret_is_not_held_back():
    stream = Known(["hunter2-long"]).stream()

    assert stream.feed("plain words") == "plain words"
    assert stream.feed("so far: hunt") == "so far: "
    assert stream.feed("ing") == "hunting"
    assert not stream.holds


def test_overlapping_secrets_are_masked_together():
    assert Known(["abcdefgh", "efghijkl"]).text("xabcdefghijklx") == f"x{MASK}x"


def test_a_value_that_becomes_known_later_is_masked_from_then_on_by_whoever_shares_the_registry():
    known = Known()
    redactor = Redactor(as_known(known))
    assert redactor.text("see hunter2-long") == "see hunter2-long"

    known.add("hunter2-long")

    assert redactor.text("see hunter2-long") == f"see {MASK}"
    assert redactor.value({"hunter2-long": ["hunter2-long"]}) == {MASK: [MASK]}


def test_names_of_members_are_masked_and_stay_apart():
    known = Known(["hunter2-long"])

    assert known.value({"hunter2-long": 1, MASK: 2}) == {MASK: 1, f"{MASK}'": 2}


def test_deep_data_is_followed_to_its_end():
    deep: object = "hunter2-long"
    for _ in range(50_000):
        deep = [deep]

    found = Known(["hunter2-long"]).value(deep)

    while isinstance(found, list):
        found = found[0]
    assert found == MASK


def test_each_line_of_a_secret_with_several_lines_is_masked_and_each_text_of_a_structured_one():
    key = "-----BEGIN X-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END X-----\n"
    assert Known([key]).text("MIIEvQIBADANBgkq") == MASK
    assert Known(['{"accessToken": "at-0123456789ab"}']).text("got at-0123456789ab") == f"got {MASK}"


def test_the_registry_does_not_show_its_values():
    assert "hunter2" not in repr(Known(["hunter2-long"]))


def test_without_a_known_value_data_is_the_same_object():
    value = {"a": ["b"]}
    assert Known().value(value) is value
    assert Known(["hunter2-long"]).data(line := b"plain") is line
