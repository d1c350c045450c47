import shlex
import subprocess
from pathlib import Path

import pytest

from operable.lint.evidence import Invocation, Observation, excerpt


def seen(stdout: bytes, status: int = 0, **invocation) -> Observation:
    return Observation(Invocation(("list",), **invocation), "notes", stdout, "", status, 0.1)


@pytest.mark.parametrize(
    "line, flaw",
    [
        (b"", "the line is blank"),
        (b"hello", "it is not JSON"),
        (b"[1]", "it is JSON, but not an object"),
        (b'{"a":1}', "it has no `type`"),
        (b'{"type":7}', "it has no `type`"),
        (b'{"type":"x","n":NaN}', "it is not JSON"),
        (b'{"type":"\xff"}', "it is not UTF-8"),
        (b'\xef\xbb\xbf{"type":"x"}', "byte order mark"),
    ],
)
def test_a_line_that_is_no_event_says_why_and_does_not_hide_the_others(line, flaw):
    observation = seen(b'{"type":"a"}\n' + line + b'\n{"type":"b"}\n')

    assert flaw in str(observation.lines[1].flaw)
    assert [event["type"] for event in observation.events] == ["a", "b"]
    assert not observation.readable


def test_a_failure_in_due_form_is_excused_and_a_crash_is_not():
    error = b'{"type":"aoi:error","category":"not_found"}\n{"type":"aoi:summary","ok":false}\n'

    assert seen(error, 65).excused
    assert not seen(error, 0).excused
    assert not seen(b"", 1).excused
    assert not seen(b'{"type":"aoi:summary","ok":true}\n', 1).excused


def test_the_command_line_can_be_pasted():
    assert seen(b"").command_line == "notes list < /dev/null"
    assert seen(b"", stdin=b"a b").command_line == "printf %s 'a b' | notes list"
    assert seen(b"", bare=True).command_line == 'env -i PATH="$PATH" notes list < /dev/null'
    assert seen(b"", env=(("A", "b c"),)).command_line == "A='b c' notes list < /dev/null"
    assert (
        seen(b"", beside=(("notesd", "a b"),)).command_line == "notes list < /dev/null  # beside notesd 'a b'"
    )


TELLS = """#!/bin/bash
trap 'echo stopped; exit 130' INT
echo "$*, $WORD, $(head -c 3)"
[ "$1" != watch ] || while :; do sleep 0.1; done
"""


@pytest.mark.parametrize(
    "words, circumstances, printed",
    [
        (("list", "a b"), {"env": (("WORD", "c d"),), "stdin": b"x'y"}, "list a b, c d, x'y\n"),
        (("watch",), {"env": (("WORD", "c d"),), "signal": "SIGINT"}, "watch, c d, \nstopped\n"),
        (("watch",), {"stdin": b"xyz", "signal": "SIGINT"}, "watch, , xyz\nstopped\n"),
        (("watch",), {"stdin": b"xyz", "hold_stdin": True, "signal": "SIGINT"}, "watch, , xyz\nstopped\n"),
        (("list",), {"stdin": b"xyz", "reader": "leaves", "env": (("WORD", "c"),)}, "list, c, xyz\n"),
    ],
    ids=["input", "signal", "signal and input", "held input", "reader that leaves"],
)
def test_a_pasted_command_line_gives_the_tool_what_the_linter_gave_it(
    words, circumstances, printed, tmp_path: Path
):
    tool = tmp_path / "tells it"
    tool.write_text(TELLS)
    tool.chmod(0o755)
    observed = Observation(Invocation(words, **circumstances), shlex.quote(str(tool)), b"", "", 0, 0.0)

    pasted = subprocess.run(
        ["bash", "-c", observed.command_line], capture_output=True, text=True, timeout=200, check=False
    )

    assert (pasted.stdout, pasted.stderr) == (printed, "")


@pytest.mark.parametrize(
    "ended, script, status",
    [
        ("deadline", "trap '' INT TERM; while :; do sleep 0.1; done", 137),
        ("flood", "while :; do echo '{}' || exit 3; done", 0),
    ],
)
def test_a_pasted_command_line_gives_the_terminal_back(ended, script, status, tmp_path: Path):
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/bash\n{script}\n")
    tool.chmod(0o755)
    observed = Observation(Invocation(("list",)), shlex.quote(str(tool)), b"", "", None, 0.5, ended=ended)

    pasted = subprocess.run(
        ["bash", "-c", observed.command_line], capture_output=True, timeout=200, check=False
    )

    assert pasted.returncode == status
    assert len(pasted.stdout) <= 1000


def test_whoever_pastes_what_took_too_much_is_warned():
    taken = ("it had 133 processes at once",)
    observed = Observation(Invocation(("list",)), "notes", b"", "", None, 0.5, ended="excess", notes=taken)

    assert observed.command_line == "notes list < /dev/null  # beware: it had 133 processes at once"


def test_what_no_shell_can_be_told_stands_behind_the_command_line():
    assert seen(b"", terminal=True).command_line == "notes list  # at a terminal that does not answer"
    assert seen(b"", files=((".netrc", "…"),)).command_line.endswith("  # with a secret in ~/.netrc")


def test_an_excerpt_is_short_and_printable():
    assert excerpt(b"\x1b[31mred\xff") == "\\x1b[31mred\\xff"
    assert len(excerpt("x" * 1000)) < 210


def test_when_an_event_came_is_when_the_last_byte_of_its_line_did():
    observation = Observation(
        Invocation(("watch",)),
        "notes",
        b'{"type":"a"}\n{"type":"b"}\n{"type":"a"}\n',
        "",
        0,
        5.0,
        arrivals=((1.0, 20), (2.0, 26), (3.5, 39)),
    )

    assert observation.times("a") == (1.0, 3.5)
    assert observation.times("b") == (2.0,)
    assert observation.times("c") == ()
