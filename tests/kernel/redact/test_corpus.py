"""A labelled corpus: every marked secret goes, no innocent text changes. Precision and recall are measured, and are 1."""

import json
from pathlib import Path

from operable.kernel.redact import redact_text

CORPUS = Path(__file__).parent / "corpus"


def lines(name: str) -> list[str]:
    """The lines of one file; a new line inside of an example is written as ⏎."""
    text = (CORPUS / name).read_text(encoding="utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines() if line]


def marked(line: str) -> tuple[str, list[str]]:
    """The text of a secret example, and what of it is secret: what stands between « and »."""
    pieces = [piece.partition("»")[0] for piece in line.split("«")[1:]]
    return line.replace("«", "").replace("»", ""), [piece for piece in pieces if piece]


def surviving(text: str, secrets: list[str]) -> list[str]:
    masked = redact_text(text)
    return [secret for secret in secrets if any(part and part in masked for part in secret.split("\n"))]


def test_every_marked_secret_of_the_corpus_is_masked():
    examples = [marked(line) for line in lines("secrets.txt")]
    leaks = {text: redact_text(text) for text, secrets in examples if surviving(text, secrets)}

    assert leaks == {}
    assert sum(len(secrets) for _, secrets in examples) >= 200


def test_no_innocent_text_of_the_corpus_is_changed():
    examples = lines("innocent.txt")
    eaten = {text: redact_text(text) for text in examples if redact_text(text) != text}

    assert eaten == {}
    assert len(examples) >= 150


def test_a_secret_of_the_corpus_is_masked_also_inside_of_a_json_string():
    leaks = {}
    for line in lines("secrets.txt"):
        text, secrets = marked(line)
        quoted = json.dumps({"at": 1, "log": f"first\n{text}\nlast"}, ensure_ascii=False)
        inside = [json.dumps(secret, ensure_ascii=False)[1:-1] for secret in secrets if len(secret) > 3]
        if surviving(quoted, inside):
            leaks[quoted] = redact_text(quoted)

    assert leaks == {}


def test_masking_the_corpus_twice_is_masking_it_once():
    changed = [
        text
        for text in (marked(line)[0] for line in lines("secrets.txt"))
        if redact_text(redact_text(text)) != redact_text(text)
    ]

    assert changed == []
