"""The wrapped pip against the real one: packages that build themselves, into folders, without any index."""

import json
from pathlib import Path

import pytest

from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

# pip starts in a second; with the machine full of others, in many.
PATIENCE = 240.0
pytestmark = pytest.mark.timeout(900)

PROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "{name}"
version = "1.0"
"""
BACKEND = """import os, zipfile
INFO = "{name}-1.0.dist-info/"
METADATA = "Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\nSummary: \\u00e9 {{}}\\n{needs}"
def build_wheel(folder, config_settings=None, metadata_directory=None):
    wheel = "{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as file:
        file.writestr("{name}.py", "")
        file.writestr(INFO + "METADATA", METADATA)
        file.writestr(INFO + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(INFO + "RECORD", "")
    print('{{"install": []}}')
    return wheel
"""


def package(folder: Path, name: str, needs: str = "") -> str:
    place = folder / name
    place.mkdir()
    (place / "pyproject.toml").write_text(PROJECT.format(name=name))
    (place / "backend.py").write_text(BACKEND.format(name=name, needs=needs))
    return f"./{name}"


def pip(folder: Path, *words: str, env: dict[str, str] | None = None):
    return wrap("pip", *words, cwd=folder, env={"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"} | (env or {}),
                timeout=PATIENCE)  # fmt: skip


def test_nothing_is_installed_without_confirmation_and_the_plan_is_what_comes(tmp_path):
    one = package(tmp_path, "one")
    words = ["install", one, "--no-index", "--target", "there"]

    unasked = pip(tmp_path, *words, "--dry-run")
    plan = pip(tmp_path, *words, "--dry-run", "--run-project-code")
    refused = pip(tmp_path, *words, "--run-project-code")
    assert not (tmp_path / "there").exists()
    done = pip(tmp_path, *words, "--confirm", plan.summary["plan_digest"])

    assert [(event["action"], event["target"]) for event in plan.of("aoi:plan")] == [("install", "one==1.0")]
    assert (unasked.error["category"], unasked.error["code"]) == ("authz", "PROJECT_CODE")
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [(event["id"], event["requested"], event["is_direct"]) for event in done.results] == [
        ("one==1.0", True, True)
    ]
    assert (tmp_path / "there" / "one.py").exists()


def test_what_is_installed_can_be_listed_and_examined_page_by_page(tmp_path):
    words = ["install", package(tmp_path, "one"), package(tmp_path, "two"), "--no-index", "--target", "there"]
    assert pip(tmp_path, *words, "--confirm").exit_code == 0

    first = pip(tmp_path, "list", "--path", "there", "--limit", "1")
    rest = pip(tmp_path, "list", "--path", "there", "--cursor", first.summary["next_cursor"])
    examined = pip(tmp_path, "inspect", "--path", "there")

    assert [(event["name"], event["version"]) for event in first.results + rest.results] == [
        ("one", "1.0"),
        ("two", "1.0"),
    ]
    assert sorted(event["name"] for event in examined.results) == ["one", "two"]
    assert examined.results[0]["metadata"]["summary"] == "é {}"


def test_an_empty_folder_is_an_answer(tmp_path):
    (tmp_path / "empty").mkdir()

    for command in ("list", "inspect"):
        done = pip(tmp_path, command, "--path", "empty")
        assert (done.exit_code, done.results) == (0, []), command


def test_what_cannot_be_had_is_told_apart(tmp_path):
    missing = pip(tmp_path, "install", "operable-nowhere", "--no-index", "--target", "t", "--confirm")
    needy = package(tmp_path, "needy", needs="Requires-Dist: operable-nowhere\\n")
    unmet = pip(tmp_path, "install", needy, "--no-index", "--target", "t", "--confirm")
    nonsense = pip(tmp_path, "install", "a b c", "--no-index", "--target", "t", "--confirm")

    assert (missing.error["category"], missing.error["code"]) == ("not_found", "PACKAGE_NOT_FOUND")
    assert unmet.error["code"] == "PACKAGE_NOT_FOUND"
    assert (nonsense.error["category"], nonsense.error["code"]) == ("validation", "REQUIREMENT_INVALID")
    assert not (tmp_path / "t").exists()


def test_with_only_binary_no_code_of_a_package_is_run(tmp_path):
    package(tmp_path, "one")
    (tmp_path / "one" / "backend.py").write_text("open('../ran', 'w')\n")
    (tmp_path / "links").mkdir()

    done = pip(
        tmp_path, "install", "one", "--only-binary", "--no-index", "--find-links", "links", "--dry-run"
    )

    assert done.error["code"] == "PACKAGE_NOT_FOUND"
    assert not (tmp_path / "ran").exists()


def test_a_requirement_that_is_an_option_reaches_pip_as_a_requirement(tmp_path):
    done = pip(tmp_path, "install", "--dry-run", "--no-index", "--", "--target=stolen")

    assert done.error["code"] == "REQUIREMENT_INVALID"
    assert not (tmp_path / "stolen").exists()


def test_to_install_nothing_is_misuse(tmp_path):
    assert pip(tmp_path, "install", "--dry-run").error["code"] == "MISSING_OPERAND"


@pytest.mark.parametrize("prints", ["", "Successfully installed one\n", '{"version": "1", "install": [{"met'])
def test_without_a_whole_report_nothing_counts_as_installed(tmp_path, prints):
    report = json.dumps(
        {"install": [{"metadata": {"name": "a", "version": "1"}, "download_info": {"url": "file:///a"}}]}
    )
    script = f"case \" $* \" in *' --dry-run '*) printf %s '{report}';; *) printf %s '{prints}';; esac"

    done = pip(tmp_path, "install", "a", "--confirm", env=stand_in(tmp_path, "pip", then=script))

    assert (done.results, done.error["code"], done.summary["ok"]) == ([], "UPSTREAM_INCOMPLETE", False)


def test_passwords_in_addresses_are_not_shown(tmp_path):
    url = "https://me:verysecret1@example.org/a-1.whl"
    report = json.dumps(
        {"install": [{"metadata": {"name": "a", "version": "1"}, "download_info": {"url": url}}]}
    )

    done = pip(tmp_path, "install", f"a @ {url}", "--dry-run", env=stand_in(tmp_path, "pip", prints=report))

    assert [event["target"] for event in done.of("aoi:plan")] == ["a==1"]
    assert b"verysecret1" not in done.stdout


@pytest.mark.parametrize(
    "settings", ["[list]\nexclude = one\n", "[global]\nquiet = 3\n", "[list]\neditable = true\n"]
)
def test_what_is_installed_is_told_whatever_is_configured(tmp_path, settings):
    there = "one-1.0.dist-info"
    (tmp_path / "into" / there).mkdir(parents=True)
    (tmp_path / "into" / there / "METADATA").write_text("Metadata-Version: 2.1\nName: one\nVersion: 1.0\n")
    (tmp_path / "pip.conf").write_text(settings)
    env = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}

    for command in ("list", "inspect"):
        done = wrap("pip", command, "--path", "into", cwd=tmp_path, env=env, timeout=PATIENCE)
        assert [event["name"] for event in done.results] == ["one"]


def test_an_index_that_cannot_be_reached_is_no_missing_package(tmp_path):
    env = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_DEFAULT_TIMEOUT": "1"}
    done = wrap("pip", "install", "--dry-run", "some", cwd=tmp_path, env=env, timeout=PATIENCE)

    assert (done.error["category"], done.error["code"]) == ("temporary", "INDEX_UNREACHABLE")
