"""Redaction of structured things: argument vectors, environments, headers, JSON, streams of lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.kernel.redact import (
    MASK,
    Redactor,
    redact_argv,
    redact_env,
    redact_headers,
    redact_text,
    redact_value,
)
from operable.kernel.redact.structure import _SAFE_VARIABLES
from tests.requirement import requirement

SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=30).filter(
    lambda secret: not secret.startswith("-") and not set(secret) <= set(MASK)
)
FLAGS = [
    "--token",
    "--api-key",
    "--client-secret",
    "--password",
    "-password",
    "--authToken",
    "--cookie",
    "--private",
    "--auth",
]


@requirement("aoi:11:sensitive-flags", "aoi:11:args-redacted")
@given(flag=st.sampled_from(FLAGS), secret=SECRET)
def test_the_value_of_a_secret_flag_is_masked_and_the_flag_stays(flag, secret):
    assert redact_argv(["tool", flag, secret, "--limit", "5"]) == ["tool", flag, MASK, "--limit", "5"]
    assert redact_argv(["tool", f"{flag}={secret}", "x"]) == ["tool", f"{flag}={MASK}", "x"]


@pytest.mark.parametrize(
    "argv, masked",
    [
        (["curl", "-H", "X-Custom: abc", "-H", "Accept: a/b"], ["curl", "-H", "X-Custom: [redacted]", "-H", "Accept: a/b"]),
        (["curl", "-HX-Custom: abc"], ["curl", "-HX-Custom: [redacted]"]),
        (["curl", "--header=Cookie: a=b"], ["curl", "--header=Cookie: [redacted]"]),
        (["curl", "-u", "bob:pw", "-ubob:pw", "--user=bob:pw"], ["curl", "-u", "bob:[redacted]", "-ubob:[redacted]", "--user=bob:[redacted]"]),
        (["sort", "-u", "file"], ["sort", "-u", "file"]),
        (["env", "API_TOKEN=abc", "LANG=C", "tool"], ["env", "API_TOKEN=[redacted]", "LANG=C", "tool"]),
        (["docker", "-e", "DB_PASSWORD=abc", "--env=DB_PASSWORD=abc"], ["docker", "-e", "DB_PASSWORD=[redacted]", "--env=DB_PASSWORD=[redacted]"]),
        (["tool", "--auth", "--verbose", "-v"], ["tool", "--auth", "--verbose", "-v"]),
        (["tool", "--token", "-abc123"], ["tool", "--token", "[redacted]"]),
        (["tool", "--token", "--Xb9_f"], ["tool", "--token", "[redacted]"]),
        (["tool", "--token"], ["tool", "--token"]),
        (["tool", "https://u:p@h/?sig=a", "--url=https://u:p@h"], ["tool", "https://[redacted]@h/?sig=[redacted]", "--url=https://[redacted]@h"]),
        (["sh", "-c", "x --token abc; y"], ["sh", "-c", "x --token [redacted]; y"]),
        (["mysql", "-psecret", "db"], ["mysql", "-p[redacted]", "db"]),
        (["sshpass", "-p", "secret", "ssh"], ["sshpass", "-p", "[redacted]", "ssh"]),
        (["redis-cli", "-a", "secret", "ping"], ["redis-cli", "-a", "[redacted]", "ping"]),
        (["unzip", "-Psecret", "-p", "a.zip"], ["unzip", "-P[redacted]", "-p", "a.zip"]),
        (["outline", "search", "--monkey", "x", "author=me", "a=b=c"], ["outline", "search", "--monkey", "x", "author=me", "a=b=c"]),
        ([], []),
        (["", "-", "--", "="], ["", "-", "--", "="]),
    ],
)  # fmt: skip
def test_argument_vectors_keep_their_shape(argv, masked):
    assert redact_argv(argv) == masked
    assert redact_argv(masked) == masked


@given(st.lists(st.text(max_size=20), max_size=8))
def test_any_argument_vector_keeps_its_length_and_masking_twice_is_masking_once(argv):
    once = redact_argv(argv)
    assert len(once) == len(argv)
    assert redact_argv(once) == once


@requirement("aoi:11:env-values")
@given(
    # Hypothesis takes constants from our sources, names of variables that are shown among them.
    st.dictionaries(
        st.text(min_size=1, max_size=12).filter(lambda name: name not in _SAFE_VARIABLES), SECRET, max_size=5
    )
)
def test_environment_values_are_hidden_and_names_stay(env):
    masked = redact_env({**env, "LC_ALL": "C", "HOME": "/home/ann", "PATH": "/bin"})
    assert list(masked) == [*dict.fromkeys([*env, "LC_ALL", "HOME", "PATH"])]
    assert masked["HOME"] == "/home/ann"
    assert all(masked[name] == MASK for name in env if name[:3] != "LC_")
    assert redact_env(masked) == masked


@requirement("aoi:11:custom-headers")
def test_only_headers_known_to_be_harmless_keep_their_values():
    headers = {
        "Accept": "a/b",
        "X-Custom": "abc",
        "Authorization": "Bearer abc",
        "Location": "https://u:p@h/?code=x",
    }
    assert redact_headers(headers) == {
        "Accept": "a/b",
        "X-Custom": MASK,
        "Authorization": MASK,
        "Location": f"https://{MASK}@h/?code={MASK}",
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["token", "name", "value", "headers", "env", "argv", "note", "auth", "max_tokens"]
            )
            | st.text(max_size=6),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def shape(value):
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else None


@given(JSON)
def test_json_keeps_its_keys_and_shape_and_masking_twice_is_masking_once(value):
    masked = redact_value(value)
    assert shape(masked) == shape(value)
    assert redact_value(masked) == masked


@given(JSON, SECRET)
def test_a_known_secret_in_any_string_of_json_is_masked(value, secret):
    masked = redact_value({"note": f"it is {secret}!", "rest": value}, [secret])
    assert masked["note"] == f"it is {MASK}!" or secret not in masked["note"]


@requirement("aoi:11:config-contents")
def test_json_is_masked_by_the_names_of_its_members():
    value = {
        "password": "x",
        "nested": [{"apiKey": "x", "count": 3}],
        "credentials": {"user": "ann", "list": ["a", 1, None, True]},
        "max_tokens": 100,
        "has_token": True,
        "pin_key": 1234,
        "env": {"HOME": "/h", "X": "y"},
        "headers": {"Accept": "a/b", "X": "y"},
        "argv": ["t", "--token", "x"],
        "variables": [{"name": "API_TOKEN", "value": "x"}, {"name": "REGION", "value": "eu"}],
        "text": "token=abc",
    }
    assert redact_value(value) == {
        "password": MASK,
        "nested": [{"apiKey": MASK, "count": 3}],
        "credentials": {"user": MASK, "list": [MASK, MASK, None, True]},
        "max_tokens": 100,
        "has_token": True,
        "pin_key": MASK,
        "env": {"HOME": "/h", "X": MASK},
        "headers": {"Accept": "a/b", "X": MASK},
        "argv": ["t", "--token", MASK],
        "variables": [{"name": "API_TOKEN", "value": MASK}, {"name": "REGION", "value": "eu"}],
        "text": f"token={MASK}",
    }
    assert value["password"] == "x"


@pytest.mark.parametrize("name", ["note", "token"])
def test_json_nested_without_end_is_hidden_instead_of_followed(name):
    deep: object = "hunter2"
    for _ in range(100_000):
        deep = {name: [deep]}
    assert "hunter2" not in str(redact_value(deep))


@given(st.binary(max_size=200))
def test_lines_in_any_encoding_pass_through(line):
    redactor = Redactor()
    text = line.decode("utf-8", "surrogateescape")
    assert redactor.line(line) == redact_text(text).encode("utf-8", "surrogateescape")


def test_a_private_key_is_masked_over_the_lines_of_a_stream():
    redactor = Redactor()
    lines = [
        b"a",
        b"-----BEGIN PRIVATE KEY-----",
        b"MIIE",
        b"abcd",
        b"-----END PRIVATE KEY----- token=x",
        b"MIIE",
    ]
    assert [redactor.line(line) for line in lines] == [
        b"a", b"[redacted]", b"[redacted]", b"[redacted]", b"[redacted] token=[redacted]", b"MIIE",
    ]  # fmt: skip


def test_a_private_key_without_end_does_not_hide_the_rest_of_a_stream():
    redactor = Redactor()
    redactor.line(b"-----BEGIN PRIVATE KEY-----")
    seen = [redactor.line(b"plain") for _ in range(1000)]
    assert seen[0] == b"[redacted]"
    assert seen[-1] == b"plain"


def test_a_line_with_nothing_to_hide_is_the_same_object():
    line = b'{"type":"hit","rank":1}'
    assert Redactor(["hunter2-long"]).line(line) is line


def test_text_with_known_secrets_is_masked_by_value():
    assert redact_text("it is hunter2!", ["hunter2"]) == "it is [redacted]!"


# Pieces that the rules react to, in every part of a line, and pieces that nothing reacts to.
PIECES = st.sampled_from(
    "a note title 17 true null / ? :// https://user:word@host/path?x=1 -H -u -U -p --header --user token password "
    "PassWord=hunter2 api_key: AKIAIOSFODNN7EXAMPLE ghp_0123456789abcdefghijklmnopqrstuvwxyz bearer Bearer basic Basic "
    "YWxhZGRpbjpvcGVuc2VzYW1l headers env argv args command_line mysql -pSECRET authorization cookie "
    '-----BEGIN PRIVATE -----END sesame known-value-of-run known%2Dvalue%2Dof%2Drun \\u006bnown to\u212aen \u0130 \\ { [ } ] " , : ='.split()
)
TEXTS = st.lists(PIECES, max_size=5).map(" ".join)
MEMBERS = st.sampled_from(
    "type id title name key value token apiKey headers env environ argv args command_line url text".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=800)
@given(
    lines=st.lists(
        JSON.map(json.dumps) | JSON.map(lambda it: json.dumps(it, ensure_ascii=False)) | TEXTS, max_size=3
    )
)
def test_what_is_left_as_it_is_would_be_left_by_every_rule(lines):
    known = ["known-value-of-run"]
    data = [line.encode("utf-8", "surrogatepass") for line in lines]
    if not Redactor(known).leaves(data):
        return
    for line in data:
        assert Redactor(known).line(line) == line
        try:
            value = json.loads(line)
        except ValueError:
            continue
        assert Redactor(known).value(value) == value


def test_harmless_lines_are_left_and_deep_ones_and_those_inside_a_key_are_not():
    redactor = Redactor(["known-value-of-run"])
    plain = [b'{"type":"hit","id":"n-1","title":"A note","score":0.5,"path":"a/b.txt"}', b"", "é".encode()]

    assert redactor.leaves(plain)
    assert redactor.leaves([])
    assert not redactor.leaves([*plain, b'{"title":"known-value-of-run"}'])
    assert not redactor.leaves([b"[" * 150 + b"]" * 150])
    redactor.line(b"-----BEGIN PRIVATE KEY-----")
    assert not redactor.leaves(plain)
