"""The scripted model server, seen by the vendors' own clients where there is one, and as bytes where there is none."""

import importlib
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import httpx2
import pytest

from operable.testing.models import ModelServer
from operable.testing.script import ScriptError

LIMIT = 200
KEY = "sk-test-0123456789"
WRITE_SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
}


@pytest.fixture
def models():
    with ModelServer({"greet": [[{"say": "Hello there", "chunks": 3}], [{"say": "Again"}]]}) as server:
        yield server


# The vendors' clients are imported by the tests that use them: two seconds, which no other worker has to spend.
@pytest.fixture
def anthropic():
    return importlib.import_module("anthropic")


@pytest.fixture
def openai():
    return importlib.import_module("openai")


@pytest.fixture
def claude(models, anthropic):
    with anthropic.Anthropic(base_url=models.url, api_key=KEY, max_retries=0, timeout=LIMIT) as client:
        yield client


@pytest.fixture
def gpt(models, openai):
    with openai.OpenAI(base_url=f"{models.url}/v1", api_key=KEY, max_retries=0, timeout=LIMIT) as client:
        yield client


def script(*replies):
    return "SCRIPT:" + json.dumps(list(replies))


def user(text):
    return [{"role": "user", "content": text}]


def ask_claude(client, messages, **more):
    return client.messages.create(model="claude-x", max_tokens=100, messages=messages, **more)


def post(url, body, headers=None):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})}
    )
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return answer.read()


def test_a_script_is_chosen_by_its_name_and_followed_reply_by_reply(models, claude):
    first = ask_claude(claude, user("please SCRIPT:greet"))
    said = [{"role": "assistant", "content": first.content[0].text}]
    second = ask_claude(claude, [*user("please SCRIPT:greet"), *said, *user("go on")])
    third = ask_claude(claude, [*user("please SCRIPT:greet"), *said, *user("go on"), *said, *user("and on")])

    assert [reply.content[0].text for reply in (first, second)] == ["Hello there", "Again"]
    assert third.content[0].text == "Hello from the scripted model."
    assert [exchange.position.round for exchange in models.exchanges] == [0, 1, 2]


def test_the_last_prompt_with_a_marker_decides(claude):
    history = [*user(script([{"say": "old"}])), {"role": "assistant", "content": "old"}]

    assert ask_claude(claude, [*history, *user(script([{"say": "new"}]))]).content[0].text == "new"


def test_claude_streams_thinking_text_and_parallel_calls(claude):
    steps = [
        {"think": "hm", "chunks": 2},
        {"say": "Hello", "chunks": 2},
        {"call": "write", "args": {"path": "a", "text": "1"}},
        {"call": "write", "args": {"path": "b", "text": "2"}},
        {"usage": {"input": 7, "output": 3, "cache_read": 5, "cache_write": 2}},
    ]
    with claude.messages.stream(
        model="claude-x",
        max_tokens=100,
        messages=user(script(steps)),
        tools=[{"name": "Write", "input_schema": WRITE_SCHEMA}],
    ) as stream:
        message = stream.get_final_message()

    thought, text, first, second = message.content
    assert (thought.thinking, text.text) == ("hm", "Hello")
    assert first.input == {"file_path": "a", "content": "1"}
    assert second.input == {"file_path": "b", "content": "2"}
    assert message.stop_reason == "tool_use"
    assert message.usage.input_tokens == 7
    assert message.usage.output_tokens == 3
    assert message.usage.cache_read_input_tokens == 5
    assert message.usage.cache_creation_input_tokens == 2


