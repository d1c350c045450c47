"""`operable init wrap`."""

from tests.cli.drive import operable


def test_a_draft_is_planned_then_written_and_never_over_another(tmp_path):
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\necho 'Usage: prog [--fast]'\necho '  --fast  quickly'\n")
    program.chmod(0o755)
    words = ("wrap", str(program), "--to", str(tmp_path / "drafts"))

    plan = operable("init", *words, "--dry-run")
    assert not (tmp_path / "drafts").exists()
    done = operable("init", *words)
    again = operable("init", *words)

    assert len(plan.of("aoi:plan")) == 2
    assert sorted(event["path"] for event in done.results) == sorted(
        str(tmp_path / "drafts" / "prog" / path) for path in ("CLI.md", "tools/run/TOOL.md")
    )
    assert again.error["code"] == "FILE_EXISTS"
    listed = operable("wrap", "list", env={"OPERABLE_WRAPPERS": str(tmp_path / "drafts")})
    (found,) = [event for event in listed.results if event["name"] == "prog"]
    assert (found["verified"], found["problem"]) == (False, None)


def test_a_draft_that_cannot_be_written_is_not_begun(tmp_path):
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "file").write_text("")

    done = operable("init", "wrap", str(program), "--to", str(tmp_path / "file" / "drafts"))

    assert (done.exit_code, done.error["code"]) == (73, "CANNOT_WRITE")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "prog"]
