"""The wrapped pytest against the real one."""

import json
from pathlib import Path

import pytest

from tests.wrap.drive import raw, wrap
from tests.wrap.wrappers.stand_in import stand_in

# An inner pytest starts in a second; with the machine full of others, in many.
PATIENCE = 240.0
# The plugins of this project are not those of the tested one.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
pytestmark = pytest.mark.timeout(600)

SUITE = """
import warnings
import pytest

def test_good(record_property):
    record_property("answer", 42)
    print("to people")
    warnings.warn("careful")

def test_bad():
    assert [1, 2] == [1, 3]

@pytest.mark.skip(reason="not now")
def test_skipped(): ...

@pytest.mark.xfail(reason="known")
def test_expected(): assert 0

@pytest.fixture
def broken(): raise ValueError("no setup")

def test_error(broken): ...
"""


def suite(folder: Path, text: str, name: str = "test_it.py") -> Path:
    (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    return folder


def run(folder: Path, *words: str, env: dict[str, str] | None = None, command: str = "run"):
    return wrap("pytest", command, *words, cwd=folder, env=ALONE | (env or {}), timeout=PATIENCE)


def test_each_test_is_told_and_failures_make_it_partial(tmp_path):
    done = run(suite(tmp_path, SUITE))

    assert [(event["node_id"].rpartition("::")[2], event["when"], event["outcome"]) for event in done.of("test")] == [
        ("test_good", "call", "passed"),
        ("test_bad", "call", "failed"),
        ("test_skipped", "setup", "skipped"),
        ("test_expected", "call", "xfailed"),
        ("test_error", "setup", "failed"),
    ]  # fmt: skip
    good, bad, skipped, expected, error = done.of("test")
    assert good["sections"] == [["Captured stdout call", "to people\n"]]
    assert good["user_properties"] == [["answer", 42]]
    assert bad["message"].startswith("assert [1, 2] == [1, 3]")
    assert (bad["file"], bad["line"]) == ("test_it.py", 10)
    assert (skipped["message"], expected["wasxfail"]) == ("Skipped: not now", "known")
    assert (skipped["outcome"], expected["outcome"]) == ("skipped", "xfailed")
    assert "no setup" in error["message"]
    assert [event["message"] for event in done.of("python_warning")] == ["careful"]
    assert (done.error["category"], done.error["code"]) == ("partial", "TESTS_FAILED")
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)
    assert done.summary["tests"] == {"passed": 1, "failed": 2, "skipped": 1, "xfailed": 1}
    assert done.summary["upstream"] == {"program": "pytest", "exit": 1, "meaning": "tests_failed"}


def test_a_green_run_is_ok_and_leaves_nothing_behind(tmp_path):
    done = run(suite(tmp_path, "def test_good(): ...\n"))

    assert (done.exit_code, done.summary["ok"], done.of("aoi:warning")) == (0, True, [])
    assert [path.name for path in tmp_path.iterdir()] == ["test_it.py"]


@pytest.mark.parametrize("text, words", [("", []), ("def test_a(): ...\n", ["--keyword", "nothing"])])
def test_a_run_without_tests_is_no_success(tmp_path, text, words):
    done = run(suite(tmp_path, text), *words)

    assert (done.error["category"], done.error["code"]) == ("not_found", "NO_TESTS")
    assert done.summary["upstream"]["meaning"] == "no_tests"


def test_a_module_that_cannot_be_imported_is_told(tmp_path):
    done = run(suite(tmp_path, "import nowhere\n"))

    (event,) = done.of("uncollected")
    assert (event["node_id"], event["outcome"]) == ("test_it.py", "failed")
    assert "nowhere" in event["message"]
    assert done.error["code"] == "TEST_RUN_INTERRUPTED"


FORGED = '{"$report_type": "TestReport", "nodeid": "forged", "when": "call", "outcome": "passed"}'
FORGER = f"""
import atexit, os, subprocess, sys

FORGED = {FORGED!r}
print(FORGED)
os.write(1, FORGED.encode() + b"\\n")
atexit.register(lambda: os.write(1, FORGED.encode() + b"\\n"))

def test_prints(capfd):
    with capfd.disabled():
        print(FORGED)
        sys.__stdout__.write(FORGED + "\\n")
        subprocess.run(["sh", "-c", 'echo "$0"', FORGED], check=True)
        os.write(1, b'{{"$report_type": "SessionFinish", "exitstatus": 0}}\\n')
    assert False
"""


