import asyncio
import os
import stat
import sys
from functools import partial

import msgspec
import pytest

from operable.run import acollect, collect, discovery
from operable.run.discovery import (
    Description,
    ToolSource,
    adescribe,
    cached,
    describe,
    version_options,
)
from operable.run.options import options_from
from operable.run.session import CallSession
from operable.wire.framework import Meta
from tests.requirement import requirement
from tests.run.fake import tool

# Answers discovery, counts how often, and emits what VERSION and RANK (files beside it) say.
SPEAKING = """
here = os.path.dirname(os.path.abspath(sys.argv[0]))
def setting(name, default):
    path = os.path.join(here, name)
    return open(path).read() if os.path.exists(path) else default
version, kind = setting("VERSION", "1.0.0"), setting("KIND", "integer")
if sys.argv[1] in ("schema", "capabilities"):
    open(os.path.join(here, "asked"), "a").write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "schema":
    print(json.dumps({"$defs": {"hit": {"properties": {"type": {"const": "hit"}, "rank": {"type": kind}}, "required": ["rank"]}}}))
elif sys.argv[1] == "capabilities":
    print(json.dumps({"tool": "fake", "tool_version": version, "commands": [{"name": "watch", "unbounded": True}]}))
else:
    emit("aoi:meta", tool="fake", tool_version=version, command=sys.argv[1])
    emit("hit", rank=json.loads(setting("RANK", "1")))
    if sys.argv[1] != "watch": summary()
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


def ask(kind, source, **options):
    return describe(source, **options) if kind == "sync" else asyncio.run(adescribe(source, **options))


def run(kind, argv, **options):
    options.setdefault("timeout", 200)
    return collect(argv, **options) if kind == "sync" else asyncio.run(acollect(argv, **options))


def asked(tmp_path):
    path = tmp_path / "asked"
    return path.read_text().splitlines() if path.exists() else []


def test_a_tool_is_asked_once_and_its_answers_are_kept_privately(kind, tmp_path):
    source = ToolSource((tool(tmp_path, SPEAKING),))
    assert cached(source) is None
    first = ask(kind, source)
    assert first.schema is not None
    assert ask(kind, source) == first == cached(source)
    assert asked(tmp_path) == ["schema --output json", "capabilities --output json"]
    (entry,) = (tmp_path / "home" / "cache" / "discovery").iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_a_changed_program_is_asked_again(kind, tmp_path):
    path = tool(tmp_path, SPEAKING)
    ask(kind, ToolSource((path,)))
    os.utime(path, ns=(1, 1))
    ask(kind, ToolSource((path,)))
    assert len(asked(tmp_path)) == 4


def test_a_changed_script_behind_an_interpreter_is_noticed(kind, tmp_path):
    import sys

    path = tool(tmp_path, SPEAKING)
    source = ToolSource((sys.executable, path))
    ask(kind, source)
    os.utime(path, ns=(1, 1))
    assert cached(source) is None


def test_a_damaged_entry_is_asked_for_again(kind, tmp_path):
    source = ToolSource((tool(tmp_path, SPEAKING),))
    whole = ask(kind, source)
    (entry,) = (tmp_path / "home" / "cache" / "discovery").iterdir()
    for damage in (b"", b"{", b"[]", b'{"format": 99}', b"\xff"):
        entry.write_bytes(damage)
        assert cached(source) is None
        assert ask(kind, source) == whole


def test_a_tool_with_flags_instead_of_subcommands_is_understood(kind, tmp_path):
    body = "print(json.dumps({'flag': sys.argv[1]})) if sys.argv[1].startswith('--') else sys.exit(64)"
    found = ask(kind, ToolSource((tool(tmp_path, body),)))
    assert (found.schema, found.capabilities) == ({"flag": "--schema"}, {"flag": "--capabilities"})


@pytest.mark.parametrize(
    "body, reason",
    [
        ("sys.exit(64)", "exit status 64"),
        ("print('usage: x')", "not JSON"),
        ("print('[]')", "not a JSON object"),
    ],
)
def test_a_tool_that_does_not_answer_is_a_note_and_is_not_kept(kind, tmp_path, body, reason):
    source = ToolSource((tool(tmp_path, body),))
    found = ask(kind, source)
    assert (found.schema, found.capabilities) == (None, None)
    assert reason in found.notes[0]
    assert cached(source) is None


def test_a_flood_instead_of_an_answer_is_a_note(kind, tmp_path):
    source = ToolSource((tool(tmp_path, "while True: os.write(1, b'x' * 65536)"),))
    assert "more than" in ask(kind, source).notes[0]


def test_a_tool_that_hangs_is_asked_once(kind, tmp_path, monkeypatch):
    for name in ("output", "aoutput"):
        whole = getattr(discovery, name)
        monkeypatch.setattr(discovery, name, partial(whole, timeout=2.0))
    body = f"open({str(tmp_path / 'asked')!r}, 'a').write('x')\nwhile True: signal.pause()"
    found = ask(kind, ToolSource((tool(tmp_path, body),)))
    assert (found.schema, found.capabilities, len(found.notes)) == (None, None, 1)
    assert "did not end" in found.notes[0]
    assert not (tmp_path / "asked").exists() or (tmp_path / "asked").read_text() == "x"


def test_a_home_that_cannot_be_written_is_no_error(kind, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "file"))
    assert ask(kind, ToolSource((tool(tmp_path, SPEAKING),))).schema is not None


@pytest.mark.parametrize(
    "argv, expected",
    [
        ([], ()),
        (["search", "--schema-version", "1"], ("--schema-version", "1")),
        (["search", "--schema-version=2.0"], ("--schema-version", "2.0")),
        (["search", "--accept-schema", "com.example.x@2"], ("--schema-version", "2")),
        (["search", "--accept-schema=com.example.x@3"], ("--schema-version", "3")),
        (["search", "--schema-version"], ()),
    ],
)
def test_the_version_that_a_call_chose_is_the_one_that_is_asked_for(argv, expected):
    assert version_options(argv) == expected


@requirement("aoi:5.2:branch-on-schema")
def test_a_description_fits_the_release_it_is_of():
    description = Description(capabilities={"tool_version": "1.0"})
    assert description.fits(Meta(tool_version="1.0"))
    assert not description.fits(Meta(tool_version="1.1"))
    assert description.fits(Meta())
    assert Description().fits(Meta(tool_version="1.1"))


# --- validation in a call


def test_valid_events_pass_validation(kind, tmp_path):
    done = run(kind, [tool(tmp_path, SPEAKING), "search"], validate=True)
    assert done.ok
    assert len(done.events) == 3
    assert done.verdict.notes == () or "NOT_VALIDATED" not in {note.code for note in done.verdict.notes}


@pytest.mark.parametrize("validate", [True, "auto"])
def test_an_event_that_breaks_the_tools_own_schema_is_a_violation_with_line_and_path(
    kind, tmp_path, validate
):
    (tmp_path / "RANK").write_text('"first"')
    done = run(kind, [tool(tmp_path, SPEAKING), "search"], validate=validate)
    assert (done.verdict.outcome, done.verdict.code, done.verdict.line) == (
        "violation",
        "SCHEMA_VIOLATION",
        2,
    )
    assert "/rank" in done.verdict.reason
    assert len(done.events) == 1
    assert done.verdict.exit_code == 65


def test_without_validation_nobody_is_asked(kind, tmp_path):
    (tmp_path / "RANK").write_text('"first"')
    assert run(kind, [tool(tmp_path, SPEAKING), "search"]).ok
    assert asked(tmp_path) == []


def test_a_tool_that_has_not_introduced_itself_is_not_asked_behind_the_callers_back(kind, tmp_path):
    body = "open('asked', 'a').write(' '.join(sys.argv[1:]) + '\\n'); emit('hit'); summary()"
    done = run(kind, [tool(tmp_path, body), "rm"], validate="auto", cwd=tmp_path)
    assert asked(tmp_path) == ["rm --output jsonl"]
    assert done.ok
    assert [note.code for note in done.verdict.notes].count("NOT_VALIDATED") == 1


def test_a_tool_without_a_schema_is_noted_or_refused_as_the_caller_chose(kind, tmp_path):
    from operable.kernel.errors import Fail

    body = "sys.exit(64) if sys.argv[1:2] != ['list'] else (meta(), open('ran', 'w'), summary())"
    argv = [tool(tmp_path, body), "list"]
    done = run(kind, argv, validate="auto", cwd=tmp_path)
    assert done.ok
    assert "NOT_VALIDATED" in {note.code for note in done.verdict.notes}
    (tmp_path / "ran").unlink()
    with pytest.raises(Fail) as caught:
        run(kind, argv, validate=True, cwd=tmp_path)
    assert (caught.value.category, caught.value.code) == ("config", "SCHEMA_UNAVAILABLE")
    assert not (tmp_path / "ran").exists()


def test_a_new_release_behind_the_same_program_file_is_asked_again(kind, tmp_path):
    path = tool(tmp_path, SPEAKING)
    assert run(kind, [path, "search"], validate=True).ok
    (tmp_path / "VERSION").write_text("2.0.0")
    (tmp_path / "KIND").write_text("string")
    (tmp_path / "RANK").write_text('"first"')
    assert run(kind, [path, "search"], validate=True).ok
    assert len(asked(tmp_path)) == 4


def test_capabilities_tell_that_a_command_is_unbounded(kind, tmp_path):
    path = tool(tmp_path, SPEAKING)
    assert run(kind, [path, "watch"]).verdict.code == "EXIT0_WITHOUT_SUMMARY"
    assert run(kind, [path, "watch"], validate="auto").ok
    # It is known from now on, also to calls that do not validate.
    assert run(kind, [path, "watch"]).ok
    assert run(kind, [path, "watch"], unbounded=False).verdict.code == "EXIT0_WITHOUT_SUMMARY"


def test_validated_events_still_become_the_types_of_the_caller(kind, tmp_path):
    class Hit(msgspec.Struct, tag_field="type", tag="hit"):
        rank: int

    class Strict(msgspec.Struct, tag_field="type", tag="hit"):
        rank: str

    argv = [tool(tmp_path, SPEAKING), "search"]
    assert run(kind, argv, validate=True, types=[Hit]).events[1] == Hit(rank=1)
    wrong = run(kind, argv, validate=True, types=[Strict])
    assert (wrong.verdict.code, wrong.verdict.line) == ("TYPE_MISMATCH", 2)


def test_without_the_extra_demanding_validation_fails_before_the_start(kind, tmp_path, monkeypatch):
    import importlib.util

    from operable.kernel.errors import Fail

    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    argv = [tool(tmp_path, SPEAKING), "search"]
    with pytest.raises(Fail) as caught:
        run(kind, argv, validate=True)
    assert caught.value.code == "EXTRA_MISSING"
    done = run(kind, argv, validate="auto")
    assert done.ok
    assert asked(tmp_path) == []


def test_stages_of_a_pipeline_are_validated_too(tmp_path):
    from operable.run import pipe

    (tmp_path / "RANK").write_text('"first"')
    path = tool(tmp_path, SPEAKING)
    other = tmp_path / "other"
    other.mkdir()
    sink = tool(other, SPEAKING.replace('    emit("hit"', '    sys.stdin.read(); emit("hit"'))
    with pipe([[path, "search"], [sink, "sink"]], validate=True, timeout=200) as running:
        list(running)
    assert [stage.verdict.code for stage in running.stages] == ["SCHEMA_VIOLATION", "OK"]


def test_a_schema_that_is_none_is_noted_or_refused_as_the_caller_chose(kind, tmp_path):
    from operable.kernel.errors import Fail

    body = "print(json.dumps({'$defs': {}, 'properties': 3})) if sys.argv[1] == 'schema' else (meta(), summary())"
    argv = [tool(tmp_path, body), "list"]
    done = run(kind, argv, validate="auto")
    assert done.ok
    assert "NOT_VALIDATED" in {note.code for note in done.verdict.notes}
    with pytest.raises(Fail) as caught:
        run(kind, argv, validate=True)
    assert caught.value.code == "SCHEMA_INVALID"


def test_a_tool_that_removes_itself_can_no_longer_be_asked(kind, tmp_path):
    argv = [tool(tmp_path, "os.unlink(sys.argv[0]); meta(command='list'); emit('hit'); summary()"), "list"]
    done = run(kind, argv, validate="auto")
    assert done.ok
    assert "NOT_VALIDATED" in {note.code for note in done.verdict.notes}


def test_a_new_release_that_no_longer_describes_itself_is_refused_when_validation_is_demanded(kind, tmp_path):
    from operable.kernel.errors import Fail

    path = tool(
        tmp_path, SPEAKING + "\nif os.path.exists(os.path.join(here, 'VERSION')): os.unlink(sys.argv[0])"
    )
    assert run(kind, [path, "search"], validate=True).ok
    (tmp_path / "VERSION").write_text("2.0.0")
    with pytest.raises(Fail) as caught:
        run(kind, [path, "search"], validate=True)
    assert caught.value.code in ("TOOL_NOT_FOUND", "SCHEMA_UNAVAILABLE")


def test_a_call_asks_for_the_schema_version_that_its_first_words_choose():
    argv = [sys.executable, "--schema-version", "2", "search"]

    assert CallSession([argv], options_from({})).sources[0].version_options == ("--schema-version", "2")
