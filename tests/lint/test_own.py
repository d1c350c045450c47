"""Which commands of operable a run lints: those that are new or have changed, and of each group enough for every check."""

from pathlib import Path

import pytest

from tests.lint.own import PROFILE, VERBS, Verdict, chosen, digests, kept

BEFORE = {
    "note add": Verdict("1", 9, ("2", "4")),
    "note list": Verdict("2", 5, ("2", "3")),
    "note show": Verdict("3", 7, ("2", "3")),
    "mail send": Verdict("4", 3, ("2", "4")),
    "check": Verdict("5", 3, ("2",)),
    "schema": Verdict("", 3, ("1", "2")),
}
NOW = {name: verdict.digest for name, verdict in BEFORE.items() if verdict.digest}


def test_each_check_that_a_group_passes_is_passed_by_one_of_it_and_of_equals_by_the_quickest():
    assert chosen(BEFORE, NOW) == ("mail send", "note add", "note list", "schema")


def test_a_command_that_is_new_or_has_changed_is_linted():
    assert set(chosen(BEFORE, NOW | {"note new": "6"})) >= {"note new", "note add", "note list"}
    assert "note show" in chosen(BEFORE, NOW | {"note show": "other"})


def test_a_command_that_is_gone_is_not_linted_and_another_one_takes_its_checks():
    now = {name: digest for name, digest in NOW.items() if name != "note list"}

    assert chosen(BEFORE, now) == ("mail send", "note add", "note show", "schema")


def test_with_nothing_kept_everything_is_linted():
    assert chosen({}, NOW) == tuple(sorted(NOW))


@pytest.mark.parametrize("what", ["its verb", "the profile", "the verb of another"])
def test_a_command_is_another_when_its_verb_or_its_profile_differs(tmp_path: Path, what):
    verb, profile = tmp_path / "verbs" / "flow" / "apply.py", tmp_path / "aoi-lint.toml"
    verb.parent.mkdir(parents=True)
    verb.write_text("one")
    other = verb.with_name("skill_path.py")
    other.write_text("two")
    profile.write_text('[commands."flow apply"]\nargs = ["a"]\n')
    before = digests(tmp_path / "verbs", profile)

    if what == "the profile":
        profile.write_text('[commands."flow apply"]\nargs = ["b"]\n')
    else:
        (verb if what == "its verb" else other).write_text("changed")
    after = digests(tmp_path / "verbs", profile)

    assert set(after) == {"flow apply", "flow skill-path"}
    assert (after["flow apply"] != before["flow apply"]) == (what != "the verb of another")


def test_the_groups_of_operable_are_all_looked_at():
    groups = {path.name for path in VERBS.iterdir() if path.is_dir() and not path.name.startswith("_")}

    words = [name.split() for name in chosen(kept(), digests(VERBS, PROFILE))]

    assert groups == {first for first, *more in words if more}
    assert any(len(each) == 1 for each in words)
