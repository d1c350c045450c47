import pytest

from operable.manifest.schema_check import validator
from operable.spec import schema, schema_names
from tests.manifest.samples import SAMPLES, changed, problems


def message(kind: str = "agent-cli", /, **changes: object) -> str:
    [problem] = problems(kind, changed(kind, **changes))
    return str(problem)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"version": 1.0}, "version must be a text, not a number (put it in quotes)"),
        ({"bin_args": "acp"}, "bin_args must be a list, not a text"),
        ({"tags": ["a", "a"]}, "tags repeats a value"),
        (
            {"session": {"mode": "persistant"}},
            "persistent, resumable, not 'persistant' (did you mean persistent?)",
        ),
        ({"session": {"max_turns": 0}}, "session.max_turns must be at least 1"),
        ({"description": "x" * 2001}, "description must have at most 2000 characters"),
        ({"version_check": {"cmd": "x", "parse": "(x)"}}, "version_check.range is missing"),
        (
            {"install": [{"method": "pip", "package": "x", "usr": True}]},
            "'usr' is not a field here (did you mean user?)",
        ),
    ],
)
def test_a_complaint_says_what_is_expected_in_words(changes, words):
    assert words in message(**changes)


def test_a_value_that_could_be_a_secret_is_not_repeated():
    assert "sk-live" not in message(id="sk-live_0123456789abcdefghijklmnop")
    assert "hunter2" not in message("secrets", secrets="hunter2")


def test_a_file_full_of_mistakes_is_answered_in_full():
    found = problems("agent-cli", changed("agent-cli", **{f"unknown{number}": 1 for number in range(2000)}))

    assert len(found) == 2000


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_samples_are_valid_under_the_published_schemas_as_they_stand(kind):
    assert validator(f"manifest-{kind}").is_valid(SAMPLES[kind])


def test_shared_blocks_are_defined_once():
    blocks = set(schema("manifest-blocks")["$defs"])

    for name in schema_names():
        if name.startswith("manifest-") and name != "manifest-blocks":
            assert set(schema(name).get("$defs", {})) & blocks == set()
