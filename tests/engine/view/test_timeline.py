"""Drawings of runs: what a bar says, and that any text in one is data."""

import xml.etree.ElementTree as ET
from typing import Any

from operable.engine.lifecycle.states import AttemptState
from operable.engine.store.rows import RunAttempt, TimelineEntry
from operable.engine.view.timeline import Bar, bars_of, draw_svg, draw_text


def entry(number: int, at: int, event: str, state: str, detail: str | None = None) -> TimelineEntry:
    return TimelineEntry("run_1", number, at, event, state, detail)


def attempt(number: int, reason: str | None) -> RunAttempt:
    values: dict[str, Any] = dict.fromkeys(RunAttempt.__slots__)
    return RunAttempt(
        **values | {"run_id": "run_1", "number": number, "state": AttemptState.FAILED, "reason": reason}
    )


TIMELINE = [
    entry(1, 1000, "created by manual", "ready"),
    entry(2, 3000, "started", "running"),
    entry(3, 3000, "attempt", "running", "attempt 1 on w"),
    entry(4, 4000, "repeat", "ready", "exit status 3"),
    entry(5, 9000, "started", "running"),
    entry(6, 9000, "attempt", "running", "attempt 2 on w"),
    entry(7, 9500, "failed", "failed", "exit status 3"),
    entry(8, 9600, "triggered", "failed", "run_2"),
]


def test_every_state_is_a_bar_that_ends_where_the_next_begins() -> None:
    bars = bars_of(TIMELINE, [attempt(1, "exit status 3"), attempt(2, None)], now=99_999)
    assert [(bar.state, bar.begin, bar.end) for bar in bars] == [
        ("ready", 1000, 3000),
        ("running", 3000, 4000),
        ("ready", 4000, 9000),
        ("running", 9000, 9500),
        ("failed", 9500, 9500),
    ]
    assert [bar.detail for bar in bars[1::2]] == ["attempt 1: exit status 3", "attempt 2"]


def test_the_bar_of_a_run_that_has_not_ended_goes_on_until_now() -> None:
    (bar,) = bars_of([entry(1, 1000, "created by tick", "asking")], [], now=61_000)
    assert bar.seconds == 60
    assert "1 min 0 s" in draw_text("t", [bar])


def test_the_text_fits_a_terminal_but_for_its_details() -> None:
    text = draw_text("title", bars_of(TIMELINE, [], now=0))
    lines = text.splitlines()
    assert lines[0] == "title"
    assert [line.split()[2] for line in lines[1:]] == ["ready", "running", "ready", "running", "failed"]
    assert max(len(line) - len("exit status 3") for line in lines) <= 66


def test_the_drawing_is_xml_whatever_a_detail_has_in_it() -> None:
    hostile = "<script>alert(1)</script> & \x00\x1b]0;x\x07 \u202e"
    root = ET.fromstring(draw_svg(hostile, [Bar("running", 0, 10, hostile), Bar("lost", 10, 10, hostile)]))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "text"}
    assert "\u202e" not in "".join(root.itertext())
