"""Streams: every event once, in order, from any cursor."""

import pytest

from operable.host.session.log import SessionLog
from operable.wire.events import AnyEvent, Notice, TextDelta, ToolCall, TurnEnd
from tests.serve.daemon import write_session

EVENTS: list[AnyEvent] = [
    TextDelta("s", "Hello"),
    ToolCall("s", "c1", "Bash", {"command": "ls"}),
    TurnEnd("s", "completed"),
]


def test_the_events_of_a_log_come_with_their_numbers_and_types(daemon):
    write_session(daemon, "ses_typed", EVENTS)
    with daemon.admin.stream("/sessions/ses_typed/stream?typed=1") as stream:
        status, *messages = stream.until("turn-end")
        assert stream.rest() == b""
    assert (status.event, status.data["status"]) == ("status", "exited")
    assert [(each.id, each.event) for each in messages] == [
        ("1", "text-delta"),
        ("2", "tool-call"),
        ("3", "turn-end"),
    ]
    assert messages[0].data == {"type": "text-delta", "sessionId": "s", "text": "Hello"}


@pytest.mark.parametrize("by_header", [True, False])
def test_a_client_goes_on_behind_its_cursor(daemon, by_header):
    name = f"ses_resumed_{by_header}"
    write_session(daemon, name, [TextDelta("s", str(number)) for number in range(5000)])
    path = f"/sessions/{name}/stream?typed=1" + ("" if by_header else "&after=4000")
    with daemon.admin.stream(path, headers={"Last-Event-ID": "4000"} if by_header else {}) as stream:
        stream.message()
        numbers = [int(stream.message().id) for _ in range(1000)]
    assert numbers == list(range(4001, 5001))


def test_a_client_that_has_everything_of_an_ended_session_is_not_to_come_back(daemon):
    write_session(daemon, "ses_over", EVENTS)
    assert daemon.admin.get("/sessions/ses_over/stream?typed=1&after=3").status == 204


def test_what_retention_removed_is_one_gap(daemon):
    folder = write_session(daemon, "ses_cut", [])
    log = SessionLog(folder, segment_limit=1, retention=200)
    for number in range(20):
        log.append([TextDelta("s", f"text {number}")])
    log.close()
    with daemon.admin.stream("/sessions/ses_cut/stream?typed=1") as stream:
        stream.message()
        gap, first = stream.message(), stream.message()
    assert gap.event == "gap"
    assert gap.data["from"] == 1
    assert int(first.id) == gap.data["to"] + 1 == int(gap.id) + 1


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "9" * 30, "٣"])
def test_a_cursor_that_is_none_is_refused(daemon, cursor):
    write_session(daemon, f"ses_cursor_{len(cursor)}{ord(cursor[0])}", [Notice("n", "n")])
    name = f"ses_cursor_{len(cursor)}{ord(cursor[0])}"
    answer = daemon.admin.get(
        f"/sessions/{name}/stream", headers={"Last-Event-ID": cursor.encode().decode("latin-1")}
    )
    assert (answer.status, answer.code) == (400, "CURSOR_INVALID")


@pytest.mark.parametrize("name", ["ses_none", "..", "%2e%2e%2fmeta.json", "ses_%00", ".hidden"])
def test_a_session_that_is_none_is_not_found(daemon, name):
    for path in (f"/sessions/{name}", f"/sessions/{name}/events", f"/sessions/{name}/stream"):
        assert daemon.admin.get(path).status == 404
