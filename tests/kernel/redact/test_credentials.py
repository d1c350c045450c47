"""Files of credentials: which of their values are secrets."""

import codecs
import json
import os
from base64 import b64encode

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
    "a literal block in YAML": f"token: |\n  {SHORT}\nmode: fast-mode\n",
    "a folded block in YAML": f"password: >-\n  {SHORT}\nmode: fast-mode\n",
    "an alias in YAML": f"first: &one {SHORT}\ntoken: *one\n",
    "a quoted value in YAML": f'token: "{SHORT}" # of the shop\n',
    "a value on the next line in YAML": f"token:\n  {SHORT}\nmode: fast-mode\n",
    "two documents in YAML": f"mode: 'fast-mode'\n---\ntoken: '{SHORT}'\n",
    "a text of several lines in TOML": f'token = """\n{SHORT}"""\nmode = "fast-mode"\n',
    "a literal text in TOML": f"token = '''{SHORT}'''\nmode = 'fast-mode'\n",
    "JSON behind a byte order mark": f'\ufeff{{"token": "{SHORT}", "mode": "fast-mode"}}',
    "JSON with comments": f'{{ // keys\n"url": "http://x.example", /* old */ "token": "{SHORT}", }}',
    "JSON with a name twice": f'{{"token": "{SHORT}", "token": ""}}',
    "a netrc of several lines": f"machine example.org\n  login ada\n  password {SHORT}\nmachine other.example\n",
    "a netrc with a comment": f"# mine\nmachine example.org # yours\n\tlogin ada\n\tpassword\n{SHORT}\n",
    "an npmrc": f"//registry.npmjs.org/:_authToken={SHORT}\nemail=ada@b.example\n",
    "an npmrc with a port": f"//localhost:4873/:_authToken={SHORT}\n//other.example/:_authToken=${{NPM_TOKEN}}\n",
    "addresses of git": f"https://bob@a.example\nhttps://ada:{SHORT}@example.org\n",
    "a token as the user of an address": f"https://{TOKEN}@example.org\nhttps://bob@example.org\n",
    "a pgpass": f"# mine\nlocalhost:5432:shop:ada:{SHORT}\n",
    "a pgpass with stars": f"*:*:*:*:{SHORT}\n*:*:*:bob:x\n",
    "options of MySQL": f"[client]\nuser = ada\npassword = {SHORT}\n",
    "two profiles of AWS": f"[default]\nregion = eu\n[two]\naws_session_token={SHORT}\n",
    "a login of Kubernetes": f"users:\n- name: ada\n  user:\n    token: {SHORT}\ncurrent-context: fast-mode\n",
    "a file inside a value": f'stringData:\n  app.json: |\n    {{"token": "{SHORT}"}}\n',
    "variables inside JSON": json.dumps({"env": f"MODE=fast-mode\nAPI_TOKEN={SHORT}\n"}),
    "a header": json.dumps({"headers": {"Authorization": f"Bearer {SHORT}"}}),
    "a token that is the name of a member": json.dumps({"logins": {TOKEN: {"user": "ada"}}}),
    "a value with a hash sign": f"password: x\ntoken: '{SHORT}'\n",
    "a variable over several lines": f"MODE=fast\nAPI_TOKEN='\n{SHORT}\n'\n",
    "XML": f"<settings><server><id>shop</id><password>{SHORT}</password></server></settings>",
    "a token in a comment": f"# was {TOKEN} before\nmode = fast-mode; other = slow-mode\n",
    "a line that no format explains": f"shop login ada {SHORT} for ever\n",
}


@pytest.mark.parametrize("kind", FILES)
def test_the_secret_of_a_file_is_found_and_nothing_else(kind):
    assert secrets_of(FILES[kind]) == [SHORT if SHORT in FILES[kind] else TOKEN]


def test_a_private_key_counts_as_a_whole_also_in_json():
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n"

    assert secrets_of(key) == [key]
    account = json.dumps({"type": "service_account", "client_email": "a@b.example", "private_key": key})
    assert secrets_of(account) == [key.strip()]


@pytest.mark.parametrize("value", ["hunter2", "swordfish", "correct horse battery", "12345678", "a b # c"])
def test_what_a_file_calls_a_password_counts_whatever_it_looks_like(value):
    quoted = json.dumps(value)

    for text in (f'{{"password": {quoted}}}', f"password: {quoted}\n", f"password = {quoted}\n"):
        assert secrets_of(text) == [value]
    assert secrets_of(f"machine a login b password {quoted}") == [value]


