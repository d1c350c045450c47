"""Files of credentials: which of their values are secrets."""

import json
import os

import pytest

from operable.kernel.redact.credentials import read_credentials, secrets_of

TOKEN = "zEbraquilt-ninety-0123"
SHORT = "Zebra-nine-9"  # found by its name only
FILES = {
    "a login of Claude": json.dumps({"claudeAiOauth": {"accessToken": TOKEN, "scopes": ["user:inference"]}}),
    "a login of Codex": json.dumps(
        {"OPENAI_API_KEY": None, "tokens": {"id_token": TOKEN}, "last_refresh": "now"}
    ),
    "a login of Gemini": json.dumps({"access_token": TOKEN, "token_type": "Bearer", "expiry_date": 1}),
    "a login under a name that says nothing": json.dumps({"anthropic": {"type": "oauth", "refresh": TOKEN}}),
    "a profile of AWS": f"[default]\naws_secret_access_key = {TOKEN}\nregion = eu-central-1\n",
    "a file of variables": f"# keys\nexport SHOP_KEY='{TOKEN}'\nDEBUG=1\n",
    "YAML": f"api_key: {TOKEN}  # of the shop\nhost: example.org\n",
    "netrc": f"machine example.org login ada password {TOKEN}\n",
    "a token": f"{TOKEN}\n",
    "a list in JSON": json.dumps({"apiKeys": {"approved": [SHORT], "rejected": []}, "modes": ["fast-mode"]}),
    "variables in JSON": json.dumps(
        [{"name": "API_KEY", "value": SHORT}, {"name": "MODE", "value": "fast-mode"}]
    ),
    "an object on each line": f'{{"token": "{SHORT}"}}\n{{"mode": "fast-mode"}}\n',
    "a list in TOML": f'modes = ["fast-mode"]\ntokens = ["{SHORT}"]\nname = "fast-mode"\n',
    "a list of lines in TOML": f'tokens = [\n  "{SHORT}", # of the shop\n]\nmodes = [\n  "fast-mode",\n]\n',
    "a table in TOML": f'env = {{ API_TOKEN = "{SHORT}", MODE = "fast-mode" }}\n',
    "a list in YAML": f"tokens:\n  - {SHORT}\nmodes:\n  - fast-mode\nname: fast-mode\n",
    "a list of objects in YAML": f"accounts:\n  - token: {SHORT}\n    user: ada-lovelace\n",
    "a list of one line in YAML": f"tokens: [{SHORT}]\nmodes: [fast-mode]\n",
    "a list in JSON with comments": f'// keys\n{{\n  "tokens": [\n    "{SHORT}"\n  ],\n  "mode": "fast-mode"\n}}\n',
    "a secret before a text": f"api_key = {SHORT}\nThis login is used for Tests.\n",
}


@pytest.mark.parametrize("kind", FILES)
def test_the_secret_of_a_file_is_found_and_nothing_else(kind):
    assert secrets_of(FILES[kind]) == [SHORT if SHORT in FILES[kind] else TOKEN]


def test_a_private_key_counts_as_a_whole_also_in_json():
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n"

    assert secrets_of(key) == [key]
    account = json.dumps({"type": "service_account", "client_email": "a@b.example", "private_key": key})
    assert secrets_of(account) == [key]


@pytest.mark.parametrize("text", ["", "{", "[[[", "words and words", "a: b", '{"a": 1}', "\0", "{ " * 5000])
def test_a_text_without_credentials_has_none(text):
    assert secrets_of(text) == []


def test_what_is_not_a_small_regular_file_has_none_and_nobody_waits(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_text(f"token = {TOKEN}\n" + " " * 300_000)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text(TOKEN)

    assert read_credentials(str(tmp_path / "link")) == [TOKEN]
    for name in ("fifo", "large", "missing", "."):
        assert read_credentials(str(tmp_path / name)) == []
