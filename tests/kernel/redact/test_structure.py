"""Free text without its secrets."""

import json
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from operable.kernel.redact import redact_text
from operable.kernel.redact.prose_rules import mask_prose
from tests.requirement import requirement

SECRET = st.text(
    alphabet="abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+/=!%^*|<>()[]{}#$@:?;,&",
    min_size=8,
    max_size=40,
).filter(
    # A value that begins with a separator is taken for no value and the next pair: `?code=&state=1`.
    lambda secret: (
        any(map(str.isdigit, secret))
        and any(map(str.isalpha, secret))
        and secret.lstrip("=")[:1] not in tuple("&;,")
    )
)
NAMES = [
    "token",
    "API_KEY",
    "apiKey",
    "client-secret",
    "db.password",
    "PGPASSWORD",
    "Set-Cookie",
    "x-auth",
    "privateKey",
]
PLACES = [
    "{name}={secret}",
    "{name}: {secret}",
    "{name} = {secret}",
    "{name} := {secret}",
    "call with {name}={secret} failed",
    "call with {name}: {secret} failed",
    "call with {name}='{secret} and more' failed",
    '{{"{name}": "{secret}"}}',
    '{{"a": 1, "{name}":"{secret}", "b": 2}}',
    '{{"{name}": "x {secret} y"}}',
    '"{{\\"{name}\\": \\"{secret}\\"}}"',
    '{{"outer": "note {name}={secret}"}}',
    "{{'{name}': '{secret}'}}",
    "--{name} {secret}",
    "--{name}={secret}",
    "run --{name} {secret} --verbose",
    "run --{name} '{secret}' --verbose",
    "export {name}={secret}",
    "env['{name}'] = '{secret}'",
    "<{name}>{secret}</{name}>",
    "  {name}: correct {secret} staple\nnext: 1",
    "{name}: |\n  {secret}\n  {secret}\nnext: 1",
    "{name}:\n  - {secret}\n  - {secret}\nnext: 1",
    '{name}: ["{secret}", "{secret}"]',
    '{name} = """\n{secret}\n"""',
    "- name: {name}\n  value: {secret}\n",
    "{name}=a&{name}={secret}",
]


def left(masked):
    """What is left of a text. The marks are not: `d],a=` would be found in `token=[redacted],a=`, where its first part is gone."""
    return masked.replace("[redacted]", "\0")


@requirement("aoi:11:config-contents", "aoi:11:sensitive-flags")
@pytest.mark.parametrize("place", PLACES)
@example(name="token", secret="d],0000=")
@given(name=st.sampled_from(NAMES), secret=SECRET)
def test_a_secret_after_its_name_never_survives(place, name, secret):
    assume("<" not in secret or not place.startswith("<"))  # it could not stand in XML
    text = place.format(name=name, secret=secret)
    masked = redact_text(text)
    assert secret not in left(masked)
    assert name in masked
    assert redact_text(masked) == masked
    quoted = redact_text(json.dumps({"log": text}))
    assert secret not in left(quoted)
    assert redact_text(quoted) == quoted


@given(secret=SECRET)
@pytest.mark.parametrize(
    "place",
    [
        "Authorization: Bearer {}",
        "authorization: token {}",
        "> Proxy-Authorization: Basic {}",
        "sent Authorization: Digest a={}, b=c",
        "Cookie: session={}; other={}",
        "curl -H 'Authorization: Bearer {}' https://x",
        'curl -H "X-Custom: {}" https://x',
        "curl -u bob:{} https://x",
        "machine h login bob password {}",
    ],
)
def test_a_secret_in_a_header_or_login_never_survives(place, secret):
    masked = redact_text(place.replace("{}", secret))
    assert secret not in masked
    assert redact_text(masked) == masked