def test_chat_completions_stream_reasoning_text_calls_and_usage(gpt):
    steps = [
        {"think": "hm"},
        {"say": "Hello", "chunks": 2},
        {"call": "shell", "args": {"command": "ls"}},
        {"call": "shell", "args": {"command": "pwd"}},
        {"usage": {"input": 7, "output": 3, "cache_read": 5}},
    ]
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}}
    with gpt.chat.completions.stream(
        model="gpt-x",
        messages=user(script(steps)),
        tools=[{"type": "function", "function": {"name": "bash", "parameters": parameters}}],
        stream_options={"include_usage": True},
    ) as stream:
        done = stream.get_final_completion()

    message = done.choices[0].message
    assert message.content == "Hello"
    assert message.reasoning_content == "hm"
    assert [json.loads(call.function.arguments) for call in message.tool_calls] == [
        {"command": "ls"},
        {"command": "pwd"},
    ]
    assert done.choices[0].finish_reason == "tool_calls"
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (12, 3)
    assert done.usage.prompt_tokens_details.cached_tokens == 5


def test_responses_stream_reasoning_text_and_calls_of_both_kinds(gpt):
    steps = [
        {"think": "hm", "chunks": 2},
        {"say": "Hello", "chunks": 2},
        {"call": "shell", "args": {"command": "ls"}},
        {"call": "write", "args": {"path": "a", "text": "1\n"}},
    ]
    parameters = {"type": "object", "properties": {"cmd": {"type": "string"}}}
    tools = [
        {"type": "function", "name": "exec_command", "parameters": parameters, "strict": False},
        {"type": "custom", "name": "apply_patch"},
    ]
    with gpt.responses.stream(model="gpt-x", input=script(steps), tools=tools) as stream:
        kinds = [event.type for event in stream]
        done = stream.get_final_response()

    assert [item.type for item in done.output] == [
        "reasoning",
        "message",
        "function_call",
        "custom_tool_call",
    ]
    assert done.output_text == "Hello"
    assert json.loads(done.output[2].arguments) == {"cmd": "ls"}
    assert "*** Add File: a\n+1\n" in done.output[3].input
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done") == 4


def test_responses_count_a_reply_of_several_items_as_one(gpt, models):
    prompt = script([{"say": "one"}], [{"say": "two"}])
    items = [
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
    ]

    answer = gpt.responses.create(model="gpt-x", input=[*user(prompt), *items])

    assert answer.output_text == "two"


def test_gemini_streams_thoughts_text_calls_and_usage(models):
    steps = [{"think": "hm"}, {"say": "Hello"}, {"call": "read", "args": {"path": "/x"}}]
    schema = {"type": "object", "properties": {"file_path": {"type": "string"}}}
    body = {
        "contents": [{"role": "user", "parts": [{"text": script(steps)}]}],
        "tools": [{"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": schema}]}],
    }
    data = post(f"{models.url}/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key={KEY}", body)

    events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: ")]
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    assert parts[0] == {"text": "hm", "thought": True}
    assert parts[1] == {"text": "Hello"}
    assert parts[2]["functionCall"]["args"] == {"file_path": "/x"}
    assert events[-1]["candidates"][0]["finishReason"] == "STOP"
    assert events[-1]["usageMetadata"]["promptTokenCount"] == 100
    assert models.exchanges[0].carried(KEY)


def test_every_dialect_answers_in_one_piece_to_clients_that_do_not_stream(models, claude, gpt):
    prompt = script([{"think": "hm"}, {"say": "Hello", "chunks": 2}])
    whole = json.loads(
        post(
            f"{models.url}/v1beta/models/gemini-x:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": prompt}]}]},
        )
    )

    assert ask_claude(claude, user(prompt)).content[-1].text == "Hello"
    assert gpt.chat.completions.create(model="m", messages=user(prompt)).choices[0].message.content == "Hello"
    assert gpt.responses.create(model="m", input=prompt).output_text == "Hello"
    assert whole["candidates"][0]["content"]["parts"][1:] == [{"text": "Hel"}, {"text": "lo"}]


