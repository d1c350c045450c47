"""Which names announce a secret."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.redact import MASK, Redactor, redact_text, redact_value
from operable.kernel.redact.names import is_counting_name, is_secret_name, words
from tests.requirement import requirement

SECRET = """token secret password passwd key credential cookie authorization auth bearer private client-secret
    --token --api-key --apiKey apikey APIKEY API_KEY X-Api-Key accessToken access_token PGPASSWORD MYSQL_PWD authtoken
    AWSSecretAccessKey aws_secret_access_key clientSecret client.secret ssh-private-key privateKey cookies Set-Cookie
    Proxy-Authorization passphrase credentials tokens key2 oauth basicauth dbpass DB_PASS sshkey PASSWORD_FILE sessionToken
    secretKeyRef bearerToken githubtoken --otp jwts sshkeys""".split()
WORDS = """token secret password passwd passphrase passcode passkey pwd pass key credential cred cookie authorization auth
    bearer private jwt otp totp sas""".split()
HARMLESS = """--monkey --keyboard author --author authors keyword keyframe monkeys donkey turkey hockey compass bypass
    tokenizer tokenize tokenization secretary --output title authored unauthored privately keyed broken --limit passage
    passenger passive cookery authentic kansas hotkey hotkeys""".split()


@requirement("aoi:11:sensitive-flags")
@pytest.mark.parametrize("name", SECRET)
def test_names_of_secrets_are_recognised_in_every_usual_spelling(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_ordinary_words_that_contain_the_same_letters_are_not(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b",
        "\u200d",
        "\u2060",
        "\ufeff",
        "\u00ad",
        "\u034f",
        "\u061c",
        "\u180e",
        "\u202e",
        "\ufe0f",
        "\U000e0070",
    ],
)
@pytest.mark.parametrize("name", ["password", "api_key", "accessToken"])
def test_invisible_characters_do_not_hide_the_name_of_a_secret(name, hidden):
    spelled = hidden.join(name)

    assert is_secret_name(spelled)
    assert is_secret_name(name[:3] + hidden + name[3:])
    assert redact_value({spelled: "Zebra-nine"}) == {spelled: MASK}
    assert "Zebra-nine" not in redact_text(f"the server has {spelled}=Zebra-nine today")
    assert b"Zebra-nine" not in Redactor().line(f"{spelled}: Zebra-nine".encode())
    assert not Redactor().leaves([f'{{"text": "{spelled}=Zebra-nine"}}'.encode()])


def test_wide_letters_do_not_hide_the_name_of_a_secret():
    wide = "".join(chr(ord(char) + 0xFEE0) for char in "password")

    assert is_secret_name(wide)
    assert "Zebra-nine" not in redact_text(f"{wide}=Zebra-nine")


@pytest.mark.parametrize("text", ["👩\u200d💻 wrote ﾊﾛｰ", "a\u00adlong word: x", "ＡＢＣ＝１"])
def test_a_text_with_invisible_characters_and_without_a_secret_is_not_changed(text):
    assert redact_text(text) == text
    assert not is_secret_name(text)


@pytest.mark.parametrize("name", ["dbpass", "userpass"])
def test_pass_counts_at_the_end_of_a_joined_word(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("X-ApiKey_v2", ["x", "api", "key", "v2"]),
        ("APIKey", ["api", "key"]),
        ("apiKEY", ["api", "key"]),
        ("", []),
        ("--", []),
        ("a", ["a"]),
        ("HTTPServerURL", ["http", "server", "url"]),
    ],
)
def test_names_are_cut_at_punctuation_and_camel_case(name, expected):
    assert words(name) == expected


@pytest.mark.parametrize(
    "name", ["max-tokens", "--max-output-tokens", "MAX_TOKENS", "num_keys", "totalSecrets"]
)
def test_a_plural_beside_a_measure_is_a_quantity_whatever_stands_there(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["tokens", "max-token", "max_pass", "key-size", "max_tokens_password", "limit_key"]
)
def test_a_measure_does_not_make_a_secret_harmless(name):
    assert is_secret_name(name)


def test_names_that_count_tokens_are_known_apart():
    assert is_counting_name("max_tokens")
    assert is_counting_name("outputTokens")
    assert not is_counting_name("token")


@given(
    st.lists(st.text("abcxyz", min_size=1, max_size=8), max_size=3),
    st.sampled_from(WORDS),
    st.sampled_from(["_", "-", ".", "camel"]),
    st.sampled_from([str, str.upper]),
)
def test_a_secret_word_makes_a_name_secret_behind_any_others(others, word, separator, spelled):
    # A word that the cheap test before any parsing does not know would not be found by anything.
    name = (
        others[0] + "".join(map(str.title, [*others[1:], word]))
        if separator == "camel" and others
        else spelled(separator.join([*others, word]))
    )

    assert is_secret_name(name)


def test_asking_about_names_imports_nothing_heavy():
    script = "import sys; import operable.kernel.redact.names; print(*sorted({'re', 'typing', 'json'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stdout.strip() == ""
