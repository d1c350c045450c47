"""The built-in tools: what they answer, where their limits are, and what they refuse."""

import base64
import os
import shutil
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from operable.agent.assembly import tools
from operable.agent.loop.round import excerpt
from tests.agent.scene import scene, use

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_no_built_in_tool_takes_a_word_that_it_does_not_know(tmp_path: Path) -> None:
    for name, ability in tools({"workspace": str(tmp_path)}, {}).items():
        assert ability.schema["additionalProperties"] is False, name


def test_read_numbers_lines_from_one_and_says_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\nc\nd\n")
    assert use("read", scene(tmp_path), file_path="f").output == "     1\ta\n     2\tb\n     3\tc\n     4\td"
    assert use("read", scene(tmp_path), file_path="f", offset=1, limit=2).output == (
        "     2\tb\n     3\tc\n(1 more lines)"
    )
    assert use("read", scene(tmp_path), file_path="f", offset=9).output == "(no lines there)"


def test_the_same_lines_are_not_shown_twice_until_they_change(tmp_path: Path) -> None:
    file, here = tmp_path / "f", scene(tmp_path)
    file.write_text("a\n")
    assert "\ta" in use("read", here, file_path="f").output
    assert "unchanged" in use("read", here, file_path="f").output
    assert "unchanged" not in use("read", here, file_path="f", limit=1).output
    file.write_text("b\n")
    os.utime(file, ns=(1, 1))
    assert "\tb" in use("read", here, file_path="f").output


