"""What the providers make of everything that can go wrong between them and the vendor: over a real socket, in real formats."""

import contextlib
import json
import socket
import threading
import time
from email.utils import formatdate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operable.agent.loop.cancellation import Cancellation, Cancelled
from operable.agent.provider import client
from operable.agent.provider import stream as provider_stream
from operable.agent.provider.errors import retry_after
from operable.agent.provider.model import Finished, ModelError, ModelText, Piece, ProviderSettings, Retrying
from operable.testing.http_edge import EdgeRequest, Reply
from operable.testing.models import ModelServer
from tests.agent.providers.doors import (
    DOORS,
    KEY,
    LIMIT,
    SSE,
    GoogleTokens,
    ask,
    environment,
    model,
    opened,
    request,
    spoken,
)

BROKEN_EVENT = 'event: content_block_delta\ndata: {"type": "content_block_delta", "index": \n\n'


# The same failures in the words of each vendor.
OVERLOADED = {"bedrock": "serviceUnavailableException", "openai": "server_overloaded"}
BROKE = {"bedrock": "internalServerException"}
WRONG = {"bedrock": "validationException"}


def failed(session, asked, heard=None):
    """The error in which it ends; what came before it is added to `heard`."""
    with pytest.raises(ModelError) as problem:
        (heard if heard is not None else []).extend(spoken(session, asked))
    return problem.value


@pytest.mark.parametrize("name", DOORS)
def test_a_stream_that_breaks_after_the_first_word_is_not_asked_for_again(name, server):
    """The user has seen the word, and would see it twice."""
    heard: list[Piece] = []
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"say": "Hel"}, {"drop": "cut"}]), heard)

    assert heard == [ModelText("Hel")]
    assert problem.retryable
    assert len(server.exchanges) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["cut", "end"])
@pytest.mark.parametrize("name", DOORS)
def test_a_stream_that_breaks_before_the_first_word_is_asked_for_twice_more(name, how, server):
    told: list[Piece] = []
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"drop": how}]), told)

    assert told == [
        Retrying("Stream interrupted, retrying... (1/2)"),
        Retrying("Stream interrupted, retrying... (2/2)"),
    ]
    assert problem.retryable
    assert len(server.exchanges) == 3


@pytest.mark.parametrize("name", DOORS)
def test_an_end_of_http_without_an_end_of_the_answer_is_no_answer(name, server):
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"say": "Hel"}, {"drop": "end"}]))

    assert problem.message == "The answer broke off before its end."


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", DOORS)
def test_nobody_at_the_address_is_said_after_three_tries(name):
    with ModelServer() as server:
        url = server.url
    with opened(name, url) as session:
        problem = failed(session, request(name, []))

    assert problem.retryable
    assert problem.message.startswith("The provider could not be reached")


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("name", DOORS)
def test_a_refused_key_is_told_at_once_and_without_the_key(name, status, server):
    secret = "wJalrXUtnFEMI-the-secret-of-this-test" if name == "bedrock" else KEY
    with opened(name, server.url) as session:
        problem = failed(
            session, request(name, [{"status": status, "message": f"invalid key {secret}, sorry"}])
        )

    assert (problem.retryable, problem.status, len(server.exchanges)) == (False, status, 1)
    assert problem.message.startswith(f"The provider refused access ({status}): invalid key")
    assert secret not in problem.message


@pytest.mark.parametrize(
    "status, words", [(400, "answered 400"), (404, "does not know this model"), (413, "413")]
)
@pytest.mark.parametrize("name", DOORS)
def test_what_is_wrong_with_the_request_is_told_at_once(name, status, words, server):
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"status": status, "message": "no such thing"}]))

    assert (problem.retryable, problem.status, len(server.exchanges)) == (False, status, 1)
    assert words in problem.message
    assert "no such thing" in problem.message


@pytest.mark.parametrize("name", DOORS)
def test_a_rate_limit_is_waited_for_as_long_as_the_vendor_says(name, server):
    limit = {"status": 429, "headers": {"retry-after": "0.02"}, "message": "Too fast", "times": 2}
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [limit, {"say": "Hello"}]))

    assert pieces[:2] == [
        Retrying("Rate limit exceeded: Too fast. Retry after 0.02s. Retrying in 0.02 s... (1/5)"),
        Retrying("Rate limit exceeded: Too fast. Retry after 0.02s. Retrying in 0.02 s... (2/5)"),
    ]
    assert pieces[2] == ModelText("Hello")
    assert len(server.exchanges) == 3


@pytest.mark.parametrize("name", DOORS)
def test_a_rate_limit_of_an_hour_is_told_and_not_waited_for(name, server):
    limit = {"status": 429, "headers": {"retry-after": "3600"}, "message": "Too fast"}
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [limit]))

    assert problem.message == "Rate limit exceeded: Too fast. Retry after 3600s."
    assert (problem.retryable, problem.status, problem.retry_after) == (True, 429, 3600)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("status", [500, 503, 529])
