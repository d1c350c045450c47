import pytest

from operable.lint.evidence import Invocation, Observation, excerpt


def seen(stdout: bytes, status: int = 0, **invocation) -> Observation:
    return Observation(Invocation(("list",), **invocation), "notes", stdout, "", status, 0.1)


@pytest.mark.parametrize(
    "line, flaw",
    [
        (b"", "the line is blank"),
        (b"hello", "it is not JSON"),
        (b"[1]", "it is JSON, but no object"),
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