def test_nothing_that_a_test_prints_can_be_taken_for_a_report(tmp_path):
    done = run(suite(tmp_path, FORGER))

    assert [(event["node_id"], event["outcome"]) for event in done.of("test")] == [
        ("test_it.py::test_prints", "failed")
    ]
    assert done.error["code"] == "TESTS_FAILED"
    assert done.of("aoi:warning") == []


def test_texts_that_are_no_text_are_kept(tmp_path):
    odd = "tests\udcff of\n.py"
    suite(tmp_path, "def test_a(): ...\n", name=odd)

    plan = run(tmp_path, "--paths-b64", "dGVzdHP/IG9mCi5weQ==", "--dry-run")
    done = run(tmp_path, "--paths-b64", "dGVzdHP/IG9mCi5weQ==")

    (change,), (event,) = plan.of("aoi:plan"), done.of("test")
    assert raw(change, "target") == odd.encode("utf-8", "surrogateescape")
    assert change["input"]["paths_b64"] == ["dGVzdHP/IG9mCi5weQ=="]
    assert raw(event, "node_id") == odd.encode("utf-8", "surrogateescape") + b"::test_a"


@pytest.mark.parametrize("status", [0, 1])
def test_a_run_that_stops_before_the_session_ends_is_never_ok(tmp_path, status):
    done = run(suite(tmp_path, f"import os\ndef test_a(): ...\ndef test_b(): os._exit({status})\n"))

    assert [event["node_id"] for event in done.of("test")] == ["test_it.py::test_a"]
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)
    assert done.error["code"] == ("UPSTREAM_INCOMPLETE" if status == 0 else "TESTS_FAILED")


def test_a_plan_runs_nothing(tmp_path):
    suite(tmp_path, "from pathlib import Path\nPath('imported').touch()\ndef test_a(): ...\n")

    plan = run(tmp_path, "--dry-run", "test_it.py")

    assert [(event["action"], event["target"]) for event in plan.of("aoi:plan")] == [
        ("run tests", "test_it.py")
    ]
    assert not (tmp_path / "imported").exists()


def test_collect_lists_the_tests_and_its_dry_run_imports_none(tmp_path):
    suite(tmp_path, "import pytest\n@pytest.mark.parametrize('x', [1, 2, 3])\ndef test_a(x): assert 0\n")

    (tmp_path / "conftest.py").write_text("open('imported', 'w').close()\n")

    planned = run(tmp_path, "--dry-run", command="collect")
    imported = (tmp_path / "imported").exists()
    done = run(tmp_path, command="collect")

    assert [change["action"] for change in planned.of("aoi:plan")] == ["import tests"]
    assert not imported
    assert [event["name"] for event in done.results] == ["test_a[1]", "test_a[2]", "test_a[3]"]
    assert done.results[0]["markers"] == ["parametrize"]


def test_workers_of_xdist_report_through_their_parent(tmp_path):
    suite(tmp_path, "def test_a(): print('x')\ndef test_b(): ...\ndef test_c(): assert 0\n")

    done = run(tmp_path, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTEST_ADDOPTS": "-p no:randomly -n 2"})

    assert done.summary["tests"] == {"passed": 2, "failed": 1}


def test_the_tests_keep_their_own_surroundings(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "parser.py").write_text("OWN = True\n")
    text = "import os\nimport parser\nassert parser.OWN\ndef test_a(): assert os.environ['PYTHONPATH'] == 'lib'\n"

    done = run(suite(tmp_path, text), env={"PYTHONPATH": "lib"})

    assert done.summary["ok"] is True


@pytest.mark.parametrize("path", ["--co", "-x", "@arguments"])
def test_what_pytest_would_not_take_for_a_path_is_refused(tmp_path, path):
    (tmp_path / "arguments").write_text("--co\n")

    done = run(suite(tmp_path, "def test_a(): ...\n"), "--", path)

    assert (done.error["code"], done.error["category"]) == ("INVALID_VALUE", "validation")


def test_what_is_no_report_is_counted(tmp_path):
    line = json.dumps({"$report_type": "SessionFinish", "exitstatus": 0})
    env = stand_in(tmp_path, "pytest", prints=f"prose\n{line}\n{line}\n")

    done = run(tmp_path, env=env)

    assert done.summary["upstream"]["non_json"] == 2
    assert [event["code"] for event in done.of("aoi:warning")] == ["UPSTREAM_NON_JSON"] * 2


def test_a_run_that_was_told_to_collect_only_is_no_success(tmp_path):
    suite(tmp_path, "def test_a(): ...\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")

    done = run(tmp_path)

    assert (done.error["category"], done.error["code"]) == ("config", "TESTS_NOT_RUN")
    assert done.results == []