@pytest.mark.parametrize(
    ("content", "answer"),
    [(b"", "(empty file)"), (b"a\0b", "(binary file, 3 bytes)"), (b"\xff\n", "     1\t\ufffd")],
)
def test_read_of_files_that_are_not_quite_text(content: bytes, answer: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    assert use("read", scene(tmp_path), file_path="f").output == answer


def test_read_refuses_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in ("fifo", ".", "/dev/zero", "none", ""):
        outcome = use("read", scene(tmp_path, granted=frozenset({"/dev"})), file_path=path)
        assert not outcome.ok, path


def test_write_makes_folders_keeps_the_mode_and_leaves_nothing_behind(tmp_path: Path) -> None:
    here = scene(tmp_path)
    assert use("write", here, file_path="a/b/c", content="1\n2").output == "Created a/b/c (2 lines)"
    (tmp_path / "a/b/c").chmod(0o750)
    assert use("write", here, file_path="a/b/c", content="").output == "Updated a/b/c (0 lines)"
    assert (tmp_path / "a/b/c").stat().st_mode & 0o777 == 0o750
    assert os.listdir(tmp_path / "a/b") == ["c"]
    assert not use("write", here, file_path="a/b", content="").ok
    assert not use("write", here, file_path="a").ok


def test_write_overwrites_nothing_that_the_model_has_not_seen(tmp_path: Path) -> None:
    file, given = tmp_path / "f.txt", scene(tmp_path)
    file.write_text("one\n")
    assert use("read", given, file_path="f.txt").ok
    assert use("write", given, file_path="f.txt", content="two\n").ok
    assert use("write", given, file_path="f.txt", content="three\n").ok  # its own content is known
    file.write_text("somebody else's\n")
    os.utime(file, ns=(1, 1))
    refused = use("write", given, file_path="f.txt", content="four\n")
    assert (refused.ok, refused.output) == (
        False,
        "Cannot write f.txt: it has changed since it was read; read it again",
    )
    assert file.read_text() == "somebody else's\n"
    assert [path.name for path in tmp_path.iterdir()] == ["f.txt"]
    assert use("read", given, file_path="f.txt").ok
    assert use("write", given, file_path="f.txt", content="four\n").ok
    assert file.read_text() == "four\n"


def _rewrite(file: Path) -> None:
    file.write_text("two\n")


def _exchange(file: Path) -> None:
    other = file.with_name("other")
    other.write_text("two\n")
    other.replace(file)


@pytest.mark.parametrize("change", [_rewrite, _exchange])
def test_a_file_of_the_same_size_and_time_is_not_taken_for_the_one_that_was_read(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    file, given = tmp_path / "f.txt", scene(tmp_path)
    file.write_text("one\n")
    assert use("read", given, file_path="f.txt").ok
    before = file.stat()
    change(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for refused in (
        use("write", given, file_path="f.txt", content="three\n"),
        use("edit", given, file_path="f.txt", old_string="two", new_string="three"),
    ):
        assert (refused.ok, "has changed since it was read" in refused.output) == (False, True)
    assert file.read_text() == "two\n"
    assert "two" in use("read", given, file_path="f.txt").output  # and not "unchanged"


def test_edit_wants_a_file_that_was_read_and_has_not_changed(tmp_path: Path) -> None:
    file, here = tmp_path / "f", scene(tmp_path)
    file.write_text("one two two\n")
    change = {"file_path": "f", "old_string": "one", "new_string": "1"}
    assert "Read f before" in use("edit", here, **change).output
    use("read", here, file_path="f")
    os.utime(file, ns=(1, 1))
    assert "has changed" in use("edit", here, **change).output
    use("read", here, file_path="f")
    outcome = use("edit", here, **change)
    assert outcome.output_type == "diff"
    assert "-one two two\n+1 two two" in outcome.output
    assert use(
        "edit", here, file_path="f", old_string="1", new_string="one"
    ).ok  # our own change is no surprise


def test_edit_wants_one_match_or_all_of_them(tmp_path: Path) -> None:
    file, here = tmp_path / "f", scene(tmp_path)
    file.write_text("two two\n")
    use("read", here, file_path="f")
    assert "occurs 2 times" in use("edit", here, file_path="f", old_string="two", new_string="2").output
    assert "does not occur" in use("edit", here, file_path="f", old_string="three", new_string="3").output
    assert use("edit", here, file_path="f", old_string="two", new_string="2", replace_all=True).ok
    assert file.read_text() == "2 2\n"


def test_edit_keeps_the_line_ends_of_the_file(tmp_path: Path) -> None:
    file, here = tmp_path / "f", scene(tmp_path)
    file.write_bytes(b"a\r\nb\r\n")
    use("read", here, file_path="f")
    assert use("edit", here, file_path="f", old_string="a\nb", new_string="x\ny").ok
    assert file.read_bytes() == b"x\r\ny\r\n"


def test_glob_gives_files_newest_first_and_at_most_a_hundred(tmp_path: Path) -> None:
    for number in range(105):
        (tmp_path / f"{number}.py").write_text("")
        os.utime(tmp_path / f"{number}.py", (number, number))
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/x.txt").write_text("")
    lines = use("glob", scene(tmp_path), pattern="*.py").output.splitlines()
    assert lines[:2] == ["104.py", "103.py"]
    assert len(lines) == 101
    assert lines[-1].startswith("(5 more")
    assert use("glob", scene(tmp_path), pattern="deep/**/*.txt").output == "deep/er/x.txt"
    assert use("glob", scene(tmp_path), pattern="deep/*.txt").output == "No files found"
    assert not use("glob", scene(tmp_path), pattern="*", path="..").ok


@pytest.mark.parametrize("program", [pytest.param("rg", marks=pytest.mark.needs("rg")), "grep"])
def test_grep_finds_lines(program: str, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / program).symlink_to(shutil.which(program) or "")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.py").write_text("def One(): pass\n")
    (workspace / "b.txt").write_text("one\n" * 300)
    here = scene(workspace, environment={"PATH": str(folder)})
    assert "def One" in use("grep", here, pattern="One").output
    lines = use("grep", here, pattern="one").output.splitlines()
    assert len(lines) == 251
    assert use("grep", here, pattern="one", glob="*.py", case_insensitive=True).output.endswith(
        "def One(): pass"
    )
    assert use("grep", here, pattern="nothing").output == "No matches found"
    assert not use("grep", here, pattern="(").ok
    assert not use("grep", here, pattern="x", path="/etc").ok


def test_bash_answers_with_status_and_both_outputs(tmp_path: Path) -> None:
    outcome = use("bash", scene(tmp_path), command="pwd; echo oops >&2; exit 3")
    assert outcome.output == f"Exit code: 3\nSTDOUT:\n{tmp_path.resolve()}\n\nSTDERR:\noops\n"
    assert not outcome.ok
    assert use("bash", scene(tmp_path), cmd="true").ok  # the newer name of the argument
    assert not use("bash", scene(tmp_path), command="true", shell="fish-and-chips").ok


def test_bash_keeps_what_was_printed_before_its_time_was_up(tmp_path: Path) -> None:
    outcome = use("bash", scene(tmp_path), command="echo early; sleep 600", timeout=300)
    assert outcome.output.startswith("Timed out after 300 ms")
    assert "early" in outcome.output
    assert not outcome.ok


def test_bash_stops_when_the_run_is_cancelled(tmp_path: Path) -> None:
    here = scene(tmp_path)
    threading.Timer(0.2, here.cancellation.cancel).start()
    assert use("bash", here, command="trap '' INT TERM; sleep 600").output.startswith("Stopped")


@pytest.mark.needs("bwrap")
def test_in_a_sandbox_bash_changes_nothing_but_the_workspace_and_sees_no_home(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret").write_text("x")
    here = scene(workspace, sandbox="bubblewrap")
    outcome = use(
        "bash", here, command=f"echo in > inside; cat {tmp_path}/secret; echo $HOME; touch /usr/x; ls ~"
    )
    assert (workspace / "inside").read_text() == "in\n"
    assert "No such file" in outcome.output
    assert "/home/agent" in outcome.output
    assert not os.path.exists("/usr/x")


def test_an_image_is_what_its_bytes_say(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.jpg").write_bytes(PNG)
    (tmp_path / "c.png").write_text("no picture")
    outcome = use("view-image", scene(tmp_path), file_path="a.png")
    assert outcome.image is not None
    assert (outcome.output_type, outcome.image.media_type) == ("image", "image/png")
    assert not use("view-image", scene(tmp_path), file_path="b.jpg").ok
    assert not use("view-image", scene(tmp_path), file_path="c.png").ok
    assert not use("view-image", scene(tmp_path), file_path="none.png").ok


def test_long_output_keeps_its_head_and_its_tail() -> None:
    assert excerpt("x" * 10, 10) == "x" * 10
    cut = excerpt("a" * 50 + "b" * 50, 20)
    assert cut == "a" * 10 + "\n... [truncated 80 chars] ...\n" + "b" * 10


def test_a_command_that_is_not_valid_utf_8_is_refused_and_the_next_one_runs(tmp_path: Path) -> None:
    refused = use("bash", scene(tmp_path), command="echo \ud800")
    assert not refused.ok
    assert "not valid UTF-8" in refused.output
    assert use("bash", scene(tmp_path), command="echo fine").ok


def test_read_of_a_window_keeps_no_more_of_a_large_file_than_that(tmp_path: Path) -> None:
    line = "a line of a large file, as logs have them\n"
    (tmp_path / "large").write_text(line * 1_000_000)
    given = scene(tmp_path)
    use("read", given, file_path="large", limit=1)
    tracemalloc.start()
    try:
        first = use("read", given, file_path="large", limit=2)
        middle = use("read", given, file_path="large", offset=500_000, limit=2)
        last = use("read", given, file_path="large", offset=999_999, limit=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 2_000_000  # of 42
    assert first.output.splitlines()[0] == f"     1\t{line.strip()}"
    assert first.output.splitlines()[-1].startswith("(more than ")
    assert middle.output.splitlines()[0] == f"500001\t{line.strip()}"
    assert last.output == f"1000000\t{line.strip()}"


@pytest.mark.parametrize(
    "text, offset, limit, expected",
    [
        ("", 0, 5, "(empty file)"),
        ("a", 0, 5, "     1\ta"),
        ("a\n\nb", 0, 2, "     1\ta\n     2\t\n(1 more lines)"),
        ("a\nb\n", 1, 1, "     2\tb"),
        ("a\nb\n", 2, 1, "(no lines there)"),
        ("a\r\nb\x0bc\n", 0, 2, "     1\ta\r\n     2\tb\x0bc"),
    ],
)
def test_read_shows_the_lines_that_are_there(tmp_path: Path, text, offset, limit, expected) -> None:
    (tmp_path / "file").write_bytes(text.encode())

    assert use("read", scene(tmp_path), file_path="file", offset=offset, limit=limit).output == expected
