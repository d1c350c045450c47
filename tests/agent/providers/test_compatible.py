"""Servers that are nearly compatible with OpenAI's chat completions, as they are found in the wild."""

import json

import pytest

from operable.agent.provider.model import Finished, ModelCall, ModelText, ModelThought
from operable.testing.http_edge import EdgeRequest, Reply
from operable.testing.models import ModelServer
from tests.agent.providers.doors import ask, opened, request


class _Saying(ModelServer):
    """Answers with these deltas, whatever is asked."""

    def __init__(self, *deltas, usage=None, finish="stop"):
        super().__init__()
        self._deltas, self._used, self._finish = deltas, usage, finish

    async def _answer(self, request: EdgeRequest, reply: Reply) -> None:
        await reply.start("text/event-stream")
        for delta in self._deltas:
            await self._chunk(reply, {"choices": [{"index": 0, "delta": delta}]})
        last = {"choices": [{"index": 0, "delta": {}, "finish_reason": self._finish}]}
        await self._chunk(reply, {**last, **({"usage": self._used} if self._used else {})})
        await reply.piece(b"data: [DONE]\n\n")
        await reply.finish()

    async def _chunk(self, reply: Reply, chunk: dict[str, object]) -> None:
        whole = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "local", **chunk}
        await reply.piece(f"data: {json.dumps(whole)}\n\n".encode())


def heard(*deltas, **how):
    with _Saying(*deltas, **how) as server, opened("openai", server.url) as session:
        return ask(session, request("openai", []))


def call(index, call_id, name, arguments):
    return {
        "tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]
    }


def test_parallel_calls_that_all_have_the_number_0_are_told_apart_by_their_ids():
    pieces = heard(call(0, "a", "Read", '{"n": 1}'), call(0, "b", "Read", '{"n": 2}'))

    assert pieces[:2] == [ModelCall("a", "Read", {"n": 1}), ModelCall("b", "Read", {"n": 2})]
    assert pieces[2].reason == "tools"


def test_an_id_and_a_name_that_are_repeated_in_every_piece_are_taken_once():
    pieces = heard(call(0, "a", "Read", '{"n":'), call(0, "a", "Read", " 1}"))

    assert pieces[0] == ModelCall("a", "Read", {"n": 1})


def test_calls_without_ids_get_some():
    pieces = heard(call(0, None, "Read", "{}"), call(1, "", "Glob", ""))

    assert [piece.name for piece in pieces[:2]] == ["Read", "Glob"]
    assert pieces[0].call_id != pieces[1].call_id


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_heard_under_either_name(name):
    assert heard({name: "Hm."}, {"content": "Yes."})[:2] == [ModelThought("Hm."), ModelText("Yes.")]


def test_an_answer_without_usage_counts_nothing():
    pieces = heard({"content": "Yes."})

    assert isinstance(pieces[-1], Finished)
    assert pieces[-1].tokens.output_tokens == 0


def test_usage_in_the_last_piece_of_the_answer_counts():
    pieces = heard(
        {"content": "Yes."}, usage={"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    )

    assert (pieces[-1].tokens.input_tokens, pieces[-1].tokens.output_tokens) == (7, 3)


def test_a_refusal_in_its_own_field_is_said_and_told():
    pieces = heard({"refusal": "I will not."})

    assert (pieces[0], pieces[-1].reason) == (ModelText("I will not."), "refusal")
