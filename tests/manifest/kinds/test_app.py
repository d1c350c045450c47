import pytest

from operable.manifest import App, ManifestError, parse, render
from tests.manifest.samples import APP, changed, errors, loaded, problems, warnings


@pytest.mark.parametrize("field", ["name", "description", "version", "entry", "commands", "skills"])
def test_a_required_field_is_missed(field):
    assert ("FIELD_MISSING", field) in errors("app", changed("app", **{field: None}))


def test_confirmation_holds_for_a_command_and_all_below_it():
    app = loaded("app", changed("app", confirmationRequired=["item"])).as_(App)

    assert app.needs_confirmation("item remove")
    assert app.needs_confirmation("item  remove")
    assert not app.needs_confirmation("items")
    assert not app.needs_confirmation("list")


def test_what_must_be_confirmed_is_a_command():
    [problem] = problems("app", changed("app", confirmationRequired=["lst"]))

    assert (problem.rule, problem.hint) == ("CONFIRMATION_UNKNOWN", "did you mean 'list'?")


def test_scheduling_that_is_supported_is_documented():
    data = changed("app", scheduling="supported")

    assert [(each.rule, each.level) for each in problems("app", data)] == [
        ("SCHEDULING_UNDOCUMENTED", "error")
    ]
    assert problems("app", data, body="# Scheduling\n\nadd, list, item remove\n") == []
    assert loaded("app").as_(App).scheduling == "notSupported"


def test_a_command_that_the_text_does_not_mention_is_a_warning():
    found = problems("app", APP, body="# Commands\n\nadd list items\n")

    assert [(each.rule, each.key) for each in found] == [("COMMAND_UNDOCUMENTED", "commands.2")]


def test_without_its_body_an_app_is_judged_by_its_frontmatter():
    assert parse(render(changed("app", scheduling="supported")), kind="app", body=False).problems == ()


@pytest.mark.parametrize("commands", [["add", "add"], ["--all"], ["a;b"], [" "], []])
def test_commands_are_words_and_unique(commands):
    assert errors("app", changed("app", commands=commands, confirmationRequired=None)) != []


@pytest.mark.parametrize(
    "command, expected",
    [
        ("node 'app/cli.js", ("ENTRY_QUOTES", "error")),
        ("''", ("ENTRY_EMPTY", "error")),
        ("node app/cli.js | tee log", ("ENTRY_SHELL", "warning")),
        ("node app/cli.js --name '$x|y'", None),
    ],
)
def test_the_entry_is_a_list_of_arguments(command, expected):
    found = problems("app", changed("app", entry={"command": command}))

    assert [(each.rule, each.level) for each in found] == ([expected] if expected else [])


@pytest.mark.parametrize("skill", ["Usage", "a--b", "../x", "-a", "x" * 65])
def test_a_skill_is_the_name_of_a_folder(skill):
    assert errors("app", changed("app", skills=[skill])) == [("SKILL_NAME", "skills.0")]


def test_keys_that_the_specification_does_not_name_are_warnings_in_every_mode():
    data = changed("app", comands=["x"])

    for strict in (True, False):
        [problem] = problems("app", data, strict=strict)
        assert (problem.rule, problem.level, problem.hint) == (
            "KEY_UNKNOWN",
            "warning",
            "did you mean commands?",
        )


def test_a_missing_slug_is_a_recommendation():
    assert warnings("app", changed("app", slug=None)) == [("SLUG_MISSING", "slug")]


@pytest.mark.parametrize(
    "text, code",
    [
        ("# Our app\n\nProse.\n", "FRONTMATTER_MISSING"),
        (
            "---\nname: x\ndescription: y\nversion: '1'\nstatus: draft\nappType: web\nentry: {command: x}\n---\n",
            "KIND_UNRELATED",
        ),
        ("---\ntitle: A page\n---\n", "KIND_UNRELATED"),
    ],
)
def test_files_of_the_same_name_that_are_something_else_are_told_apart(text, code):
    with pytest.raises(ManifestError) as caught:
        parse(text, path="APP.md")

    assert caught.value.code == code


@pytest.mark.parametrize("hint", ["schema: agentapplications/v1", "kind: app", "entry: {command: x}"])
def test_an_application_is_recognised_by_any_of_its_marks(hint):
    with pytest.raises(ManifestError) as caught:
        parse(f"---\n{hint}\n---\n", path="APP.md")

    assert {each.rule for each in caught.value.problems} >= {"FIELD_MISSING"}
