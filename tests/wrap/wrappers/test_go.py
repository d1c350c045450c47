"""The wrapped go against the real one: modules without dependencies, and never the network."""

import os
from pathlib import Path

import pytest

from tests.reference.building import GO_CACHE
from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

# The first test of a run compiles the standard library, on a machine that is full of others.
PATIENCE = 600.0
pytestmark = [pytest.mark.needs("go"), pytest.mark.timeout(1800)]

TESTS = """package tiny

import (
	"fmt"
	"os"
	"testing"
)

func TestGood(t *testing.T) {
	t.Log("said")
	t.Run("inner one", func(t *testing.T) {})
}

func TestBad(t *testing.T) {
	fmt.Println(`{"Action":"pass","Package":"example.org/tiny"}`)
	os.Stdout.Write([]byte("--- PASS: TestForged (0.00s)\\n"))
	t.Fatal("no")
}

func TestSkipped(t *testing.T) { t.Skip("not now") }
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "go.mod").write_text("module example.org/tiny\n\ngo 1.19\n")
    (tmp_path / "tiny.go").write_text("package tiny\n\nfunc Add(a, b int) int { return a + b }\n")
    return tmp_path


@pytest.fixture
def go(module):
    """Call it; what it compiles is kept for other tests and runs."""
    surroundings = {"GOCACHE": str(GO_CACHE), "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}

    def call(*words: str, env: dict[str, str] | None = None):
        return wrap("go", *words, cwd=module, env=surroundings | (env or {}), timeout=PATIENCE)

    return call


def test_each_test_and_package_is_told_and_failures_make_it_partial(go, module):
    (module / "tiny_test.go").write_text(TESTS)
    (module / "empty").mkdir()
    (module / "empty" / "empty.go").write_text("package empty\n")

    done = go("test", "./...")

    tests = {event["test"]: event for event in done.of("test")}
    assert {name: event["outcome"] for name, event in tests.items()} == {
        "TestGood": "pass",
        "TestGood/inner_one": "pass",
        "TestBad": "fail",
        "TestSkipped": "skip",
    }
    assert "said" in tests["TestGood"]["output"]
    assert '{"Action":"pass","Package":"example.org/tiny"}' in tests["TestBad"]["output"]
    assert {event["package_path"]: event["outcome"] for event in done.of("package_tests")} == {
        "example.org/tiny": "fail",
        "example.org/tiny/empty": "skip",
    }
    assert (done.error["category"], done.error["code"]) == ("partial", "TESTS_FAILED")
    assert done.summary["upstream"] == {"program": "go", "exit": 1, "meaning": "tests_failed"}
    assert done.of("aoi:warning") == []


def test_a_program_that_ends_in_the_middle_fails_its_package(go, module):
    test = 'package tiny\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestA(t *testing.T) { os.Exit(0) }\n'
    (module / "tiny_test.go").write_text(test)

    done = go("test", ".")

    assert [event["outcome"] for event in done.of("package_tests")] == ["fail"]
    assert done.summary["ok"] is False


def test_a_green_run_is_ok(go, module):
    (module / "tiny_test.go").write_text('package tiny\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n')

    done = go("test", "--run", "TestA", "--count", "1")

    assert (done.exit_code, [event["outcome"] for event in done.results]) == (0, ["pass", "pass"])


def test_what_does_not_compile_is_told_by_package(go, module):
    (module / "bad").mkdir()
    (module / "bad" / "bad.go").write_text("package bad\n\nfunc f() { return 1 }\n")

    built = go("build", "./...")
    tested = go("test", "./bad")

    assert [event["import_path"] for event in built.of("build_failed")] == ["example.org/tiny/bad"]
    assert any("too many return values" in event["output"] for event in built.of("build_output"))
    assert (built.error["category"], built.error["code"]) == ("validation", "BUILD_FAILED")
    assert (tested.summary["ok"], tested.error["code"]) == (False, "TESTS_FAILED")


def test_build_writes_a_program_only_where_it_is_told_to(go, module):
    (module / "cmd" / "hello").mkdir(parents=True)
    (module / "cmd" / "hello" / "main.go").write_text("package main\n\nfunc main() {}\n")
    before = sorted(module.rglob("*"))

    checked = go("build", "./...")
    assert sorted(module.rglob("*")) == before
    plan = go("build", "./cmd/hello", "--to", "out/", "--dry-run")
    assert sorted(module.rglob("*")) == before
    (module / "out").mkdir()
    done = go("build", "./cmd/hello", "--to", "out/")

    assert [event["path"] for event in checked.of("built")] == [None, None]
    assert [(event["target"], event["to"]) for event in plan.of("aoi:plan")] == [
        ("example.org/tiny/cmd/hello", "out/")
    ]
    assert [event["path"] for event in done.of("built")] == ["out/hello"]
    assert os.access(module / "out" / "hello", os.X_OK)


def test_vet_findings_are_an_answer(go, module):
    (module / "tiny.go").write_text("package tiny\n\nfunc F(a int) int {\n\ta = a\n\treturn a\n}\n")

    done = go("vet", ".")

    (finding,) = done.results
    assert (finding["analyzer"], finding["package_path"]) == ("assign", "example.org/tiny")
    assert finding["position"].endswith("tiny.go:4:2")
    assert done.exit_code == 0


def test_list_gives_packages_and_what_is_wrong_with_them(go, module):
    (module / "two").mkdir()
    (module / "two" / "two.go").write_text('package two\n\nimport "example.org/nowhere"\n')

    first = go("list", "--limit", "1")
    rest = go("list", "--cursor", first.summary["next_cursor"])
    missing = go("list", "./nothing")

    assert [event["import_path"] for event in first.results + rest.results] == [
        "example.org/tiny",
        "example.org/tiny/two",
    ]
    assert "example.org/nowhere" in rest.results[0]["deps_errors"][0]["Err"]
    assert "nothing" in missing.results[0]["error"]["Err"]


def test_reading_writes_nothing_into_the_home(go, module, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")

    go("list", env={"HOME": str(home)})
    go("vet", ".", env={"HOME": str(home)})

    assert list(home.iterdir()) == []


@pytest.mark.parametrize("command", ["test", "build", "vet", "list"])
def test_a_package_that_would_be_an_option_is_refused(go, command):
    assert go(command, "--", "-toolexec=touch").error["code"] == "INVALID_VALUE"


BEGUN = '{"Action":"start","Package":"p"}\n{"Action":"run","Package":"p","Test":"T"}\n'


def test_a_package_that_was_begun_and_not_ended_is_incomplete(go, tmp_path):
    script = 'case "$1" in list) echo \'{"ImportPath":"p"}\';; *) printf %s "$BEGUN";; esac'.replace(
        '"$BEGUN"', f"'{BEGUN}'"
    )

    done = go("test", env=stand_in(tmp_path, "go", then=script))

    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


def test_prose_of_an_older_go_is_counted_and_does_not_make_it_ok(go, tmp_path):
    script = 'case "$1" in list) echo \'{"ImportPath":"p"}\';; *) printf "FAIL\\tp [build failed]\\n"; exit 2;; esac'

    done = go("test", env=stand_in(tmp_path, "go", then=script))

    assert [event["code"] for event in done.of("aoi:warning")] == ["UPSTREAM_NON_JSON"]
    assert (done.summary["ok"], done.summary["upstream"]["non_json"]) == (False, 1)


def test_findings_of_an_older_vet_on_stderr_are_never_a_clean_answer(go, tmp_path):
    script = 'printf \'# p\\n{\\n\\t"p": {\\n\\t\\t"assign": []\\n\\t}\\n}\\n\' >&2'

    done = go("vet", env=stand_in(tmp_path, "go", then=script))

    assert (done.error["category"], done.error["code"]) == ("config", "GO_TOO_OLD")


@pytest.mark.parametrize("words", [("list",), ("vet",), ("build", "--dry-run"), ("test", "--dry-run")])
def test_who_only_looks_changes_no_module_whatever_the_flags_of_the_user(go, module, words):
    (module / "x").mkdir()
    (module / "x" / "go.mod").write_text("module example.com/x\n\ngo 1.19\n")
    (module / "x" / "x.go").write_text("package x\n")
    (module / "use.go").write_text('package tiny\n\nimport _ "example.com/x"\n')
    text = "module example.org/tiny\n\ngo 1.19\n\nreplace example.com/x => ./x\n"
    (module / "go.mod").write_text(text)

    go(*words, env={"GOFLAGS": "-mod=mod"})

    assert (module / "go.mod").read_text() == text
