"""What all importers share: settings as people write them, no secret in a manifest, and nothing guessed in silence."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.importer import (
    AgentCommand,
    AgentDraft,
    Left,
    Unusable,
    convert,
    draft,
    importer,
    importer_names,
    kebab,
    parse,
)
from operable.kernel.errors import Fail
from operable.manifest import load

SETTINGS = """
{
  // a comment with "quotes" and a , before a }
  "url": "http://example.com//not-a-comment", /* another
  one */
  "list": [1, 2,],
  "text": "a, ] b /* no comment */ \\" //",
}
"""


def test_settings_with_comments_and_trailing_commas_are_read():
    assert parse(SETTINGS, "settings.json") == {
        "url": "http://example.com//not-a-comment",
        "list": [1, 2],
        "text": 'a, ] b /* no comment */ " //',
    }


@given(st.text())
def test_whatever_is_in_a_file_it_is_read_or_refused(text):
    with suppress(Fail):
        parse(text, "x")


@pytest.mark.parametrize("name", importer_names())
@pytest.mark.parametrize(
    "found", [None, 3, [], "x", {}, {"agents": 3}, {"agent_servers": []}, {"agents": [3]}]
)
def test_what_is_no_file_of_that_kind_is_refused(name, found):
    with pytest.raises(Fail) as refused:
        convert(name, found, "file")
    assert refused.value.code == "IMPORT_UNREADABLE"


@pytest.mark.parametrize("name", importer_names())
def test_an_importer_is_called_like_its_file_and_says_where_its_files_lie(name):
    assert importer(name).name == name
    assert importer(name).title
    assert isinstance(importer(name).places, tuple)


def test_a_draft_is_a_manifest_that_loads_with_its_profile(tmp_path):
    made = draft(AgentCommand("Gemini CLI", "gemini", ("--acp",), ("GEMINI_API_KEY",)))
    folder = tmp_path / made.name
    folder.mkdir()
    for name, text in made.files().items():
        (folder / name).write_text(text)

    loaded = load(folder / "AGENT-CLI.md", workspace=folder)

    assert (loaded.value.id, loaded.value.bin, loaded.value.bin_args) == ("gemini-cli", "gemini", ("--acp",))
    assert loaded.value.sandbox.env.passthrough == ("GEMINI_API_KEY",)
    assert loaded.value.capabilities.streaming
    assert loaded.value.capabilities.tool_calls
    assert loaded.value.capabilities.bidirectional
    assert loaded.bound["acp"].value.aip44.tier == "governance-aware"
    assert any("GEMINI_API_KEY" in note for note in made.notes)
    assert all(note in loaded.body for note in made.notes)


@pytest.mark.parametrize(
    "command",
    [
        AgentCommand("leaky", "agent", ("--api-key", "sk-ant-api03-" + "a" * 40)),
        AgentCommand("spaced", "my agent"),
        AgentCommand("odd", "agent", (), ("NOT A NAME",)),
        AgentCommand("unversioned", "agent", version="latest"),
    ],
)
def test_what_no_manifest_can_or_may_say_is_left_out(command):
    with pytest.raises(Unusable):
        draft(command)


def test_the_value_of_a_variable_is_nowhere():
    found = {"agent_servers": {"a1": {"command": "x", "env": {"TOKEN": "hunter2-hunter2"}}}}

    made = convert("zed", found, "settings.json")

    assert "TOKEN" in str(made)
    assert "hunter2" not in str(made)


def test_one_bad_entry_does_not_keep_the_others_out():
    found = {"agent_servers": {"good": {"command": "x"}, "bad": {"type": "registry"}, "worse": 3}}

    made = convert("jetbrains", found, "acp.json")

    assert [type(each) for each in made] == [AgentDraft, Left, Left]
    assert "command" in made[1].why  # type: ignore[union-attr]


@given(st.text(max_size=200))
def test_every_name_becomes_one_that_a_manifest_can_have(name):
    made = kebab(name)
    assert 2 <= len(made) <= 80
    assert all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in made)
    assert made[0] != "-"
