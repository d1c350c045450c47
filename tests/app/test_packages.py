"""The three tiers: how much of a package is read."""

import os

import pytest

from operable.app.packages import activate, read, resource
from operable.kernel.errors import Fail
from tests.app.making import made, package_at
from tests.requirement import requirement


@requirement("appmd:catalog:frontmatter-only")
def test_the_catalog_reads_the_frontmatter_and_opens_nothing_else(tmp_path):
    root = made(tmp_path / "one", body="\udcff".join("ab"[:1]) + "\n")
    with (root / "APP.md").open("ab") as file:
        file.write(
            b"\xff\xfe this body is no UTF-8\n" * 500_000
        )  # reading it would fail: it is neither text nor small
    for folder in ("app", "skills", "schemas"):  # and opening these would wait for ever
        path = root / folder
        if path.exists():
            os.rename(path, tmp_path / f"gone-{folder}")
        os.mkfifo(path)
    package = package_at(root)
    assert package is not None
    assert package.app is not None
    assert (package.slug, package.app.commands[0], package.app.confirmation_required) == (
        "one",
        "list",
        ("remove", "item remove"),
    )


@requirement("appmd:activation:body-and-skills")
def test_activation_reads_the_body_and_the_named_skills(tmp_path):
    root = made(tmp_path / "one")
    (root / "skills" / "other").mkdir()
    os.mkfifo(root / "skills" / "other" / "SKILL.md")  # not named: never opened
    found = activate(package_at(root))
    assert found.body.startswith("# App")
    assert list(found.skills) == ["use"]
    assert found.skills["use"].endswith("Use it.\n")


def test_activation_names_the_skill_that_is_missing(tmp_path):
    root = made(tmp_path / "one")
    (root / "skills" / "use" / "SKILL.md").unlink()
    with pytest.raises(Fail, match=r"skills/use/SKILL\.md") as caught:
        activate(package_at(root))
    assert caught.value.code == "RESOURCE_NOT_FOUND"


@requirement("appmd:resources:on-demand")
def test_a_resource_is_one_file_inside_the_package(tmp_path):
    root = made(tmp_path / "one")
    (tmp_path / "secret").write_text("s")
    (root / "app" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "app" / "pipe")
    package = package_at(root)
    assert b"words" in resource(package, "app/cli.py")
    for path, code in (
        ("../secret", "OUTSIDE_PACKAGE"),
        ("app/link", "OUTSIDE_PACKAGE"),
        ("/etc/passwd", "OUTSIDE_PACKAGE"),
        ("app/none", "RESOURCE_NOT_FOUND"),
        ("app/pipe", "RESOURCE_NOT_FILE"),
    ):
        with pytest.raises(Fail) as caught:
            resource(package, path)
        assert caught.value.code == code


@requirement("appmd:recognition:foreign-files")
@pytest.mark.parametrize(
    "text",
    [
        "# Just prose\n",
        "---\nname: x\ndescription: y\nversion: 1\nstatus: beta\nappType: web\n---\n",
        "---\ntitle: A page\n---\n",
        "",
    ],
)
def test_a_file_that_only_has_the_name_is_no_package(tmp_path, text):
    (tmp_path / "APP.md").write_text(text)
    assert read(str(tmp_path), "project") is None


def test_a_package_that_is_wrong_is_one_with_a_problem(tmp_path):
    root = made(tmp_path / "one", more="scheduling: sometimes")
    package = package_at(root)
    assert package.app is None
    assert package.problem is not None
    assert "scheduling" in package.problem
    with pytest.raises(Fail) as caught:
        package.require()
    assert caught.value.code == "APP_INVALID"


@requirement("appmd:decision:unknown-keys")
def test_unknown_keys_are_kept_out_of_the_way(tmp_path):
    package = package_at(made(tmp_path / "one", more="colour: blue"))
    assert package.app is not None
