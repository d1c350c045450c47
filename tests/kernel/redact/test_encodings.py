"""A known secret behind encodings that escape single characters: masked whole, in one piece or cut anywhere."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from operable.kernel.redact import MASK, Known, Redactor
from operable.kernel.redact.encodings import Views, as_bytes, decoded

SECRET = "zEbra/quilt \"é'&<ninety>\\95%41"


def of_bytes(text: str, pattern: str) -> str:
    return "".join(pattern.format(byte) for byte in text.encode())


def of_units(text: str) -> str:
    """Every UTF-16 unit as an escape of JSON."""
    raw = text.encode("utf-16-be")
    return "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))


WHOLE = {
    "percent, upper": lambda text: of_bytes(text, "%{:02X}"),
    "percent, lower": lambda text: of_bytes(text, "%{:02x}"),
    "percent of percent": lambda text: quote(of_bytes(text, "%{:02x}"), safe=""),
    "json": of_units,
    "json in json": lambda text: json.dumps(of_units(text))[1:-1],
    "json in json in json": lambda text: json.dumps(json.dumps(of_units(text))[1:-1])[1:-1],
    "json in an address": lambda text: quote(of_units(text), safe=""),
    "json with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "javascript": lambda text: "".join(f"\\u{{{ord(each):x}}}" for each in text),
    "python": lambda text: "".join(f"\\U{ord(each):08x}" for each in text),
    "hex escapes": lambda text: of_bytes(text, "\\x{:02x}"),
    "octal escapes": lambda text: of_bytes(text, "\\{:03o}"),
    "decimal references": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "hex references": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    "references in references": lambda text: "".join(f"&amp;#{ord(each)};" for each in text),
    "colour in every place": "\x1b[0m\x1b[1;31m".join,
    "a link of a terminal": lambda text: (
        f"{text[:4]}\x1b]8;;http://x/\x1b\\{text[4:-2]}\x1b]8;;\x07{text[-2:]}"
    ),
    "percent in colour": lambda text: "\x1b[m".join(f"%{byte:02x}" for byte in text.encode()),
    "base64 in an address": lambda text: quote(base64.b64encode(text.encode()).decode().rstrip("="), safe=""),
    "colour of 8 bits in every place": "\x9b0m\x9b1;31m".join,
    "colour of 8 bits, in JSON": lambda text: "\\u009b0m".join(json.dumps(each)[1:-1] for each in text),
    "colour of 8 bits, in an address": lambda text: "%C2%9B0m".join(quote(each, safe="") for each in text),
    "a byte of colour, in an address": lambda text: "%9b0m".join(quote(each, safe="") for each in text),
    "one code of colour": lambda text: f"{text[:4]}\x1b[0m{text[4:]}",
    "one code of colour of 8 bits": lambda text: f"{text[:4]}\x9b0m{text[4:]}",
    "a link of 8 bits": lambda text: f"{text[:4]}\x9d8;;http://Ü/\x9c{text[4:-2]}\x9d8;;\x07{text[-2:]}",
    "a picture in the middle": lambda text: f"{text[:4]}\x1bPq#0~\x1b\\{text[4:-2]}\x90q#0~\x9c{text[-2:]}",
    "a line break of 8 bits in every place": "\x85".join,
    "hex in colour": lambda text: "\x1b[m".join(text.encode().hex()),
}


@pytest.mark.parametrize("encoding", WHOLE)
def test_a_secret_that_is_escaped_character_by_character_is_masked_whole(encoding):
    shown = WHOLE[encoding](SECRET)
    known = Known([SECRET])

    assert known.text(f"before {shown} after") == f"before {MASK} after"
    assert known.data(f"before {shown} after".encode()) == f"before {MASK} after".encode()
    assert known.text(f"ü {shown} ü {shown} ü") == f"ü {MASK} ü {MASK} ü"
    assert known.value({shown: [shown]}) == {MASK: [MASK]}
    assert Redactor(known).line(b"\xff " + shown.encode()) == b"\xff " + MASK.encode()


@pytest.mark.parametrize("encoding", WHOLE)
def test_a_stream_shows_nothing_of_it_wherever_it_is_cut(encoding):
    text = f"before {WHOLE[encoding](SECRET)} after"
    known = Known([SECRET])
    for cut in range(len(text) + 1):
        stream = known.stream()
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.flush() == f"before {MASK} after"
    stream = known.stream()
    assert "".join([*map(stream.feed, text), stream.flush()]) == f"before {MASK} after"


def test_what_is_not_a_secret_stays_as_it_is_spelled():
    text = "100%25 \\u0041\\x41 &amp; \x1b[31mred\x1b[0m C:\\\\new %7Ebra é"

    assert Known([SECRET]).text(text) is text


SPELLED = st.sampled_from(
    [
        lambda each: each,
        lambda each: of_bytes(each, "%{:02X}"),
        of_units,
        lambda each: of_bytes(each, "\\x{:02x}"),
        lambda each: f"&#{ord(each)};",
        lambda each: f"&#x{ord(each):x};",
        lambda each: f"\x1b[0m{each}",
    ]
)
SECRETS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=8, max_size=20
).filter(
    lambda secret: not set(secret) & set("[]\\%&;|") and not secret.isspace() and secret.strip() == secret
)


@given(SECRETS, st.lists(SPELLED, min_size=20, max_size=20), st.text("xyz .,\n", max_size=20), st.data())
def test_any_mixture_of_encodings_is_masked_in_any_pieces(secret, spelled, around, data):
    assume(secret not in around)
    shown = "".join(spell(each) for spell, each in zip(spelled, secret, strict=False))
    text = f"{around}|{shown}|{around}"
    expected = Known([secret]).text(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    stream = Known([secret]).stream()

    pieces = [stream.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert expected.replace("\x1b[0m", "") == f"{around}|{MASK}|{around}"
    assert "".join([*pieces, stream.flush()]) == expected


@given(st.text(max_size=80), st.text(min_size=4, max_size=10))
def test_any_text_is_accepted(text, secret):
    known = Known([secret, secret + "\ud800"])
    stream = known.stream()
    for piece in (text, "%", text, "\\u00", "\x1b]", text, "&#"):
        stream.feed(piece)
        known.text(piece + text)
        known.data((piece + text).encode("utf-8", "surrogatepass"))
    stream.flush()


@pytest.mark.parametrize(
    "code", [b"\x1b[31m", b"\x9b31m", b"\x9b1;31m\x9b0m", b"\x9d0;title\x9c", b"\x90q\x9c", b"\x84"]
)
def test_a_secret_in_bytes_that_are_not_utf_8_is_masked_around_codes_of_8_bits(code):
    raw = SECRET.encode()
    known = Known([SECRET])
    for around in (b"", "Ü".encode(), b"\xff"):
        text = around + b" " + raw[:6] + code + raw[6:] + b" " + around
        assert known.data(text) == around + b" " + MASK.encode() + b" " + around
        assert Redactor(known).line(text) == around + b" " + MASK.encode() + b" " + around


def test_text_of_other_alphabets_is_left_as_it_is_beside_a_known_secret():
    known = Known([SECRET])
    for text in ("Über Ûnder 你好 日本語 привет ✓", "\x85\x9b31m\x9d0;ü\x9c", "\udc9b31m"):
        data = text.encode("utf-8", "surrogateescape")
        assert known.text(text) == text
        assert known.data(data) == data


@given(st.text("ab%2541\\u06x&#;mp\x1b[]P\x9b\x9c\x9d\x90é", max_size=60))
def test_each_place_of_each_level_is_a_place_of_the_text(text):
    views = Views(as_bytes(text))
    for plain in decoded(as_bytes(text)):
        assert views.descend()
        assert views.plain == plain
        before = 0
        for at in range(len(plain)):
            start, end = views.origin(at, at + 1)
            assert before <= start < end <= len(as_bytes(text))
            before = start


def test_the_lines_of_the_base64_of_a_long_secret_are_masked():
    secret = "sk-" + "aB3/" * 40
    for wrapped in (base64.encodebytes(secret.encode()).decode(), "\n".join(chunks(secret, 64))):
        lines = wrapped.split()
        assert len(lines) > 2
        assert [Known([secret]).text(line).replace("=", "") for line in lines] == [MASK] * len(lines)


def chunks(secret: str, columns: int) -> list[str]:
    encoded = base64.b64encode(secret.encode()).decode()
    return [encoded[at : at + columns] for at in range(0, len(encoded), columns)]


def test_a_text_without_units_is_not_decoded(monkeypatch):
    from operable.kernel.redact import known_values as module

    known = Known([SECRET])
    monkeypatch.setattr(module, "decoded", lambda _: pytest.fail("decoded"))
    assert known.text(line := 'plain {"a": "b\\n\\"c\\" 100% & more"}' * 100) is line
