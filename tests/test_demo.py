"""`./dev demo`: it runs anywhere, shows what it does, leaves nothing behind, and stops when something does not behave."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from runpy import run_path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
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


def on_a_terminal(environment: Mapping[str, str], *words: str) -> tuple[int, str]:
    """Status and output of the demo when a person looks at it."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, *words, str(DEMO)], env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as demo:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # Linux ends a terminal without processes like this
            pass
        os.close(ours)
        return demo.wait(60), seen.decode()


def test_the_demo_shows_the_main_job_and_leaves_nothing_behind(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(DEMO)],
        env=surroundings(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    for command in ("import", "search", "delete", "create", "doctor", "capabilities"):
        assert f"$ outline {command}" in ended.stdout
    for command in ("pipe", "check", "run", "record", "replay", "diff"):
        assert f"operable {command} " in ended.stdout
    assert not ESCAPE.search(ended.stdout)
    assert not any((tmp_path / "tmp").iterdir())
    assert not any((tmp_path / "home").iterdir())


def test_a_terminal_gets_colour(tmp_path):
    status, seen = on_a_terminal(surroundings(tmp_path, TERM="xterm"))

    assert status == 0
    assert ESCAPE.search(seen)


@pytest.mark.parametrize(
    "variables, coloured", [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_no_colour_where_somebody_objects(tmp_path, variables, coloured):
    status, seen = on_a_terminal(surroundings(tmp_path, **{"TERM": "xterm", **variables}), "-c", PART)

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
    show = run_path(str(DEMO))["Show"](str(tmp_path))

    with pytest.raises(SystemExit) as ended:
        show.run(line, **expected)

    assert ended.value.code == 1
    assert complaint in capsys.readouterr().out


def test_long_events_are_shortened_to_what_they_tell():
    event = (
        '{"type":"aoi:summary","ok":false,"count":0,"error_count":1,"partial":false,"reason":"interrupted"}'
    )

    shortened = run_path(str(DEMO))["shortened"]

    assert shortened(event, 60) == [
        '{"type":"aoi:summary","ok":false,"count":0,"error_count":1,',
        '  …,"reason":"interrupted"}',
    ]
    assert shortened("plain text that is long", 10) == ["plain tex…"]
