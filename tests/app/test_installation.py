"""Applications from elsewhere, as a user gets them: shown, agreed to, updated with the difference, removed."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.app.making import made
from tests.cli.drive import operable
from tests.distribution.test_signature import key as key  # noqa: PLC0414 - a fixture

LIST = 'say({"ok": True, "words": words})'


@pytest.fixture
def app(tmp_path):
    home = {"OPERABLE_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}

    def run(*words, **options):
        return operable("app", *words, cwd=tmp_path, env=home, **options)

    return run


@pytest.fixture
def source(tmp_path) -> Path:
    return made(tmp_path / "elsewhere" / "notes", LIST, slug="notes")


def place(tmp_path: Path) -> Path:
    return tmp_path / "home/apps/notes"


def test_what_it_may_do_is_shown_and_nothing_is_in_place_before_a_yes(app, source, tmp_path):
    plan = app("add", str(source), "--dry-run")
    refused = app("add", str(source))
    assert not place(tmp_path).exists()
    done = app("add", str(source), "--confirm")
    listed = app("list")

    (change,) = plan.of("aoi:plan")
    assert (change["name"], change["signature"], change["rights"]) == ("notes", "none", ["all of yours"])
    assert change["confirmation_required"] == ["remove", "item remove"]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.results[0]["path"] == str(place(tmp_path))
    assert [(each["slug"], each["trust"]) for each in listed.results] == [("notes", "approved")]
    assert app("call", "notes", "--", "list").exit_code == 0
    assert app("add", str(source), "--dry-run").error["code"] == "PACKAGE_EXISTS"


def test_what_changes_between_looking_and_agreeing_is_not_installed(app, source, tmp_path):
    plan = app("add", str(source), "--dry-run")
    (source / "app/cli.py").write_text("print(1)\n")

    done = app("add", str(source), "--confirm", plan.summary["plan_digest"])

    assert done.summary["ok"] is False
    assert not place(tmp_path).exists()


def test_an_added_application_that_is_changed_in_place_does_not_run(app, source, tmp_path):
    app("add", str(source), "--confirm")
    (place(tmp_path) / "app/cli.py").write_text("print('{}')\n")

    done = app("call", "notes", "--", "list")

    assert (done.error["category"], done.error["code"]) == ("authz", "APP_NOT_APPROVED")


def test_an_update_shows_the_difference_and_keeps_the_data(app, source, tmp_path):
    app("add", str(source), "--confirm")
    (place(tmp_path) / "app/state").mkdir()
    (place(tmp_path) / "app/state/notes.json").write_text("{}")
    same = app("update", "notes", "--dry-run")
    made(
        source,
        LIST + "\n# more",
        slug="notes",
        commands="[list, get, remove, item, item add, item remove, wipe]",
    )
    (source / "APP.md").write_text(
        (source / "APP.md").read_text().replace("version: 1.0.0", "version: 2.0.0")
    )
    (source / "app/more.py").write_text("")

    plan = app("update", "notes", "--dry-run")
    refused = app("update", "notes")
    done = app("update", "notes", "--confirm")

    assert (same.summary["ok"], same.of("aoi:plan")) == (True, [])
    (change,) = plan.of("aoi:plan")
    assert (change["was_version"], change["version"], change["added"]) == ("1.0.0", "2.0.0", ["app/more.py"])
    assert change["changed"] == ["APP.md", "app/cli.py"]
    assert "wipe" in change["commands"]
    assert "wipe" not in change["was_commands"]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.results[0]["version"] == "2.0.0"
    assert (place(tmp_path) / "app/state/notes.json").read_text() == "{}"
    assert app("call", "notes", "--", "list").exit_code == 0


@pytest.mark.needs("git")
def test_an_application_comes_from_a_tag_of_a_repository(app, source, tmp_path):
    def git(*words):
        subprocess.run(["git", *words], cwd=source, check=True, capture_output=True, timeout=60)

    def tagged(name):
        git("add", ".")
        git("-c", "user.name=m", "-c", "user.email=m@example.org", "commit", "-q", "-m", name)
        git("tag", name)

    git("init", "-q", "-b", "main")
    tagged("v1")
    (source / "app/more.py").write_text("")
    tagged("v2")

    done = app("add", f"git+{source}", "--revision", "v1", "--confirm")
    first = sorted(path.name for path in (place(tmp_path) / "app").iterdir())
    later = app("update", "notes", "--revision", "v2", "--confirm")

    assert len(done.results[0]["revision"]) == 40
    assert first == ["cli.py"]
    assert later.results[0]["revision"] != done.results[0]["revision"]
    assert (place(tmp_path) / "app/more.py").exists()
    assert not (place(tmp_path) / ".git").exists()


def test_signed_packages_are_known_and_are_not_replaced_by_others(app, source, tmp_path, key):
    signers = tmp_path / "home/config/allowed_signers"
    signers.parent.mkdir(parents=True)
    unsigned = app("add", str(source), "--signed", "--dry-run")
    signed = app("sign", str(source), "--key", str(key))
    unknown = app("add", str(source), "--signed", "--dry-run")
    signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}\n")
    added = app("add", str(source), "--signed", "--confirm")
    (source / "app/cli.py").write_text("print('{}')\n")
    broken = app("update", "notes", "--dry-run")
    (source / "PACKAGE.sig").unlink()
    other = app("update", "notes", "--dry-run")

    assert [each.error["code"] for each in (unsigned, unknown)] == [
        "PACKAGE_NOT_SIGNED",
        "PACKAGE_NOT_SIGNED",
    ]
    assert signed.results[0]["key"] in unknown.error["message"]
    assert (added.results[0]["signature"], added.results[0]["signer"]) == ("allowed", "ada@example.org")
    assert broken.error["code"] == "PACKAGE_SIGNATURE_INVALID"
    assert (other.error["category"], other.error["code"]) == ("authz", "PACKAGE_SIGNER_CHANGED")


def test_remove_takes_the_data_along_and_only_what_was_added(app, source, tmp_path):
    app("add", str(source), "--confirm")
    made(tmp_path / "home/apps/mine", LIST, slug="mine")

    refused = app("remove", "notes")
    own = app("remove", "mine", "--confirm")
    done = app("remove", "notes", "--confirm")

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert own.error["code"] == "PACKAGE_NOT_ADDED"
    assert done.results[0]["name"] == "notes"
    assert not place(tmp_path).exists()
    assert (tmp_path / "home/apps/mine").exists()


@pytest.mark.parametrize("slug", ["../notes", ".", "Notes!"])
def test_a_slug_cannot_lead_elsewhere(app, tmp_path, slug):
    source = made(tmp_path / "elsewhere/notes", LIST, slug="notes")
    text = (source / "APP.md").read_text()
    (source / "APP.md").write_text(text.replace("slug: notes", f"slug: '{slug}'"))

    done = app("add", str(source), "--confirm")

    assert done.error["code"] == "APP_INVALID"
    assert app("remove", slug, "--confirm").error["code"] == "PACKAGE_NOT_ADDED"
