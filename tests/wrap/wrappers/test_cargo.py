"""The wrapped cargo against the real one: packages without dependencies, and never the network."""

import json
import os
import pwd
from pathlib import Path

import pytest

from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

# A compiler on a machine that is full of others.
PATIENCE = 400.0
pytestmark = [pytest.mark.needs("cargo"), pytest.mark.timeout(1200)]

MANIFEST = '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n'
FORGED = '{"reason":"compiler-message","message":{"level":"error"}}'
LIBRARY = """
/// ```
/// assert_eq!(tiny::add(1, 2), 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::add(1, 2), 3);
    }

    #[test]
    fn broken() {
        println!("{}", r#"FORGED"#);
        assert_eq!(super::add(1, 2), 4);
    }
}
""".replace("FORGED", FORGED)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(MANIFEST)
    (tmp_path / "src" / "lib.rs").write_text(LIBRARY)
    return tmp_path


def cargo(package: Path, *words: str, env: dict[str, str] | None = None):
    return wrap("cargo", *words, cwd=package, env=toolchain() | (env or {}), timeout=PATIENCE)


def toolchain() -> dict[str, str]:
    """Tests have a home of their own, in which rustup, where it chooses the compiler, would find none."""
    place = os.environ.get("RUSTUP_HOME") or os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")
    return {"RUSTUP_HOME": place} if os.path.isdir(place) else {}


def test_check_says_what_the_compiler_says(package):
    (package / "src" / "lib.rs").write_text("pub fn f() -> i32 { let unused = 1; 2 }\n")

    done = cargo(package, "check", "--offline")

    (diagnostic,) = done.of("diagnostic")
    assert (diagnostic["level"], diagnostic["code"], diagnostic["target"]) == (
        "warning",
        "unused_variables",
        "tiny",
    )
    assert diagnostic["spans"][0]["line_start"] == 1
    assert [event["kind"] for event in done.of("artifact")] == [["lib"]]
    assert (done.exit_code, done.summary["upstream"]) == (0, {"program": "cargo", "exit": 0})


def test_what_does_not_compile_is_a_failure_with_its_diagnostics(package):
    (package / "src" / "lib.rs").write_text('pub fn f() -> i32 { "no" }\n')

    done = cargo(package, "build", "--offline")

    assert [event["code"] for event in done.of("diagnostic") if event.get("code")] == ["E0308"]
    assert (done.error["category"], done.error["code"]) == ("validation", "BUILD_FAILED")
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)
    assert done.summary["upstream"]["exit"] == 101


def test_build_names_the_program_that_it_made(package):
    (package / "src" / "main.rs").write_text("fn main() {}\n")

    done = cargo(package, "build", "--offline")

    (program,) = [event for event in done.of("artifact") if event["executable"]]
    assert os.access(program["executable"], os.X_OK)
    assert program["executable"] in program["filenames"]


def test_tests_are_judged_by_their_exit_status_and_cannot_forge_messages(package):
    (package / "tests").mkdir()
    (package / "tests" / "outer.rs").write_text("#[test]\nfn outer() { assert_eq!(tiny::add(2, 2), 4); }\n")

    done = cargo(package, "test", "--offline")

    found = {(event["kind"], event["target"]): event for event in done.of("test_target")}
    assert {key: event["passed"] for key, event in found.items()} == {
        ("lib", "tiny"): False,
        ("test", "outer"): True,
        ("doc", "tiny"): True,
    }
    assert FORGED in found["lib", "tiny"]["output"]
    assert done.of("diagnostic") == []
    assert (done.error["category"], done.error["code"]) == ("partial", "TESTS_FAILED")
    assert done.summary["upstream"] == {"program": "cargo", "exit": 101, "meaning": "tests_failed"}


def test_tests_can_be_chosen_by_name(package):
    done = cargo(package, "test", "--offline", "adds")

    assert {event["passed"] for event in done.of("test_target")} == {True}
    assert done.summary["ok"] is True


def test_output_that_is_long_and_no_text_is_kept_in_bounds(package):
    (package / "src" / "lib.rs").write_text(
        "#[cfg(test)]\nmod tests {\n    use std::io::Write;\n    #[test]\n    fn floods() {\n"
        "        let mut out = std::io::stdout().lock();\n"
        '        for _ in 0..200_000 { out.write_all(b"x\\xff\\n").unwrap(); }\n    }\n}\n'
    )

    done = cargo(package, "test", "--offline")

    event = next(event for event in done.of("test_target") if event["kind"] == "lib")
    assert (event["passed"], event["output_truncated"]) == (True, True)
    assert len(event["output"]) < 100_000
    assert "output_b64" in event
    assert "test result: ok" in event["output"]


def test_a_plan_names_the_packages_and_writes_nothing(package):
    (package / "Cargo.toml").write_text(MANIFEST + '[workspace]\nmembers = ["other"]\n')
    (package / "other" / "src").mkdir(parents=True)
    (package / "other" / "Cargo.toml").write_text(MANIFEST.replace("tiny", "other"))
    (package / "other" / "src" / "lib.rs").write_text("")
    before = sorted(package.rglob("*"))

    plans = {
        words: [event["target"] for event in cargo(package, *words, "--dry-run").of("aoi:plan")]
        for words in [("build",), ("check", "--workspace"), ("test", "--package", "other")]
    }

    assert {words: sorted(targets) for words, targets in plans.items()} == {
        ("build",): ["tiny"],
        ("check", "--workspace"): ["other", "tiny"],
        ("test", "--package", "other"): ["other"],
    }
    assert sorted(package.rglob("*")) == before


def test_metadata_lists_packages_and_leaves_the_lock_file_alone(package):
    done = cargo(package, "metadata")
    refused = cargo(package, "metadata", "--deps", "--offline")

    (event,) = done.results
    assert (event["name"], event["workspace_member"], event["targets"][0]["kind"]) == ("tiny", True, ["lib"])
    assert refused.error["code"] == "WORKSPACE_UNREADABLE"
    assert not (package / "Cargo.lock").exists()


def test_where_there_is_no_package_and_where_one_is_broken(package, tmp_path_factory):
    nothing = cargo(tmp_path_factory.mktemp("empty"), "check")
    (package / "Cargo.toml").write_text("[package]\nname = 3\n")
    broken = cargo(package, "check")

    assert (nothing.error["category"], nothing.error["code"]) == ("not_found", "NO_MANIFEST")
    assert (broken.error["category"], broken.error["code"]) == ("validation", "WORKSPACE_UNREADABLE")


METADATA = json.dumps(
    {"packages": [], "workspace_members": [], "target_directory": "t", "workspace_default_members": []}
)


def test_prose_among_the_messages_is_counted_and_without_the_end_marker_it_is_not_whole(package):
    script = (
        f'case "$1" in metadata) echo \'{METADATA}\';; *) echo prose; echo \'{{"reason":"other"}}\';; esac'
    )
    env = stand_in(package, "cargo", then=script)

    done = cargo(package, "check", "--package", "tiny", env=env)

    assert [event["code"] for event in done.of("aoi:warning")] == [
        "UPSTREAM_NON_JSON",
        "UPSTREAM_UNKNOWN_TYPE",
    ]
    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


@pytest.mark.parametrize("words", [["test", "--package=--release"], ["test", "--", "-x"]])
def test_a_name_that_would_be_an_option_is_refused(package, words):
    assert cargo(package, *words).error["code"] == "INVALID_VALUE"
