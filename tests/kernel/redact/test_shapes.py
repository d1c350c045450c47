"""Tokens that are known by their shape."""

import pytest

from operable.kernel.redact import redact_text

# Joined at run time, so that no scanner takes this file for a leak.
SHAPES = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws-session": "ASIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2" * 9,
    "github-server": "ghs_" + "a1B2" * 9,
    "github-fine": "github_pat_" + "a1B2_" * 16,
    "gitlab": "glpat-" + "a1B2-c3D4_e5F6g7H8",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "google-oauth": "ya29." + "a0AfH6SMBxxxxxxxxxxxx",
    "stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "openai": "sk-" + "proj-abcdEFGH1234ijklMNOP",
    "anthropic": "sk-ant-" + "api03-abcdefghijklmnop1234",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w5N",
    "npm": "npm_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "pypi": "pypi-" + "AgEIcHlwaS5vcmcCJDEyMzQ1Njc4",
    "huggingface": "hf_" + "abcdefghijklmnopqrstuvwxyz1234",
    "sendgrid": "SG." + "abcdefghijklmnop123456." + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
    "vault": "hvs." + "CAESIAbcdefghijklmnopqrstuv",
    "telegram": "123456789:" + "AAabcdefghijklmnopqrstuvwxyz0123456",
    "age": "AGE-SECRET-KEY-1" + "QQPQQPQQPQQPQQPQQPQQPQQPQQP",
}
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "frame", ["{}", "clone failed for {} today", '"{}"', "({})", "x={}", "a/{}/b", "\n{}\n"]
)
def test_issued_tokens_are_masked_wherever_they_stand(name, frame):
    masked = redact_text(frame.format(SHAPES[name]))
    assert SHAPES[name] not in masked
    assert "[redacted]" in masked
    assert redact_text(masked) == masked


@pytest.mark.parametrize("text", [PRIVATE_KEY, PRIVATE_KEY.replace("\n", "\\n"), PRIVATE_KEY[:60]])
def test_private_keys_are_masked_whole_even_when_cut_off(text):
    masked = redact_text(f"before {text}")
    assert masked == "before [redacted]"


@pytest.mark.parametrize(
    "text",
    [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "task-force risk-based sk-learn",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "ghp_short",
        "doc_01hzy3v9k2",
    ],
)
def test_digests_identifiers_and_words_stay(text):
    assert redact_text(text) == text
