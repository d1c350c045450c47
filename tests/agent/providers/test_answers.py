"""What the providers make of answers that are as they should be, in each vendor's own format over a real socket."""

import threading

import pytest

from operable.agent.loop.cancellation import Cancellation
from operable.agent.provider.model import (
    Finished,
    ModelCall,
    ModelError,
    ModelText,
    ModelThought,
    ProviderSettings,
)
from operable.agent.session.history import Tokens
from operable.testing.models import ModelServer
from tests.agent.providers.doors import (
    CLAUDE,
    DOORS,
    KEY,
    LIMIT,
    TOKEN,
    GoogleTokens,
    ask,
    environment,
    model,
    opened,
    request,
    spoken,
)
from tests.agent.providers.sigv4 import SigningServer

USED = {"usage": {"input": 10, "output": 5, "cache_read": 3, "cache_write": 2}}


def only(kind, pieces):
    return [piece for piece in pieces if isinstance(piece, kind)]


@pytest.mark.parametrize("name", DOORS)
def test_text_comes_in_the_pieces_in_which_it_was_sent(name, server):
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"say": ["Grüß", " ", "Gott 🙂"]}, USED]))

    assert pieces == [
        ModelText("Grüß"),
        ModelText(" "),
        ModelText("Gott 🙂"),
        Finished("end", Tokens(10, 5, 3, 2)),
    ]


@pytest.mark.parametrize("name", DOORS)
def test_thoughts_come_before_what_is_said(name, server):
    with opened(name, server.url) as session:
        pieces = ask(
            session, request(name, [{"think": ["Let me ", "see."]}, {"say": "Yes."}], thinking_budget=2048)
        )

    assert [piece.text for piece in only(ModelThought, pieces) if piece.text] == ["Let me ", "see."]
    assert pieces[-2:] == [ModelText("Yes."), Finished("end", Tokens(100, 20))]


@pytest.mark.parametrize("name", DOORS)
def test_parallel_calls_come_whole_and_in_order(name, server):
    calls = [{"call": "Read", "args": {"file_path": path}} for path in ("a", "b", "ü")]
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"say": "Looking."}, *calls]))

    found = only(ModelCall, pieces)
    assert [(call.name, call.arguments, call.malformed) for call in found] == [
        ("Read", {"file_path": path}, None) for path in ("a", "b", "ü")
    ]
    assert len({call.call_id for call in found}) == 3
    assert pieces[-1].reason == "tools"


@pytest.mark.parametrize("name", DOORS)
def test_arguments_that_are_no_object_are_a_malformed_call_and_not_a_failure(name, server):
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"call": "Read", "args": ["a"]}]))

    assert [(call.arguments, call.malformed) for call in only(ModelCall, pieces)] == [({}, '["a"]')]


@pytest.mark.parametrize("name", DOORS)
def test_an_answer_that_was_cut_by_its_limit_says_so(name, server):
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"say": "Once upon"}, {"end": "max_tokens"}]))

    assert pieces[-1].reason == "max_tokens"


@pytest.mark.parametrize("name", [*CLAUDE, "openai"])
def test_a_refusal_is_told_as_one(name, server):
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"say": "No."}, {"end": "refusal"}]))

    assert pieces[-1].reason == "refusal"


@pytest.mark.parametrize("name", DOORS)
def test_a_piece_is_given_on_before_the_next_one_is_sent(name, server):
    asked = request(name, [{"say": "First"}, {"hang": True}])
    with opened(name, server.url) as session:
        stream = spoken(session, asked)
        first = next(stream)
        still_going = server.exchanges[0].outcome
        stream.close()

    assert (first, still_going) == (ModelText("First"), "open")
    server.wait(lambda exchange: exchange.outcome == "disconnected")


@pytest.mark.parametrize("name", DOORS)
def test_a_slow_drip_is_read_to_its_end(name, server):
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"say": "0123456789", "chunks": 10, "delay": 0.02}]))

    assert [piece.text for piece in only(ModelText, pieces)] == list("0123456789")


@pytest.mark.parametrize("name", DOORS)
def test_one_session_answers_several_at_once(name, server):
    """As sub-agents ask: each stream is held open until the other has begun."""
    both = threading.Barrier(2, timeout=LIMIT)
    heard: list[str] = []

    def stream(word):
        asked = request(name, [{"say": [word, " and more"], "delay": 0.01}])
        for piece in session.stream(asked, Cancellation()):
            if isinstance(piece, ModelText) and piece.text == word:
                both.wait()
                heard.append(word)

    with opened(name, server.url) as session:
        threads = [threading.Thread(target=stream, args=(word,)) for word in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)

    assert sorted(heard) == ["one", "two"]


