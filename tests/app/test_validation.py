"""Every problem of a package, at once."""

import pytest

from operable.app.validation import validate
from operable.kernel.errors import Fail
from tests.app.making import made
from tests.requirement import requirement


def found(root, level="error"):
    return {
        (problem.path.removeprefix(f"{root}/"), problem.rule)
        for problem in validate(str(root)).problems
        if problem.level == level
    }


def test_a_package_that_conforms_has_no_problems(tmp_path):
    root = made(tmp_path / "one")
    (root / "schemas").mkdir()
    (root / "schemas" / "item.json").write_text('{"type": "object"}')
    validation = validate(str(root))
    assert (validation.ok, validation.problems) == (True, ())
    assert validate(str(root / "APP.md")).ok


def test_a_schema_that_is_not_text_is_a_problem_at_its_beginning(tmp_path):
    root = made(tmp_path / "one")
    (root / "schemas").mkdir()
    (root / "schemas" / "item.json").write_bytes(b'{"type": "\xff"}')

    (problem,) = validate(str(root)).problems

    assert (problem.rule, problem.line, problem.column) == ("SCHEMA_NOT_JSON", 1, 1)


@requirement("appmd:conformance:layout", "appmd:validate:all-at-once")
def test_all_problems_are_found_in_one_go_each_with_its_place_and_fix(tmp_path):
    root = made(
        tmp_path / "one",
        entry="./app/none app/gone.py",
        commands="[list, list]",
        more="confirmationRequired: [lst]\nscheduling: supported",
        body="list\n",
    )
    (root / "app" / "cli.py").unlink()
    (root / "app").rmdir()
    (root / "skills" / "use" / "SKILL.md").write_text(
        f"---\nname: Use It\ndescription: ''\ncompatibility: {'x' * 501}\ncolour: red\n---\n"
    )
    (root / "skills" / "stray").mkdir()
    (root / "skills" / "stray" / "SKILL.md").write_text("---\nname: other\ndescription: d\n---\n")
    (root / "schemas").mkdir()
    (root / "schemas" / "bad.json").write_text('{\n "type": }')
    (root / "schemas" / "worse.json").write_text('{"type": "objekt"}')
    assert found(root) == {
        ("APP.md", "ID_TWICE"),
        ("APP.md", "CONFIRMATION_UNKNOWN"),
        ("APP.md", "SCHEDULING_UNDOCUMENTED"),
        ("APP.md", "FOLDER_MISSING"),
        ("APP.md", "ENTRY_PROGRAM_MISSING"),
        ("APP.md", "ENTRY_FILE_MISSING"),
        ("skills/use/SKILL.md", "SKILL_NAME"),
        ("skills/use/SKILL.md", "SKILL_DESCRIPTION"),
        ("skills/use/SKILL.md", "SKILL_COMPATIBILITY"),
        ("skills/stray/SKILL.md", "SKILL_NOT_DIRECTORY"),
        ("schemas/bad.json", "SCHEMA_NOT_JSON"),
        ("schemas/worse.json", "SCHEMA_INVALID"),
    }
    assert {("skills/use/SKILL.md", "SKILL_KEY"), ("skills/stray/SKILL.md", "SKILL_NOT_NAMED")} <= found(
        root, "warning"
    )
    for problem in validate(str(root)).problems:
        assert problem.line >= 1
        assert problem.message
    (bad,) = [problem for problem in validate(str(root)).problems if problem.rule == "SCHEMA_NOT_JSON"]
    assert bad.line == 2
    assert all(
        problem.hint
        for problem in validate(str(root)).problems
        if problem.rule.startswith(("SKILL", "ENTRY", "SCHEMA_", "FOLDER"))
    )


def test_skills_and_folders_that_are_missing(tmp_path):
    root = made(tmp_path / "one")
    (root / "skills" / "use" / "SKILL.md").unlink()
    assert found(root) == {("APP.md", "SKILL_MISSING")}
    (root / "skills" / "use").rmdir()
    (root / "skills").rmdir()
    assert found(root) == {("APP.md", "SKILL_MISSING"), ("APP.md", "FOLDER_MISSING")}


def test_a_frontmatter_that_cannot_be_read_does_not_hide_the_rest(tmp_path):
    root = made(tmp_path / "one")
    (root / "APP.md").write_text("---\nkind: app\n  bad: [\n---\n")
    (root / "app" / "cli.py").unlink()
    (root / "app").rmdir()
    assert ("APP.md", "FOLDER_MISSING") in found(root)
    assert not validate(str(root)).ok


@requirement("appmd:recognition:foreign-files")
@pytest.mark.parametrize("text", ["# Prose\n", "---\nappType: web\nname: x\n---\n"])
def test_a_file_of_another_format_is_told_apart(tmp_path, text):
    (tmp_path / "APP.md").write_text(text)
    validation = validate(str(tmp_path))
    assert (validation.ok, validation.related) == (False, False)


def test_no_file_is_not_found(tmp_path):
    with pytest.raises(Fail) as caught:
        validate(str(tmp_path))
    assert caught.value.code == "APP_NOT_FOUND"


@requirement("appmd:decision:slug-and-folder")
def test_a_slug_that_is_not_the_folder_is_a_warning(tmp_path):
    root = made(tmp_path / "one", slug="two")
    assert validate(str(root)).ok
    assert found(root, "warning") == {("APP.md", "NAME_NOT_DIRECTORY")}


def test_what_could_never_be_approved_is_said(tmp_path):
    root = made(tmp_path / "one")
    (root / "app" / "out").symlink_to("/etc/passwd")
    assert found(root) == {("app/out", "APP_CANNOT_BE_PINNED")}


@requirement("appmd:validate:all-at-once")
def test_everything_that_could_never_be_approved_is_said_also_of_a_package_that_is_wrong_otherwise(tmp_path):
    root = made(tmp_path / "one", commands="[]")
    for name in ("app/out", "schemas/too.json"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to("/nowhere")
    assert {("app/out", "APP_CANNOT_BE_PINNED"), ("schemas/too.json", "APP_CANNOT_BE_PINNED")} <= found(root)


def test_an_entry_outside_of_the_package_is_said_with_its_line(tmp_path):
    (tmp_path / "run.sh").write_text("")
    root = made(tmp_path / "one", entry="sh ../run.sh")
    (problem,) = validate(str(root)).problems
    assert (problem.rule, problem.line, problem.level) == ("APP_ENTRY_OUTSIDE", 9, "error")
