"""One run, with a model that does not let go."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from operable.agent.loop.cancellation import Cancellation
from operable.agent.loop.run import AgentRun
from operable.agent.provider.model import Finished, ModelCall, ModelRequest, ModelText, Piece
from operable.agent.providers.offline import MODEL
from operable.agent.session.conversation import SessionConversation, Tuning
from operable.agent.session.history import TextBlock, Tokens
from operable.agent.session.store import NullStore
from operable.agent.tool.ability import Ability
from operable.kernel import catalogue
from operable.wire import json_stream as protocol
from tests.agent.agent_process import LIMIT
from tests.requirement import requirement


class Deaf:
    """A provider whose SDK has lost its connection and does not know it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.freed = threading.Event()

    def prepare(self) -> None:
        return

    def close(self) -> None:
        return

    def stream(self, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]:
        yield ModelText("one")
        self.asked.set()
        assert self.freed.wait(LIMIT)
        yield ModelText("two, far too late")
        yield Finished("end", Tokens(1, 1))


def _conversation(
    session: Any, workspace: Path, toolbox: Mapping[str, Ability] | None = None
) -> SessionConversation:
    return SessionConversation(
        provider=MODEL,
        session=session,
        tuning=Tuning("m"),
        toolbox=toolbox or {},
        workspace=str(workspace),
        environment={"PATH": "/usr/bin:/bin"},
        store=NullStore(),
    )


@requirement("jsonstream:2:stop")
def test_the_end_is_emitted_over_the_head_of_a_model_that_does_not_listen(tmp_path: Path) -> None:
    session, events = Deaf(), list[protocol.Event]()
    run = AgentRun(_conversation(session, tmp_path), "m", events.append)
    ended = threading.Event()
    thread = threading.Thread(target=run.work, args=([TextBlock("hi")],), kwargs={"at_end": ended.set})
    thread.start()
    assert session.asked.wait(LIMIT)
    run.stop()  # returns although the model says nothing
    assert run.over
    assert [type(event) for event in events] == [
        protocol.StreamStartFrame,
        protocol.TextDeltaFrame,
        protocol.StreamEndFrame,
    ]
    assert not ended.is_set()
    session.freed.set()
    thread.join(LIMIT)
    assert ended.is_set()
    assert len(events) == 3  # nothing follows the end


def test_a_fault_of_ours_is_an_internal_error_and_an_end(tmp_path: Path) -> None:
    events = list[protocol.Event]()

    def broken() -> list[TextBlock]:
        raise RuntimeError("token=abcdef0123456789 is wrong")

    AgentRun(_conversation(Deaf(), tmp_path), "m", events.append).work(broken)
    assert [type(event) for event in events] == [
        protocol.StreamStartFrame,
        protocol.ErrorFrame,
        protocol.StreamEndFrame,
    ]
    assert isinstance(events[1], protocol.ErrorFrame)
    assert events[1].error.code == "internal_error"
    assert "abcdef" not in events[1].error.message


class Answering:
    """A provider that answers with these pieces, one list for each call, and counts its calls."""

    def __init__(self, *answers: list[Piece]) -> None:
        self.answers = list(answers)

    def prepare(self) -> None:
        return

    def close(self) -> None:
        return

    def stream(self, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]:
        yield from self.answers.pop(0)


def _said(events: list[protocol.Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, protocol.TextDeltaFrame))


def test_a_refusal_without_a_word_is_not_an_empty_answer(tmp_path: Path) -> None:
    events, session = list[protocol.Event](), Answering([Finished("refusal", Tokens(1, 0))])
    run = AgentRun(_conversation(session, tmp_path), "m", events.append)

    run.work([TextBlock("hi")])

    assert _said(events) == "The model refused to answer this."
    assert run.finished == "refusal"
    assert session.answers == []


def test_a_refusal_in_words_stays_as_it_is(tmp_path: Path) -> None:
    events = list[protocol.Event]()
    session = Answering([ModelText("No."), Finished("refusal", Tokens(1, 1))])

    AgentRun(_conversation(session, tmp_path), "m", events.append).work([TextBlock("hi")])

    assert _said(events) == "No."


def test_an_empty_answer_is_asked_for_once_more(tmp_path: Path) -> None:
    events = list[protocol.Event]()
    session = Answering([Finished("end", Tokens(1, 0))], [ModelText("Now."), Finished("end", Tokens(1, 1))])

    AgentRun(_conversation(session, tmp_path), "m", events.append).work([TextBlock("hi")])

    assert _said(events) == "Now."


def test_a_yes_does_not_reach_the_file_that_a_link_leads_to_by_then(tmp_path: Path) -> None:
    """The answers come when both calls were judged: the first call makes a link where the second writes."""
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "other.txt").write_text("as it was")
    line = "ln -s .git/hooks/pre-commit notes.txt; ln -s other.txt more.txt"
    calls: list[Piece] = [
        ModelCall("1", "Bash", {"command": line}),
        ModelCall("2", "Write", {"file_path": "notes.txt", "content": "#!/bin/sh\n"}),
        ModelCall("3", "Write", {"file_path": "more.txt", "content": "changed"}),
        ModelCall("4", "Write", {"file_path": "fresh.txt", "content": "written"}),
        Finished("tools", Tokens(1, 1)),
    ]
    toolbox = {
        name: catalogue.load("operable.agent.abilities", name.lower(), "ABILITY")
        for name in ("Bash", "Write")
    }
    conversation = _conversation(
        Answering(calls, [ModelText("done"), Finished("end", Tokens(1, 1))]), tmp_path, toolbox
    )
    results: dict[str, str] = {}

    def emit(event: protocol.Event) -> None:
        if isinstance(event, protocol.ToolRequestFrame) and event.call_id == "1":
            conversation.desk.approve("1")
        if isinstance(event, protocol.ToolResultFrame):
            results[event.call_id] = event.status
            for call_id in ("2", "3", "4") if event.call_id == "1" else ():
                assert conversation.desk.approve(call_id)

    AgentRun(conversation, "m", emit).work([TextBlock("hi")])

    assert results == {"1": "success", "2": "error", "3": "error", "4": "success"}
    assert not (tmp_path / ".git" / "hooks" / "pre-commit").exists()
    assert (tmp_path / "other.txt").read_text() == "as it was"
    assert (tmp_path / "fresh.txt").read_text() == "written"