@pytest.mark.parametrize("name", DOORS)
def test_no_thread_is_left_behind(name, server):
    before = set(threading.enumerate())
    with opened(name, server.url) as session:
        session.prepare()
        ask(session, request(name, [{"say": "Hello"}]))

    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(LIMIT)  # a worker of the SDK ends by itself once its loop is closed
    assert [thread for thread in left if thread.is_alive()] == []


@pytest.mark.parametrize("name", DOORS)
def test_the_first_request_after_preparing_loads_nothing_more(name, server):
    import sys

    with opened(name, server.url) as session:
        session.prepare()
        before = set(sys.modules)
        ask(session, request(name, [{"think": "Hm."}, {"say": "Hello"}, {"call": "Read", "args": {}}]))
        loaded = set(sys.modules) - before

    assert {
        module for module in loaded if module.startswith(("anthropic", "openai", "boto", "pydantic"))
    } == set()


@pytest.mark.parametrize("name", DOORS)
def test_what_is_rehearsed_is_a_right_answer(name):
    """Else `prepare` would fail in silence, and the first message would pay."""
    import asyncio

    with opened(name, "http://127.0.0.1:9") as session:
        asyncio.run(session._rehearse())


def test_bedrock_signs_its_requests_with_the_users_key():
    with SigningServer() as server, opened("bedrock", server.url) as session:
        for named in ("anthropic.claude-sonnet-5", "eu.anthropic.claude-sonnet-4-6-v1:0"):
            pieces = ask(session, request("bedrock", [{"say": "Signed."}], model=named))
            assert pieces[0] == ModelText("Signed.")

    assert [exchange.asked.model for exchange in server.exchanges] == [
        "anthropic.claude-sonnet-5",
        "eu.anthropic.claude-sonnet-4-6-v1:0",
    ]
    assert server.exchanges[0].dialect == "bedrock"


def test_bedrock_refuses_another_key_and_the_user_is_told():
    other = {**environment("bedrock"), "AWS_SECRET_ACCESS_KEY": "another-secret-than-the-servers"}
    with SigningServer() as server:
        session = model("bedrock").configure(ProviderSettings(server.url, None, other))
        with pytest.raises(ModelError, match="refused access") as failed:
            ask(session, request("bedrock", [{"say": "Never."}]))
        session.close()

    assert not failed.value.retryable
    assert "another-secret" not in str(failed.value)


def test_bedrock_takes_an_api_key_instead_of_a_signature(server):
    session = model("bedrock").configure(ProviderSettings(server.url, KEY, {"AWS_REGION": "eu-west-1"}))
    ask(session, request("bedrock", [{"say": "Hello"}]))
    session.close()

    assert server.exchanges[0].carried(KEY)


def test_vertex_fetches_a_token_with_its_service_account_and_keeps_it(server, tmp_path):
    tokens = GoogleTokens(tmp_path)
    session = model("vertex").configure(
        ProviderSettings(server.url, None, environment("vertex", tokens.file))
    )
    try:
        session.prepare()
        before = tokens.granted
        for word in ("one", "two"):
            assert ask(session, request("vertex", [{"say": word}]))[0] == ModelText(word)
    finally:
        session.close()
        tokens.close()

    assert (before, tokens.granted) == (0, 1)
    assert all(exchange.carried(TOKEN) for exchange in server.exchanges)
    assert "/projects/a-project/locations/europe-west1/publishers/anthropic/" in server.exchanges[0].path


def test_vertex_says_when_no_token_can_be_had(server, tmp_path):
    tokens = GoogleTokens(tmp_path)
    tokens.close()
    session = model("vertex").configure(
        ProviderSettings(server.url, None, environment("vertex", tokens.file))
    )
    with pytest.raises(ModelError, match="credentials could not be used"):
        ask(session, request("vertex", [{"say": "Never."}]))
    session.close()

    assert server.exchanges == []


@pytest.mark.parametrize("name", ["openai", "openai-responses"])
@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_base_url_may_have_its_v1_or_not(name, ending, server):
    with opened(name, server.url + ending) as session:
        ask(session, request(name, [{"say": "Hello"}]))

    assert server.exchanges[0].path.startswith("/v1/")


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai-responses"])
def test_the_key_on_the_command_line_wins_over_the_variable(name, server):
    session = model(name).configure(ProviderSettings(server.url, "sk-from-the-flag", environment(name)))
    ask(session, request(name, [{"say": "Hello"}]))
    session.close()

    assert server.exchanges[0].carried("sk-from-the-flag")
    assert not server.exchanges[0].carried(KEY)


def test_the_address_may_come_from_the_environment():
    with ModelServer() as server:
        for name, variable in (("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")):
            session = model(name).configure(
                ProviderSettings(None, None, {**environment(name), variable: server.url})
            )
            assert ask(session, request(name, [{"say": "Hello"}]))[0] == ModelText("Hello")
            session.close()
