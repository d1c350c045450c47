"""`./dev demo`: it runs anywhere, shows what it does, leaves nothing behind, and stops when something does not behave."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from runpy import run_path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DEMO = EXAMPLES / "demo.py"
SHOW = EXAMPLES / "show.py"
LIMIT = 300  # seconds; alone it takes ten
ESCAPE = re.compile(r"\x1b\[")


def surroundings(directory: Path, **variables: str) -> dict[str, str]:
    """A bare environment whose temporary directory and home can be looked at afterwards."""
    for name in ("tmp", "home"):
        (directory / name).mkdir(exist_ok=True)
    return {
        "PATH": os.defpath,
        "HOME": str(directory / "home"),
        "TMPDIR": str(directory / "tmp"),
        "LC_ALL": "C.UTF-8",
        **variables,
    }


# One chapter with one command: what the demo prints passes through the same three methods everywhere.
PART = """
import runpy, sys, tempfile
show = runpy.run_path(sys.argv[1])["Show"](tempfile.gettempdir())
show.chapter("A title", "A reason.")
show.run("exit 3", status=3)
"""


def on_a_terminal(
    environment: Mapping[str, str], *words: str, typed: Sequence[tuple[str, str]] = ()
) -> tuple[int, str]:
    """Status and output of the demo when a person looks at it, and types each line when its text is shown."""
    ours, theirs = pty.openpty()
    waiting = list(typed)
    with subprocess.Popen(
        [sys.executable, *words], env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as demo:
        os.close(theirs)
        seen, read = b"", 0
        try:
            while piece := os.read(ours, 65536):
                seen += piece
                if waiting and (at := seen.find(waiting[0][0].encode(), read)) >= 0:
                    read = at + 1
                    os.write(ours, waiting.pop(0)[1].encode())
        except OSError:  # Linux ends a terminal without processes like this
            pass
        os.close(ours)
        return demo.wait(LIMIT), seen.decode()


def left_behind(directory: Path) -> list[str]:
    """Files that are still there, and processes whose home is in the directory."""
    found = [str(path) for name in ("tmp", "home") for path in (directory / name).iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(directory / "tmp").encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:  # it has ended, or belongs to another user
            continue
    return found


@pytest.mark.timeout(LIMIT)
def test_without_a_terminal_the_main_job_goes_through_by_itself_and_leaves_nothing(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(DEMO)],
        env=surroundings(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    assert re.search(r"http://127\.0\.0\.1:\d+/login\?code=\S+", ended.stdout)
    for shown in (
        "denied  agents delete nothing",
        "asks    outline create 'Ship on Friday'",
        "operable inbox answer ask_",
        "done    Exit code: 0",
        "asks    outline export --output jsonl",
        "evening/remind  succeeded",
        "$ operable audit verify",
    ):
        assert shown in ended.stdout, ended.stdout
    assert not ESCAPE.search(ended.stdout)
    assert left_behind(tmp_path) == []


@pytest.mark.timeout(LIMIT)
def test_a_person_at_the_terminal_answers_and_a_no_counts(tmp_path):
    status, seen = on_a_terminal(
        surroundings(tmp_path, TERM="xterm"),
        str(DEMO),
        typed=[("y allows it", "y\n"), ("y allows it", "n\n"), ("That was it", "\n")],
    )

    assert status == 0, seen
    assert "done    Exit code: 0" in seen
    assert re.search(r"evening/backup\s+rejected", seen)
    assert "evening/remind" not in seen
    assert ESCAPE.search(seen)
    assert left_behind(tmp_path) == []


def test_the_tour_shows_the_commands_of_a_tool_and_leaves_nothing_behind(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(DEMO), "--script"],
        env=surroundings(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    for command in ("import", "search", "delete", "create", "doctor", "capabilities"):
        assert f"$ outline {command}" in ended.stdout
    for command in ("pipe", "check", "run", "record", "replay", "diff"):
        assert f"operable {command} " in ended.stdout
    assert not ESCAPE.search(ended.stdout)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "variables, coloured", [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_no_colour_where_somebody_objects(tmp_path, variables, coloured):
    status, seen = on_a_terminal(
        surroundings(tmp_path, **{"TERM": "xterm", **variables}), "-c", PART, str(SHOW)
    )

    assert status == 0
    assert "exit status 3" in seen
    assert bool(ESCAPE.search(seen)) is coloured


@pytest.mark.parametrize(
    "line, expected, complaint",
    [
        ("exit 3", {}, "ended with 3, not with 0"),
        ("true", {"status": 65}, "ended with 0, not with 65"),
        ("echo one", {"shows": "two"}, "should have shown 'two'"),
    ],
)
def test_a_step_that_does_not_behave_ends_the_demo(tmp_path, capsys, line, expected, complaint):
    show = run_path(str(SHOW))["Show"](str(tmp_path))

    with pytest.raises(SystemExit) as ended:
        show.run(line, **expected)

    assert ended.value.code == 1
    assert complaint in capsys.readouterr().out


def test_long_events_are_shortened_to_what_they_tell():
    event = (
        '{"type":"aoi:summary","ok":false,"count":0,"error_count":1,"partial":false,"reason":"interrupted"}'
    )

    shortened = run_path(str(SHOW))["shortened"]

    assert shortened(event, 60) == [
        '{"type":"aoi:summary","ok":false,"count":0,"error_count":1,',
        '  …,"reason":"interrupted"}',
    ]
    assert shortened("plain text that is long", 10) == ["plain tex…"]
