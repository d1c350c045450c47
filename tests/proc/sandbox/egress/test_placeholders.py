import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.sandbox.egress.http import MalformedHttp, RequestHead, parse_request
from operable.proc.sandbox.egress.placeholders import (
    LONGEST,
    Mask,
    Placeholder,
    Substitute,
    Substitutes,
    Substitution,
    find_in_body,
    find_in_head,
)

VALUE = {"KEY": 's3"cr&t!!', "LINES": "a\nb"}.__getitem__
REQUEST = b"POST /v1?key=%24%24SECRET%5BKEY%5D%24%24 HTTP/1.1\r\nHost: h\r\nX-Key: $$SECRET[KEY]$$\r\n"


def head(*lines: bytes) -> RequestHead:
    return parse_request(REQUEST + b"".join(line + b"\r\n" for line in lines) + b"\r\n")


def in_body(body: bytes) -> list[Placeholder]:
    return [match for part in find_in_body(body) for match in part]


def applied(
    request: RequestHead, body: bytes = b"", *, value=VALUE, limit=10_000
) -> tuple[RequestHead, bytes]:
    return Substitution(value, limit).apply(request, body, in_body(body))


def test_placeholders_are_found_wherever_a_client_puts_them():
    basic = b"Authorization: Basic " + base64.b64encode(b"me:$$SECRET[BASIC]$$")

    assert find_in_head(head(basic)) == ["KEY", "KEY", "BASIC"]
    assert [match[1] for match in in_body(b'{"k": "$$SECRET[BODY]$$"}')] == [b"BODY"]


@pytest.mark.parametrize("text", [b"$$SECRET[KEY]$$", b"%24%24SECRET%5B" + b"K" * 80 + b"%5D%24%24"])
def test_a_placeholder_is_found_once_wherever_the_windows_of_a_body_end(text):
    assert len(text) <= LONGEST
    for at in (*range(65_536 - len(text) - 1, 65_537), 2 * 65_536 - 3):
        body = b"$" * at + text + b"$" * 70_000 + text
        assert [match.start() for match in in_body(body)] == [at, at + len(text) + 70_000]


def test_a_body_that_grows_beyond_its_limit_is_not_built():
    body = b"$$SECRET[KEY]$$" * 100
    assert applied(head(), body, value=lambda _: "v" * 100)[1] == b"v" * 10_000
    with pytest.raises(MalformedHttp, match="too long"):
        applied(head(), body, value=lambda _: "v" * 101)


def test_values_are_escaped_for_where_they_stand():
    basic = b"Authorization: Basic " + base64.b64encode(b"me:$$SECRET[KEY]$$")
    json_head = head(basic, b"Content-Type: application/json")
    changed, body = applied(json_head, b'{"k": "$$SECRET[KEY]$$"}')

    assert changed.target == b"/v1?key=s3%22cr%26t%21%21"
    assert changed.get(b"x-key") == b's3"cr&t!!'
    assert base64.b64decode((changed.get(b"authorization") or b"")[6:]) == b'me:s3"cr&t!!'
    assert body == b'{"k": "s3\\"cr&t!!"}'
    form = head(b"Content-Type: application/x-www-form-urlencoded")
    assert applied(form, b"k=%24%24SECRET%5BKEY%5D%24%24")[1] == b"k=s3%22cr%26t%21%21"
    assert applied(head(), b"<$$SECRET[KEY]$$>")[1] == b'<s3"cr&t!!>'


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b", "a\x0bb", "a\x7fb"])
def test_a_value_with_control_characters_cannot_make_headers(value):
    request = parse_request(b"GET / HTTP/1.1\r\nHost: h\r\nX: $$SECRET[LINES]$$\r\n\r\n")
    with pytest.raises(MalformedHttp):
        applied(request, value=lambda _: value)


def test_every_form_in_which_a_value_left_is_masked_on_its_way_back():
    substitution = Substitution(VALUE, 10_000)
    basic = b"Authorization: Basic " + base64.b64encode(b"me:$$SECRET[KEY]$$")
    changed, _ = substitution.apply(head(basic), b"", [])
    mask = Mask(substitution.sent)

    credentials = (changed.get(b"authorization") or b"")[6:]
    assert mask.mask(credentials) == base64.b64encode(b"me:$$SECRET[KEY]$$")
    for form in (b's3"cr&t!!', b's3\\"cr&t!!', b"s3%22cr%26t%21%21"):
        assert mask.mask(b"<" + form + b">") == b"<$$SECRET[KEY]$$>"


def test_a_value_that_could_be_a_common_word_is_not_masked():
    assert not Mask({b"short": b"$$SECRET[KEY]$$"})


@given(
    st.lists(st.sampled_from([b"sk-live-1", b"sk-li", b"ve-1", b"sk-", b"s", b"x", b"\n"]), max_size=20),
    st.data(),
)
def test_a_value_is_masked_however_the_stream_is_cut(pieces, data):
    whole = b"".join(pieces)
    mask = Mask({b"sk-live-1": b"$$SECRET[K]$$"})
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    parts = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    out = b"".join(mask.feed(part) for part in parts) + mask.end()

    assert out == whole.replace(b"sk-live-1", b"$$SECRET[K]$$")


HOSTS = (
    "api.example",
    "*.wild.example",
    "plain.example:8080",
    "tls.example:443",
    "any.example:*",
    "127.0.0.1:8399",
)


@pytest.mark.parametrize(
    "host, port, secure, obstacle",
    [
        ("api.example", 443, True, None),
        ("api.example", 443, False, "secret-needs-tls"),
        ("api.example", 80, False, "secret-needs-tls"),
        ("a.wild.example", 80, False, "secret-needs-tls"),
        ("plain.example", 8080, False, None),
        ("plain.example", 443, True, "secret-not-for-host"),
        ("tls.example", 443, False, "secret-needs-tls"),
        ("any.example", 8080, False, "secret-needs-tls"),
        ("127.0.0.1", 8399, False, None),
        ("evil.example", 443, True, "secret-not-for-host"),
    ],
)
def test_a_secret_goes_to_its_hosts_and_in_the_clear_only_to_a_named_port(host, port, secure, obstacle):
    substitutes = Substitutes((Substitute("KEY", HOSTS, lambda: "value"),))
    assert substitutes.obstacle("KEY", host, port, secure=secure) == obstacle
    assert substitutes.obstacle("OTHER", host, port, secure=secure) == "secret-not-for-host"


def test_values_are_fetched_at_each_use():
    values = iter(["first", "second"])
    substitutes = Substitutes((Substitute("KEY", HOSTS, lambda: next(values)),))
    assert [substitutes.reveal(["KEY"]) for _ in range(2)] == [{"KEY": "first"}, {"KEY": "second"}]


def test_of_two_values_that_begin_alike_the_longer_one_is_masked_whole():
    mask = Mask({b"sk-live-1": b"<short>", b"sk-live-1-and-more": b"<long>"})
    assert mask.mask(b"sk-live-1-and-more sk-live-1-an") == b"<long> <short>-an"