@pytest.mark.parametrize("name", DOORS)
def test_a_server_that_fails_for_a_while_is_asked_until_it_answers(name, status, server):
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"status": status, "times": 3}, {"say": "Hello"}]))

    assert [type(piece) for piece in pieces] == [Retrying, Retrying, Retrying, ModelText, Finished]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", DOORS)
def test_a_server_that_keeps_failing_is_given_up(name, server):
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"status": 500, "message": "oops"}]))

    assert (problem.message, problem.retryable) == ("The provider answered 500: oops.", True)
    assert len(server.exchanges) == 1 + len(provider_stream.STATUS_DELAYS)


@pytest.mark.parametrize("name", DOORS)
def test_the_vendor_may_say_that_another_try_is_useless(name, server):
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"status": 500, "headers": {"x-should-retry": "false"}}]))

    assert (problem.retryable, len(server.exchanges)) == (False, 1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", DOORS)
def test_an_overload_that_is_told_inside_the_stream_is_tried_again(name, server):
    with opened(name, server.url) as session:
        problem = failed(
            session,
            request(name, [{"fail": OVERLOADED.get(name, "overloaded_error"), "message": "Overloaded"}]),
        )

    assert (problem.message, problem.retryable) == ("The provider failed: Overloaded.", True)
    assert len(server.exchanges) > 2


@pytest.mark.parametrize("name", DOORS)
def test_an_error_inside_the_stream_after_the_first_word_ends_it(name, server):
    asked = request(name, [{"say": "Hel"}, {"fail": BROKE.get(name, "server_error"), "message": "We broke"}])
    with opened(name, server.url) as session:
        problem = failed(session, asked)

    assert (problem.message, problem.retryable, len(server.exchanges)) == (
        "The provider failed: We broke.",
        True,
        1,
    )


@pytest.mark.parametrize("name", DOORS)
def test_an_error_inside_the_stream_that_will_not_pass_is_not_retried(name, server):
    with opened(name, server.url) as session:
        problem = failed(
            session, request(name, [{"fail": WRONG.get(name, "invalid_request_error"), "message": "Bad"}])
        )

    assert (problem.retryable, len(server.exchanges)) == (False, 1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", DOORS)
def test_a_malformed_event_is_a_failure_and_not_a_gap(name, server):
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"raw": BROKEN_EVENT}, {"say": "Hello"}]))

    assert problem.message.startswith("The provider's answer could not be read")
    assert problem.retryable
    assert len(server.exchanges) == 3


@pytest.mark.parametrize("name", ["anthropic", "vertex"])
@pytest.mark.parametrize(
    "event",
    [
        '{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}',
        '{"type":"content_block_stop","index":7}',
    ],
)
def test_a_block_that_never_began_is_a_hole_in_the_answer(name, event, server):
    kind = "content_block_delta" if "delta" in event else "content_block_stop"
    raw = f"event: {kind}\ndata: {event}\n\n"
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"say": "Hel"}, {"raw": raw}]))

    assert "never began" in problem.message


@pytest.mark.parametrize("name", ["anthropic", "vertex"])
def test_events_of_a_later_version_are_passed_over(name, server):
    raw = 'event: novelty\ndata: {"type":"novelty","index":0,"thing":[1]}\n\n: a comment\n\n'
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, [{"raw": raw}, {"say": "Hello"}]))

    assert pieces[0] == ModelText("Hello")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    (
        "message_start content_block_start content_block_delta content_block_stop message_delta error"
        " response.output_item.done response.completed response.output_text.delta response.failed"
    ).split()
)
FIELDS = st.sampled_from(
    "message usage index content_block delta stop_reason choices response item error output_index type id".split()
)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", SSE)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=KINDS, fields=st.dictionaries(FIELDS, VALUES, max_size=4))
def test_nonsense_in_the_right_form_is_the_providers_fault_and_never_ours(name, server, kind, fields):
    raw = f"event: {kind}\ndata: {json.dumps({**fields, 'type': kind})}\n\n"
    with opened(name, server.url) as session, contextlib.suppress(ModelError):
        ask(session, request(name, [{"raw": raw}, {"say": "Hello"}]))


@pytest.mark.parametrize("name", DOORS)
def test_half_a_character_does_not_keep_the_answer_from_being_written(name, server):
    """Servers cut pairs of surrogates in two, and models write them into arguments."""
    script = [
        {"say": ["a\ud83d", "\ude42b"]},
        {"call": "Read", "args": {"file_path": "\ud83d", "b": "\ud83d\ude42"}},
    ]
    with opened(name, server.url) as session:
        pieces = ask(session, request(name, script))

    assert pieces[:2] == [ModelText("a\ufffd"), ModelText("\ufffdb")]
    assert pieces[2].arguments == {"file_path": "\ufffd", "b": "🙂"}


@pytest.mark.parametrize("name", DOORS)
def test_half_a_character_in_an_error_does_not_keep_it_from_being_told(name, server):
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"status": 400, "message": "no \ud83d"}]))

    assert problem.message == "The provider answered 400: no \ufffd."


class _Redirecting(ModelServer):
    """Sends every question to another server."""

    def __init__(self, target):
        super().__init__()
        self._target = target

    async def _answer(self, request: EdgeRequest, reply: Reply) -> None:
        await reply.whole(307, {}, {"location": self._target + request.path})


