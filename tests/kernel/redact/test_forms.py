"""Known secrets in every disguise."""

import base64
import json
import shlex
from urllib.parse import quote, quote_plus

from hypothesis import assume, given
from hypothesis import strategies as st

from operable.kernel.redact import MASK, Redactor
from operable.kernel.redact.forms import forms

SECRETS = st.text(alphabet=st.characters(codec="utf-8"), min_size=8, max_size=40).filter(
    lambda secret: not set(secret) & set("[]") and not secret.isspace()
)
PLAIN = st.text(alphabet="xyz .,\n", max_size=20)


@given(secret=SECRETS, before=PLAIN, after=PLAIN)
def test_a_known_secret_survives_in_no_spelling(secret, before, after):
    assume(secret not in before + after)
    raw = secret.encode()
    spellings = [
        secret,
        shlex.quote(secret),
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        raw.hex(),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    ]
    redactor = Redactor([secret])
    for spelling in spellings:
        text = before + spelling + after
        assert spelling not in redactor.text(text)
        assert spelling.encode() not in redactor.line(text.encode())


@given(secret=st.binary(min_size=12, max_size=40), prefix=st.binary(max_size=8), suffix=st.binary(max_size=8))
def test_a_known_secret_is_found_inside_base64_at_every_alignment(secret, prefix, suffix):
    text = secret.hex()  # any text: what matters is its place in the encoded stream
    encoded = base64.b64encode(prefix + text.encode() + suffix).decode()
    masked = Redactor([text]).text(f"blob {encoded} end")
    assert MASK in masked
    kept = masked.removeprefix("blob ").removesuffix(" end").split(MASK)
    assert sum(map(len, kept)) <= len(encoded) - len(text)


def test_short_secrets_do_not_shred_the_text():
    assert forms(["", "a", "abc"]) == []
    assert Redactor(["abc"]).text("abcabc") == "abcabc"


def test_the_longest_secret_is_masked_first():
    assert Redactor(["hunter", "hunter2-long"]).text("it was hunter2-long") == "it was [redacted]"


def test_a_part_of_the_mask_is_no_secret_to_look_for():
    assert (
        Redactor(["redacted", "acted"]).text("it was redacted: [redacted]") == "it was redacted: [redacted]"
    )


@given(st.text(max_size=60), st.text(min_size=4, max_size=10))
def test_any_secret_and_any_text_are_accepted(text, secret):
    redactor = Redactor([secret, secret + "\ud800"])
    redactor.line(redactor.text(text).encode("utf-8", "surrogatepass"))