@pytest.mark.parametrize(
    "status, code", [(401, "invalid_api_key"), (429, "rate_limit_exceeded"), (500, None)]
)
def test_both_dialects_of_openai_have_its_code_of_an_error(gpt, status, code):
    prompt = script([{"status": status, "message": "as scripted", "headers": {"x-should-retry": "false"}}])
    asked = (
        lambda: gpt.chat.completions.create(model="m", messages=user(prompt)),
        lambda: gpt.responses.create(model="m", input=prompt),
    )

    for ask in asked:
        with pytest.raises(Exception, match="as scripted") as raised:
            ask()
        assert (getattr(raised.value, "status_code", 0), getattr(raised.value, "code", "")) == (status, code)


@pytest.mark.parametrize(
    "status, error",
    [
        (401, "AuthenticationError"),
        (429, "RateLimitError"),
        (500, "InternalServerError"),
        (529, "APIStatusError"),
    ],
)
def test_an_error_status_has_the_vendors_form_and_the_headers_of_the_script(anthropic, claude, status, error):
    steps = [{"status": status, "message": "as scripted", "headers": {"retry-after": "7"}}]

    with pytest.raises(getattr(anthropic, error), match="as scripted") as raised:
        ask_claude(claude, user(script(steps)))

    assert raised.value.status_code == status
    assert raised.value.response.headers["retry-after"] == "7"


def test_an_error_can_be_given_only_so_often(models, openai):
    prompt = script([{"status": 429, "times": 2, "headers": {"retry-after": "0"}}, {"say": "At last"}])
    with openai.OpenAI(base_url=f"{models.url}/v1", api_key=KEY, max_retries=2, timeout=LIMIT) as client:
        answer = client.responses.create(model="m", input=prompt)

    assert answer.output_text == "At last"
    assert [exchange.status for exchange in models.exchanges] == [429, 429, 200]


def test_a_stream_can_be_cut_end_early_or_say_nonsense(anthropic, models, claude):
    def stream(steps):
        arguments = {"model": "m", "max_tokens": 9, "messages": user(script(steps))}
        with claude.messages.stream(**arguments) as events:
            return [event.type for event in events]

    with pytest.raises(httpx2.TransportError):
        stream([{"say": "so"}, {"drop": "cut"}])
    assert "message_stop" not in stream([{"say": "so"}, {"drop": "end"}])
    with pytest.raises((anthropic.APIError, json.JSONDecodeError)):
        stream([{"say": "so"}, {"raw": "event: message_delta\ndata: {not json\n\n"}])
    models.wait(lambda exchange: exchange.outcome == "cut")


def test_an_error_inside_the_stream_is_the_vendors_event(anthropic, claude):
    steps = [{"say": "so"}, {"fail": "overloaded_error", "message": "busy"}]

    with (
        pytest.raises(anthropic.APIStatusError, match="busy"),
        claude.messages.stream(model="m", max_tokens=9, messages=user(script(steps))) as events,
    ):
        list(events)


def test_a_client_that_goes_away_is_noticed_in_the_middle_of_a_reply(models, claude):
    steps = [{"say": "so"}, {"hang": True}]
    with claude.messages.stream(model="m", max_tokens=9, messages=user(script(steps))) as events:
        next(iter(events.text_stream))

    assert models.wait(lambda exchange: exchange.outcome == "disconnected").status == 200


def test_a_drip_arrives_piece_by_piece(claude):
    steps = [{"say": ["a", "b", "c"], "delay": 0.01}]
    with claude.messages.stream(model="m", max_tokens=9, messages=user(script(steps))) as events:
        assert list(events.text_stream) == ["a", "b", "c"]


def test_reasons_for_ending_reach_the_client_in_its_words(claude, gpt):
    prompt = script([{"say": "so"}, {"end": "max_tokens"}])

    assert ask_claude(claude, user(prompt)).stop_reason == "max_tokens"
    assert gpt.chat.completions.create(model="m", messages=user(prompt)).choices[0].finish_reason == "length"
    assert gpt.responses.create(model="m", input=prompt).status == "incomplete"


def test_a_call_that_no_tool_can_do_is_said_instead(claude):
    answer = ask_claude(claude, user(script([{"call": "write", "args": {"path": "a", "text": "b"}}])))

    assert answer.content[0].text == "No tool for 'write' among: none"
    assert answer.stop_reason == "end_turn"