@pytest.mark.parametrize(
    "text, masked",
    [
        ("see https://u:p@h/x for more", "see https://[redacted]@h/x for more"),
        ("GET /cb?code=abc&state=1 HTTP/1.1", "GET /cb?code=[redacted]&state=1 HTTP/1.1"),
        ("got Bearer abc123def456.", "got Bearer [redacted]"),
        ("Basic dXNlcjpwYXNz used", "Basic [redacted] used"),
        ("(token=abc)", "(token=[redacted])"),
        ('{"pin_token": 12345}', '{"pin_token": "[redacted]"}'),
        ("host=h;password=x;port=1", "host=h;password=[redacted];port=1"),
        ("token=abc\nb: 2", "token=[redacted]\nb: 2"),
        ('{"token": "cut off', '{"token": "[redacted]'),
        ('"tokens": ["cut', '"tokens": ["[redacted]"]'),
        ("tokens: [1, abc]", 'tokens: ["[redacted]"]'),
        ('token = ("abc")', 'token = ("[redacted]")'),
        ("GET /?token=&x=1", "GET /?token=&x=1"),
    ],
)
def test_only_the_value_is_replaced(text, masked):
    assert redact_text(text) == masked
    assert redact_text(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "password={})0000A",
        "password=[]]hunter2",
        'password={"hunter2xyz',
        "password=([{hunter2",
        "password=null#hunter2",
        "password=None)hunter2",
        "token=0)hunter2",
        "password='{}'hunter2",
        '{"log": "a\\nghp_16C7e42F292c6912E7710c838347Ae178B4a"}',
        '{"log": "a\\n-----BEGIN PRIVATE KEY-----\\nhunter2\\n-----END PRIVATE KEY-----"}',
        '{"log": "password: |\\n  hunter2\\n"}',
    ],
)
def test_neither_brackets_nor_escapes_talk_the_redactor_out_of_a_secret(text):
    masked = redact_text(text)
    for secret in ("0000A", "hunter2", "16C7e42F292c69"):
        assert secret not in masked


@pytest.mark.parametrize(
    "text",
    [
        "author: Ann, monkey: 3, keyboard=us --monkey banana",
        '{"max_tokens": 4096, "supports_idempotency_key": true, "token": null, "password": ""}',
        "Set --token or OUTLINE_HOME.",
        "The bearer of this note. Bearer authentication is required. Basic functionality works.",
        "auth::login(x) failed in std::auth",
        "tokens: 12, keys: 3",
        "https://example.com/a?page=2",
        "password: ",
        "a / b ? c",
    ],
)
def test_harmless_text_stays(text):
    assert redact_text(text) == text


@given(st.text(alphabet="abcdxyz 0123.,:=-/\n\"'{}[]", max_size=200))
def test_text_without_any_hint_stays_byte_for_byte(text):
    assert redact_text(text) == text


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "token", "password", "key", "auth", "=", ":", " ", "\n", '"', "'", "\\", "\\\"", "[", "]", "{", "}", ",", ";", "&",
            "abc", "x1", "--", "-H ", "-u ", "Bearer ", "Basic ", "https://", "@", "?", "#", "/", "|", ">", "<", "</", "- ",
            "  ", "[redacted]", "eyJhbGciOiJIUzI1NiJ9abc", "123", "null", "name", "value", "login", '"""', "\ud800", "ghp_", "(", ")",
            "sig=", "Cookie", "export ", "set ",
        ]
    ),
    max_size=24,
).map("".join)  # fmt: skip


@given(FRAGMENTS)
def test_masking_twice_is_masking_once(text):
    once = redact_text(text)
    assert redact_text(once) == once


@given(st.text(max_size=300))
def test_any_text_is_accepted(text):
    redact_text(text)


HOSTILE = [
    "a", " ", "\n", '"', "\\", "token", "token=", 'token="', "token: [", "token: ['", "sk-", "eyJ", "eyJ-", "://", "a://a@", "?a=&",
    "-----BEGIN PRIVATE KEY-----", "--token ", "Bearer ", "<token>", "<token ", "name: ", "login a ", "token:\n", "token: |\n ", "\\\"",
    'token="""', "-H ", "-u a:", "=&;,", "key: value\n", "a.", "a-", "AKIA", "/?", "Authorization: ", "x://?a=",
    'token: {"a":', "token: {", 'token("', '"\\"', '"\\n', "'\\n", "token: x is not ", "token: str = ", "setx token ", "key: a ", "token: $",
    "token=f(", 'token={"', "token: not ", "{{ ", "token='a'b",
]  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_costs_linear_work(unit):
    # A quadratic scan of so much text would take minutes and meet the time limit; a linear one takes a tenth of a second.
    redact_text(unit * (2**18 // len(unit)))


@given(st.one_of(FRAGMENTS, st.text(max_size=300)))
def test_what_the_rules_are_not_asked_about_they_would_not_change(text):
    assert redact_text(text) == mask_prose(text)


def test_text_with_nothing_to_hide_does_not_load_the_rules():
    code = (
        "import sys; from operable.kernel.redact import redact_text, redact_value\n"
        "redact_text('nothing to see in /usr/bin/true'); redact_value({'a': ['b', {'c': 1}]})\n"
        "print(sorted(name for name in sys.modules if name.endswith(('prose_rules', 'patterns', 'redact.plain'))))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
