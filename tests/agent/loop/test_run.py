"""One run, with a model that does not let go."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from operable.agent.loop.cancellation import Cancellation
from operable.agent.loop.run import AgentRun
from operable.agent.provider.model import Finished, ModelRequest, ModelText, Piece
from operable.agent.providers.offline import MODEL
from operable.agent.session.conversation import SessionConversation, Tuning
from operable.agent.session.history import TextBlock, Tokens
from operable.agent.session.store import NullStore
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


def _conversation(session: Any, workspace: Path) -> SessionConversation:
    return SessionConversation(
        provider=MODEL,
        session=session,
        tuning=Tuning("m"),
        toolbox={},
        workspace=str(workspace),
        environment={},
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