def test_what_has_the_shape_of_a_key_counts_under_any_name():
    key = "ghp_" + "aB3dE5fG7h" * 4

    assert secrets_of(json.dumps({"colour": key, "size": "a word"})) == [key]


@pytest.mark.parametrize(
    "value", ["true", "required", "Bearer", "prompt", "${SHOP_PASSWORD}", "$TOKEN", "<none>"]
)
def test_a_setting_or_a_reference_is_not_a_password(value):
    assert secrets_of(f"password: {value}\ntoken: {value}\n") == []


def test_a_password_counts_as_it_is_written_and_as_it_is_used():
    assert secrets_of("# of the shop\ndb.example:5432:shop:ada:Zebra\\:nine-9\n") == [
        "Zebra\\:nine-9",
        "Zebra:nine-9",
    ]
    assert secrets_of("https://ada:Zebra%3Anine@git.example\n") == ["Zebra%3Anine", "Zebra:nine"]
    assert secrets_of('TOKEN="Zebra\\tnine"\nOTHER=1 2\n') == ["Zebra\\tnine", "Zebra\tnine"]


def test_every_address_of_a_file_gives_its_password():
    lines = [f"https://ada:Zebra-{number}@git{number}.example" for number in range(3)]

    assert secrets_of("\n".join(lines)) == ["Zebra-0", "Zebra-1", "Zebra-2"]


def test_the_base64_of_a_login_counts_whole_and_decoded():
    login = b64encode(f"ada:{SHORT}".encode()).decode()
    password = b64encode(SHORT.encode()).decode()

    docker = json.dumps({"auths": {"registry.example": {"auth": login}}, "credsStore": "pass"})
    assert secrets_of(docker) == [login, f"ada:{SHORT}", SHORT]
    assert secrets_of(f"//npm.example/:_auth={login}\n//npm.example/:always-auth=true\n") == secrets_of(
        docker
    )
    assert secrets_of(f"//npm.example/:_password={password}\n") == [password, SHORT]


def test_the_key_of_a_kubernetes_login_counts_decoded():
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END RSA PRIVATE KEY-----\n"
    data = b64encode(key.encode()).decode()

    assert secrets_of(f"users:\n- user:\n    client-key-data: {data}\n") == [data, key]


def test_beside_a_private_key_the_other_secrets_of_the_file_count():
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n"

    assert secrets_of(f"TOKEN={SHORT}\n{key}MODE=fast-mode\n") == [key, SHORT]


def test_a_shared_part_of_a_document_is_read_once():
    """Each level names the one below twice: 2**40 values if each name is followed."""
    levels = [f"l{level}: &l{level} [*l{level - 1}, *l{level - 1}]" for level in range(1, 40)]

    assert secrets_of("\n".join([f"l0: &l0 [{SHORT}]", *levels, f"token: {SHORT}"])) == [SHORT]


@pytest.mark.parametrize(
    "mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE]
)
def test_a_byte_order_mark_says_how_the_file_is_written(tmp_path, mark):
    names = {
        codecs.BOM_UTF16_LE: "utf-16-le",
        codecs.BOM_UTF16_BE: "utf-16-be",
        codecs.BOM_UTF32_LE: "utf-32-le",
    }
    (tmp_path / "login").write_bytes(mark + f'{{"token": "{SHORT}"}}'.encode(names.get(mark, "utf-8")))

    assert read_credentials(str(tmp_path / "login")) == [SHORT]


@pytest.mark.parametrize("text", ["", "{", "[[[", "words and words", "a: b", '{"a": 1}', "\0", "{ " * 5000])
def test_a_text_without_credentials_has_none(text):
    assert secrets_of(text) == []


def test_of_a_large_file_the_beginning_is_read(tmp_path):
    (tmp_path / "large").write_text(f'{{"token": "{TOKEN}",\n "history": "{"word " * 100_000}"}}')

    assert read_credentials(str(tmp_path / "large")) == [TOKEN]


def test_what_is_not_a_regular_file_has_none_and_nobody_waits(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text(TOKEN)

    assert read_credentials(str(tmp_path / "link")) == [TOKEN]
    for name in ("fifo", "missing", "."):
        assert read_credentials(str(tmp_path / name)) == []
