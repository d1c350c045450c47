"""Tools as they come, which never heard of us: linted without a crash, and the report says what is true of them."""

import os
import pwd
from pathlib import Path

import pytest

from operable.lint.check import LintFinding
from operable.lint.engine import LintOptions, lint

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]
HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)


def linted(tmp_path: Path, tool: str, profile: str) -> dict[tuple[str, str | None], list[LintFinding]]:
    path = tmp_path / "aoi-lint.toml"
    path.write_text(profile)
    found: dict[tuple[str, str | None], list[LintFinding]] = {}
    for finding in lint(tool, LintOptions(profile=str(path))).findings:
        found.setdefault((finding.label, finding.command), []).append(finding)
    return found


def results(found, check: str, command: str | None) -> set[str]:
    return {finding.result for finding in found[check, command]}


def messages(found, check: str, command: str | None) -> str:
    return "\n".join(finding.message for finding in found[check, command])


@pytest.mark.needs("rg")
def test_ripgrep_speaks_typed_lines_and_has_another_idea_of_a_summary(tmp_path: Path):
    found = linted(
        tmp_path,
        "rg",
        '[tool]\nmachine = ["--json"]\nfiles = { "a.txt" = "milk\\nbread\\n" }\n'
        '[commands.search]\nwords = []\nargs = ["milk", "a.txt"]\n',
    )

    assert "the event type `summary` is reserved" in messages(found, "2", "search")
    assert "without a terminal aoi:summary" in messages(found, "3", "search")
    assert "there is no aoi:meta" in messages(found, "13", "search")
    assert results(found, "9", "search") == {"pass"}
    assert results(found, "help-missing", None) == {"pass"}
    # It was asked for its schema, and had none: of the names in it nothing good is said.
    assert results(found, "2", None) == {"untested"}


@pytest.mark.needs("jq")
def test_jq_prints_json_that_is_no_event(tmp_path: Path):
    found = linted(
        tmp_path,
        "jq",
        '[tool]\nmachine = ["-c"]\nfiles = { "a.json" = "[{\\"a\\":1},{\\"a\\":2}]" }\n'
        '[commands.items]\nwords = []\nargs = [".[]", "a.json"]\n',
    )

    assert "it has no `type` that is a string" in messages(found, "2", "items")
    assert results(found, "13", "items") == {"untested"}


def test_git_says_nothing_at_all_and_that_is_no_pass(tmp_path: Path):
    found = linted(
        tmp_path,
        "git",
        '[tool]\nmachine = []\nsetup = [["init", "-q", "."]]\n[commands.status]\nargs = ["--porcelain"]\n',
    )

    assert results(found, "2", "status") == {"untested"}
    assert "exit status 0 without a terminal aoi:summary" in messages(found, "3", "status")
    # Its only fault there: an operand that is not UTF-8 is answered with text.
    assert [finding.message.partition(":")[0] for finding in found["5", "status"]] == [
        "an operand that is not UTF-8"
    ]


@pytest.mark.needs("cargo")
def test_cargo_metadata_is_one_document_and_no_stream(tmp_path: Path):
    homes = f'RUSTUP_HOME = "{HOME}/.rustup", CARGO_HOME = "{HOME}/.cargo"'
    package = "[package]\\nname='a'\\nversion='0.1.0'\\n"
    found = linted(
        tmp_path,
        "cargo",
        f'[tool]\nmachine = []\nenv = {{ {homes} }}\nfiles = {{ "Cargo.toml" = "{package}", "src/main.rs" = "fn main() {{}}" }}\n'
        '[commands.metadata]\nargs = ["--format-version", "1", "--offline", "--no-deps"]\n',
    )

    assert "it has no `type` that is a string" in messages(found, "2", "metadata")
    assert results(found, "1", None) == {"fail"}


@pytest.mark.needs("docker")
def test_the_docker_client_without_its_daemon_is_judged_by_what_it_does(tmp_path: Path):
    found = linted(
        tmp_path, "docker", '[tool]\nmachine = ["--format", "json"]\n[commands.version]\n[commands.ps]\n'
    )

    assert results(found, "1", None) == {"fail"}
    assert results(found, "2", "ps") == {"untested"}
    assert "says nothing on stdout" in messages(found, "3", "ps")
    assert results(found, "5", "ps") == {"pass"}