def test_models_are_listed_and_tokens_counted(claude, gpt, models):
    with urllib.request.urlopen(f"{models.url}/v1beta/models", timeout=LIMIT) as answer:
        listed = json.load(answer)["models"]
    contents = {"contents": [{"parts": [{"text": "x" * 100}]}]}
    counted = json.loads(post(f"{models.url}/v1beta/models/m:countTokens", contents))

    assert "scripted-model" in [model.id for model in claude.models.list()]
    assert "scripted-model" in [model.id for model in gpt.models.list()]
    assert {"name": "models/scripted-model", "displayName": "scripted-model"} in listed
    assert claude.messages.count_tokens(model="m", messages=user("x" * 400)).input_tokens > 100
    assert counted["totalTokens"] > 25


def test_requests_of_the_agent_for_itself_do_not_advance_the_script(models, gpt):
    system = {"role": "system", "content": "You write a short title for a conversation."}

    title = gpt.chat.completions.create(model="m", messages=[system, *user(script([{"say": "no"}]))])

    assert title.choices[0].message.content == "Scripted title"
    assert models.exchanges[0].aside


def test_credentials_are_not_kept_but_can_be_recognised(models, claude):
    ask_claude(claude, user("hello"))
    exchange = models.exchanges[0]

    assert KEY not in json.dumps([exchange.headers, exchange.document()])
    assert exchange.carried(KEY)
    assert not exchange.carried("another")


def test_an_unknown_script_is_the_askers_fault_and_an_unplayable_one_its_authors(anthropic, models, claude):
    with pytest.raises(anthropic.BadRequestError, match="no script is called 'nosuch'"):
        ask_claude(claude, user("SCRIPT:nosuch"))
    with pytest.raises(anthropic.BadRequestError, match="exactly one of"):
        ask_claude(claude, user(script([{"dance": 1}])))
    with pytest.raises(ScriptError):
        ModelServer({"bad": [[{"say": "x", "loudly": 1}]]})
    with pytest.raises(ScriptError):
        ModelServer({"empty": []})


def test_what_is_not_there_is_404_and_what_is_not_http_is_dropped(models):
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(f"{models.url}/v2/nothing", timeout=LIMIT)
    missing.value.close()
    with socket.create_connection(("127.0.0.1", models.port), timeout=LIMIT) as raw:
        raw.sendall(b"hello\r\n\r\n")
        answer = raw.recv(100)

    assert missing.value.code == 404
    assert answer == b""


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/m:generateContent"]
)
@pytest.mark.parametrize("body", [b"{", b"[]", b'{"messages": [7], "input": [7], "contents": [7]}'])
def test_a_body_that_is_no_request_is_refused_and_the_server_lives_on(models, path, body):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{models.url}{path}", body, timeout=LIMIT)
    refused.value.close()

    assert refused.value.code == 400
    assert json.loads(post(f"{models.url}/v1/messages", {"model": "m", "messages": user("hello")}))["content"]


def test_waiting_for_what_does_not_come_has_an_end(models):
    with pytest.raises(TimeoutError, match="no such exchange"):
        models.wait(lambda exchange: True, timeout=0.01)


def test_it_is_also_a_program_that_lives_until_its_stdin_ends(tmp_path):
    scripts = tmp_path / "scripts.json"
    scripts.write_text(json.dumps({"greet": [[{"say": "Hi"}]]}))
    command = [sys.executable, "-m", "operable.testing.models", "--script", str(scripts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        answer = json.loads(post(f"{url}/v1/messages", {"model": "m", "messages": user("SCRIPT:greet")}))
        with urllib.request.urlopen(f"{url}/_exchanges", timeout=LIMIT) as listed:
            exchanges = json.load(listed)
        server.stdin.close()
        assert server.wait(LIMIT) == 0

    assert answer["content"][0]["text"] == "Hi"
    assert [exchange["script"] for exchange in exchanges] == ["greet"]
