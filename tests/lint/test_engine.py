"""A lint of real tools from beginning to end: what is told, in which forms, and with which exit status."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.lint.engine import LintOptions, lint
from operable.run.validator import Validator
from tests.tool.drive import LIMIT
from tests.zoo.breeding import Mutation, breed

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
BROKEN = Mutation(
    "wrong-count", "python", "3", ("list",), (("notes", '{"count": len(page),', '{"count": len(page) + 1,'),)
)
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def aoi_lint(*words: str, program: str = "aoi-lint") -> subprocess.CompletedProcess[bytes]:
    first = [str(BIN / program), *(["lint"] if program == "operable" else [])]
    env = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run([*first, *words], capture_output=True, timeout=LIMIT, check=False, env=env)


def events(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("program", ["aoi-lint", "operable"])
def test_a_conforming_command_ends_with_0_and_tells_findings_then_verdicts(program, tmp_path: Path):
    done = aoi_lint(str(breed("python", tmp_path)), "--command", "list", "--output", "jsonl", program=program)

    told = events(done)
    assert done.returncode == 0, done.stderr
    assert {event["result"] for event in told if event["type"] == "finding"} == {"pass", "not_applicable"}
    verdicts = {
        event["characteristic"]: event["result"]
        for event in told
        if event.get("command") == "list" and event["type"] == "verdict"
    }
    assert verdicts["Bounded"] == "pass"
    assert verdicts["Idempotent"] == "not_applicable"
    assert told[-1]["timing"][0]["checks"]


@pytest.mark.parametrize("program", ["aoi-lint", "operable"])
def test_a_failure_ends_with_65_and_has_its_evidence(program, tmp_path: Path):
    tool = str(breed("python", tmp_path, BROKEN))

    done = aoi_lint(tool, "--command", "list", "--output", "jsonl", program=program)

    told = events(done)
    failed, *others = [event for event in told if event["type"] == "finding" and event["result"] == "fail"]
    assert {event["name"] for event in others} <= {failed["name"]}  # the same in other calls
    assert done.returncode == 65
    assert (failed["check"], failed["characteristic"], failed["level"], failed["section"]) == (
        3,
        "Verifiable",
        "MUST",
        "4.1",
    )
    assert failed["evidence"]["command_line"] == f"{tool} list --output jsonl < /dev/null"
    assert told[-1] | {"ok": False, "reason": "nonconforming"} == told[-1]


def test_the_lines_of_a_finding_show_it_again_and_leave_the_data_of_whoever_pastes_them_alone(
    tmp_path: Path,
):
    tool = breed("python", tmp_path / "tool", BROKEN)
    mine = tmp_path / "mine"
    mine.mkdir()

    done = aoi_lint(os.path.relpath(tool), "--command", "list", "--only", "3", "--output", "jsonl")

    failed = next(event for event in events(done) if event.get("result") == "fail" and "evidence" in event)
    evidence = failed["evidence"]
    pasted = subprocess.run(
        ["bash", "-c", f"{{ {evidence['prepare']}; }} > /dev/null && {evidence['command_line']}"],
        cwd=mine,
        env=os.environ | {"HOME": str(mine), "TMPDIR": str(tmp_path)},
        capture_output=True,
        timeout=200,
        check=False,
    )
    told = events(pasted)
    assert (
        failed["message"] == f"summary.count is {told[-1]['count']}, but {len(told) - 2} results were emitted"
    )
    assert len(told) > 2  # those that the setup of the profile makes
    assert list(mine.iterdir()) == []


def test_a_command_that_was_only_seen_to_refuse_passes_nothing_but_that(tmp_path: Path):
    tool = breed("python", tmp_path)
    (tmp_path / "aoi-lint.toml").write_text('[commands.list]\nargs = ["--limit", "none"]\n')

    report = lint(str(tool), LintOptions(commands=("list",)))

    found = {finding.label: finding for finding in report.findings if finding.command == "list"}
    assert {label for label, finding in found.items() if finding.result == "pass"} == {"5"}
    assert "fail" not in {finding.result for finding in found.values()}
    assert "give it working `args` in the profile" in found["2"].message


def test_a_tool_that_is_always_in_machine_mode_is_not_blamed_for_taking_no_output_option(tmp_path: Path):
    only_jsonl = Mutation(
        "only-jsonl", "python", "2", ("list",), (("notes", '{"--output", "--format", ', "{"),)
    )
    tool = breed("python", tmp_path, only_jsonl)
    profile = (tmp_path / "aoi-lint.toml").read_text("utf-8")
    (tmp_path / "aoi-lint.toml").unlink()
    options = LintOptions(commands=("list",), only=("2", "3", "4", "9"))

    guessed = lint(str(tool), options)
    (tmp_path / "aoi-lint.toml").write_text(profile.replace("[tool]\n", "[tool]\nmachine = []\n"), "utf-8")
    told = lint(str(tool), options)

    assert {finding.result for finding in guessed.findings if finding.command} == {"untested"}
    assert all("`machine = []`" in finding.message for finding in guessed.findings if finding.command)
    assert {finding.result for finding in told.findings if finding.command} == {"pass"}


def test_the_stream_of_aoi_lint_is_valid_under_its_own_schema(tmp_path: Path):
    schema = json.loads(
        subprocess.check_output([BIN / "aoi-lint", "schema", "--output", "json"], timeout=200)
    )
    validator = Validator(schema)

    told = events(aoi_lint(str(breed("python", tmp_path, BROKEN)), "--command", "list", "--output", "jsonl"))

    assert [flaw for event in told if (flaw := validator.flaw(event)) is not None] == []


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("/nowhere/tool",),
        ("sh", "--only", "14"),
        ("sh", "--report", "pdf=x"),
        ("sh", "--profile", "/nowhere.toml"),
    ],
)
def test_its_own_misuse_ends_with_64(words):
    assert aoi_lint("lint", *words, "--output", "jsonl").returncode == 64


def test_a_baseline_lets_known_failures_pass_and_only_them(tmp_path: Path):
    tool, known = str(breed("python", tmp_path, BROKEN)), str(tmp_path / "known.json")

    assert aoi_lint(tool, "--command", "list", "--save-baseline", known).returncode == 65
    badge = tmp_path / "badge.svg"
    excused = aoi_lint(
        tool, "--command", "list", "--baseline", known, "--report", f"badge={badge}", "--output", "jsonl"
    )
    assert excused.returncode == 0
    # The run is excused, the tool is not.
    assert "fail" in {event["result"] for event in events(excused) if event["type"] == "verdict"}
    assert "pairs fail" in badge.read_text("utf-8")
    Path(known).write_text('{"known": []}')
    assert aoi_lint(tool, "--command", "list", "--baseline", known).returncode == 65
    Path(known).write_text("{")
    assert aoi_lint(tool, "--command", "list", "--baseline", known).returncode == 64


def test_advice_fails_only_with_fail_on_should(tmp_path: Path):
    advice = Mutation(
        "meta-late",
        "python",
        "8",
        ("create",),
        (("notes", '"id": note["id"], "title": title}', '"id": "x", "title": title}'),),
    )
    tool = str(breed("python", tmp_path, advice))

    assert aoi_lint(tool, "--command", "create", "--only", "8").returncode == 0
    assert aoi_lint(tool, "--command", "create", "--only", "8", "--fail-on", "should").returncode == 65


def test_every_report_can_be_read_by_what_reads_such_reports(tmp_path: Path):
    tool = str(breed("python", tmp_path / "tool", BROKEN))
    formats = ("json", "sarif", "junit", "markdown", "html", "badge")

    aoi_lint(tool, "--command", "list", *(f"--report={name}={tmp_path / name}" for name in formats))

    document = json.loads((tmp_path / "json").read_text())["tools"][0]
    assert document["conforming"] is False
    sarif = json.loads((tmp_path / "sarif").read_text())
    result, *others = sarif["runs"][0]["results"]
    assert {other["ruleId"] for other in others} <= {result["ruleId"]}  # the same in other calls
    rules = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert (sarif["version"], result["level"]) == ("2.1.0", "error")
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "unverifiable-end"
    suite = ET.parse(tmp_path / "junit").getroot()[0]
    assert suite.get("failures") == "1"
    assert len(suite.findall("testcase")) == int(suite.get("tests", "0"))
    assert "| list | pass |" in (tmp_path / "markdown").read_text()
    assert "summary.count is 5" in (tmp_path / "html").read_text()
    assert ET.parse(tmp_path / "badge").getroot().tag.endswith("svg")


def test_a_command_that_cannot_be_exercised_is_untested_with_the_reason_and_never_passed(tmp_path: Path):
    program = breed("python", tmp_path)
    profile = tmp_path / "aoi-lint.toml"
    profile.write_text(profile.read_text().replace('args = ["n2"]', 'args = ["n99"]'))

    report = lint(str(program), LintOptions(commands=("delete",), only=("3", "6", "7")))

    assert {finding.result for finding in report.findings} == {"untested"}
    assert all("NOTE_NOT_FOUND" in finding.message for finding in report.findings)


def test_without_a_sandbox_what_needs_one_is_untested(tmp_path: Path):
    report = lint(
        str(breed("python", tmp_path)), LintOptions(commands=("list",), only=("1", "3"), confine=False)
    )

    results = {(finding.label, finding.command): finding.result for finding in report.findings}
    assert results["1", None] == "untested"
    assert results["3", "list"] == "pass"


def test_a_setup_that_is_refused_is_a_mistake_in_the_profile(tmp_path: Path):
    program = breed("python", tmp_path)
    (tmp_path / "aoi-lint.toml").write_text('[tool]\nsetup = [["create"]]\n')

    with pytest.raises(Fail, match="a setup step of the profile failed"):
        lint(str(program), LintOptions())


@pytest.mark.parametrize(
    "name",
    [
        *("true", "cat", "sh", "git"),
        pytest.param("rg", marks=pytest.mark.needs("rg")),
        pytest.param("jq", marks=pytest.mark.needs("jq")),
        pytest.param("cargo", marks=pytest.mark.needs("cargo")),
    ],
)
def test_a_tool_that_knows_nothing_of_all_this_gets_a_truthful_report(name):
    report = lint(name, LintOptions())

    assert [finding.result for finding in report.findings if finding.label == "1"] == ["fail", "fail"]
    assert report.commands == []


@pytest.mark.timeout(600)
def test_outline_passes_everything_that_applies():
    profile = str(ROOT / "examples" / "outline" / "aoi-lint.toml")

    # `outline watch` beats every 15 s, which is longer than is waited for without being told.
    report = lint(str(BIN / "outline"), LintOptions(profile=profile, patience=20.0))

    assert [finding for finding in report.findings if finding.result in ("fail", "untested")] == []
    assert len(report.commands) >= 12


def test_the_pytest_fixture_fails_with_what_was_found(tmp_path: Path):
    good, bad = breed("python", tmp_path / "good"), breed("python", tmp_path / "bad", BROKEN)
    test = tmp_path / "test_tools.py"
    test.write_text(
        f"def test_good(aoi_lint): aoi_lint({str(good)!r}, commands=['list'])\n"
        f"def test_bad(aoi_lint): aoi_lint({str(bad)!r}, commands=['list'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT * 2,
        check=False,
    )

    assert "1 failed, 1 passed" in done.stdout
    assert "summary.count is 5" in done.stdout


@pytest.mark.parametrize("program", ["aoi-lint", "operable"])
def test_a_script_is_linted_with_its_interpreter_by_a_command_line(program, tmp_path: Path):
    tool = breed("python", tmp_path / "a tool", BROKEN)
    tool.chmod(0o600)

    done = aoi_lint(
        "--command", "list", "--only", "3", "--output", "jsonl", "--", "python3", str(tool), program=program
    )

    failed = next(event for event in events(done) if event.get("result") == "fail")
    assert done.returncode == 65
    assert failed["evidence"]["command_line"] == f"python3 '{tool}' list --output jsonl < /dev/null"


def test_a_secret_that_comes_out_in_many_ways_is_one_finding(tmp_path: Path):
    echo = Mutation(
        "echo", "python", "9", ("list",), (("notes", '"unknown option " + name', '"unknown: %s" % words'),)
    )

    report = lint(str(breed("python", tmp_path, echo)), LintOptions(commands=("list",), only=("9",)))

    (failed,) = [finding for finding in report.findings if finding.result == "fail"]
    assert "--no-such-token=…, --no-such-password …" in failed.message


def test_an_empty_plan_of_a_call_that_does_nothing_is_right(tmp_path: Path):
    tool = breed("python", tmp_path)
    profile = tmp_path / "aoi-lint.toml"
    profile.write_text(
        profile.read_text("utf-8").replace('{"title": "x"}\n{"title": "y"}\n{"title": "z"}\n', "")
    )

    report = lint(str(tool), LintOptions(commands=("import",), only=("6",)))

    assert [finding.result for finding in report.findings] == ["untested"]
    assert "its plan is empty" in report.findings[0].message
