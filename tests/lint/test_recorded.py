"""A recorded lab gives the same verdicts as the live one, runs nothing, and makes nothing up."""

from pathlib import Path

import pytest

from operable.lint.engine import LintJob, LintOptions
from operable.lint.evidence import Invocation, Observation
from tests.lint.recorded import Answer, Keeper, Recorded, Recorder, Recording, Step, Unrecorded, digest
from tests.zoo.breeding import breed

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]
OPTIONS = LintOptions(only=("1", "8"), commands=("create",))


def seen(text: bytes) -> Observation:
    return Observation(Invocation(("list",)), "notes", text, "", 0, 0.1, arrivals=((0.1, len(text)),))


def recorded(answers: list[Answer]) -> Recorded:
    return Recorded(Recording("", tuple(answers)), 3.0)


def test_a_recording_gives_the_verdicts_of_the_live_tool_and_runs_nothing(tmp_path: Path):
    program = breed("python", tmp_path / "tool")
    live = LintJob(str(program), OPTIONS, Recorder)
    list(live.run())
    Recording("d", tuple(live.lab.answers)).write(tmp_path / "kept" / "notes.json.gz")
    program.write_text("#!/bin/sh\nexit 3\n")
    kept = Recording.read(tmp_path / "kept" / "notes.json.gz")
    assert kept is not None

    again = LintJob(str(program), OPTIONS, lambda *_, patience: Recorded(kept, patience))
    list(again.run())

    assert again.report.findings == live.report.findings
    assert {finding.result for finding in live.report.findings} == {"pass", "not_applicable"}
    assert (live.report.runs > 5, again.report.runs) == (True, 0)


def test_a_tool_that_is_run_because_its_recording_does_not_fit_is_named(tmp_path: Path):
    program = breed("python", tmp_path / "tool")
    named: list[str] = []
    Keeper(tmp_path / "kept", renewing=True, stale=named.append).lint("notes", program, OPTIONS)
    keeper = Keeper(tmp_path / "kept", renewing=False, stale=named.append)
    keeper.lint("notes", program, OPTIONS)
    assert named == []
    program.write_text(program.read_text() + "\n")

    assert keeper.lint("notes", program, OPTIONS).runs > 5

    assert named == ["notes"]


def test_what_was_never_asked_is_not_made_up():
    lab = recorded([Answer((Step("observe", Invocation(("list",))),), seen(b"a"))])

    assert lab.observe(Invocation(("list",))) == seen(b"a")
    with pytest.raises(Unrecorded):
        lab.observe(Invocation(("list", "--all")))
    with pytest.raises(Unrecorded):
        lab.effect(Invocation(("list",)))
    with lab.room() as room, pytest.raises(Unrecorded):
        room.run(Invocation(("list",)))


def test_what_was_done_before_in_a_room_is_a_part_of_the_question():
    step = Step("run", Invocation(("list",)))
    lab = recorded(
        [
            Answer((Step("room"), step), seen(b"first")),
            Answer((Step("room"), step, step), seen(b"second")),
            Answer((Step("room"), step, step, Step("state")), state=("a",)),
        ]
    )

    for _ in range(2):
        with lab.room() as room:
            said = [room.run(Invocation(("list",))).stdout for _ in range(2)]
            assert (said, room.state()) == ([b"first", b"second"], ("a",))


def test_equal_questions_are_answered_in_their_order_and_the_last_answer_stays():
    steps = (Step("room"), Step("run", Invocation(("list",))))
    lab = recorded([Answer(steps, seen(b"a")), Answer(steps, seen(b"b"))])
    said = []
    for _ in range(3):
        with lab.room() as room:
            said.append(room.run(Invocation(("list",))).stdout)

    assert said == [b"a", b"b", b"b"]


def test_a_recording_is_of_one_tool_and_of_what_was_looked_at(tmp_path: Path):
    program = breed("python", tmp_path)
    before = digest(tmp_path, OPTIONS)

    assert before == digest(tmp_path, OPTIONS)
    assert before != digest(tmp_path, LintOptions())
    program.write_text(program.read_text() + "\n")
    assert before != digest(tmp_path, OPTIONS)


def test_equal_recordings_are_equal_files(tmp_path: Path):
    for name in ("a", "b"):
        Recording("d", (Answer((Step("state"),), seen(b"\xff")),)).write(tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Recording.read(tmp_path / "none") is None