@pytest.mark.parametrize("name", DOORS)
def test_a_redirect_does_not_carry_the_key_to_another_server(name, server):
    with _Redirecting(server.url) as moved, opened(name, moved.url) as session:
        problem = failed(session, request(name, [{"say": "Hello"}]))

    assert (problem.status, server.exchanges) == (307, [])


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("before", [[], [{"say": "Hel"}]], ids=["before a word", "after a word"])
def test_a_cancelled_answer_is_hung_up(name, before, server):
    """The vendor must see that nobody listens any more; and the next question is answered as if nothing had been."""
    cancellation = Cancellation()
    with opened(name, server.url) as session:
        asked = request(name, [*before, {"hang": True}])
        ended = _in_thread(lambda: ask(session, asked, cancellation))
        _until(lambda: len(server.exchanges) == 1)
        cancellation.cancel()
        assert isinstance(ended(), Cancelled)
        server.wait(lambda exchange: exchange.outcome == "disconnected")
        assert ask(session, request(name, [{"say": "Again"}]))[0] == ModelText("Again")


def test_a_pause_before_another_try_ends_with_the_run(server):
    cancellation = Cancellation()
    limit = {"status": 429, "headers": {"retry-after": "50"}}
    with opened("anthropic", server.url) as session:
        stream = session.stream(request("anthropic", [limit]), cancellation)
        assert isinstance(next(stream), Retrying)
        ended = _in_thread(lambda: next(stream))
        cancellation.cancel()
        assert isinstance(ended(), Cancelled)


def test_a_run_that_waits_for_googles_token_can_be_stopped(server, tmp_path, monkeypatch):
    """The token is fetched in a thread that nothing can stop; the run does not wait for it."""
    monkeypatch.setattr(
        "operable.agent.providers.vertex.CONNECT_TIMEOUT", 1.0
    )  # the thread ends soon after the test
    tokens = GoogleTokens(tmp_path)
    tokens.close()
    cancellation = Cancellation()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        account = json.loads(tokens.file.read_text())
        account["token_uri"] = f"http://127.0.0.1:{silent.getsockname()[1]}/token"
        tokens.file.write_text(json.dumps(account))
        session = model("vertex").configure(
            ProviderSettings(server.url, None, environment("vertex", tokens.file))
        )
        ended = _in_thread(lambda: ask(session, request("vertex", []), cancellation))
        silent.settimeout(LIMIT)
        asking, _ = silent.accept()
        cancellation.cancel()
        assert isinstance(ended(), Cancelled)
        asking.close()
        session.close()


def test_what_the_sdk_refuses_to_begin_with_is_told_as_the_providers(server, tmp_path):
    broken = tmp_path / "account.json"
    broken.write_text(json.dumps({"type": "service_account", "private_key": "no key at all"}))
    session = model("vertex").configure(ProviderSettings(server.url, None, environment("vertex", broken)))
    problem = failed(session, request("vertex", []))
    session.close()

    assert problem.message.startswith("The provider could not be set up: ")
    assert not problem.retryable
    assert "no key at all" not in problem.message


@pytest.mark.parametrize("name", DOORS)
def test_a_silent_vendor_is_not_waited_for_for_ever(name, server, monkeypatch):
    monkeypatch.setattr(client, "SILENCE_TIMEOUT", 0.3)
    with opened(name, server.url) as session:
        problem = failed(session, request(name, [{"say": "Hel"}, {"hang": True}]))

    assert (problem.message, problem.retryable) == ("The provider did not answer in time.", True)


def test_a_session_that_is_closed_under_a_stream_lets_it_end(server):
    with opened("anthropic", server.url) as session:
        stream = spoken(session, request("anthropic", [{"say": ["a", "b"], "delay": 0.01}]))
        first = next(stream)
        session.close()
        rest = list(stream)

    assert [first, rest[0]] == [ModelText("a"), ModelText("b")]


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "1e400"}, None),
        ({}, None),
    ],
)
def test_a_vendor_can_say_in_three_ways_how_long_to_wait(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for_is_counted_from_now():
    seconds = retry_after({"retry-after": formatdate(time.time() + 3000, usegmt=True)})

    assert seconds is not None
    assert 2000 < seconds <= 3001


def test_a_quota_that_only_a_payment_renews_is_not_retried():
    class _NoMoney(ModelServer):
        async def _answer(self, request: EdgeRequest, reply: Reply) -> None:
            await reply.whole(429, {"error": {"message": "Pay.", "code": "insufficient_quota"}})

    with _NoMoney() as server, opened("openai", server.url) as session:
        problem = failed(session, request("openai", []))

    assert (problem.retryable, problem.status) == (False, 429)


def _in_thread(work):
    """Start it; the result is a function that waits for its end and gives what it raised."""
    raised = []

    def run():
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def ended():
        thread.join(LIMIT)
        assert not thread.is_alive()
        return raised[0] if raised else None

    return ended


def _until(true):
    deadline = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)
