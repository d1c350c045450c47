"""The JSON-stream codec: both directions, both versions, whatever the peer adds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.wire import json_stream as js

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# What a peer may add; upper case, so that it never is a field that we know.
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
EXTRA = st.dictionaries(st.text("ABCDEF", min_size=1, max_size=4), PLAIN, max_size=2)
COUNT = st.integers(0, 2**53)


def made(kind, **fields):
    return st.builds(kind, extra=EXTRA, **fields)


CAPABILITIES = made(
    js.FrameCapabilities,
    tool_approval=st.booleans(),
    modes=st.none() | st.lists(TEXT, max_size=2).map(tuple),
    current_mode=st.none() | TEXT,
    effort=st.none() | st.booleans() | TEXT,
)
TOOL = made(
    js.FrameTool,
    name=TEXT,
    category=st.sampled_from(js.CATEGORIES),
    args=st.dictionaries(TEXT, PLAIN, max_size=2),
    description=TEXT,
)
USAGE = made(js.FrameUsage, input_tokens=COUNT, output_tokens=COUNT)
PROBLEM = made(js.FrameProblem, code=TEXT, message=TEXT, retryable=st.booleans())
EVENTS = st.one_of(
    made(js.ReadyFrame, version=TEXT, session_id=st.none() | TEXT, capabilities=CAPABILITIES),
    made(js.StreamStartFrame, msg_id=TEXT),
    made(js.TextDeltaFrame, text=TEXT, msg_id=TEXT),
    made(js.ThinkingFrame, text=TEXT, msg_id=TEXT),
    made(js.ToolRequestFrame, call_id=TEXT, tool=TOOL, msg_id=TEXT),
    made(js.ToolRunningFrame, call_id=TEXT, tool_name=TEXT, msg_id=TEXT),
    made(
        js.ToolResultFrame,
        call_id=TEXT,
        status=TEXT,
        output=TEXT,
        output_type=TEXT,
        metadata=st.none() | PLAIN,
    ),
    made(js.ToolCancelledFrame, call_id=TEXT, reason=TEXT),
    made(js.StreamEndFrame, msg_id=TEXT, usage=st.none() | USAGE),
    made(js.ErrorFrame, error=PROBLEM, msg_id=st.none() | TEXT),
    made(js.InfoFrame, message=TEXT, msg_id=st.none() | TEXT),
    made(js.ConfigChangedFrame, capabilities=CAPABILITIES),
    made(js.McpReadyFrame, name=TEXT, tools=st.lists(TEXT, max_size=2).map(tuple)),
    made(js.PongFrame),
)
COMMANDS = st.one_of(
    st.builds(
        js.message,
        TEXT,
        TEXT,
        st.lists(TEXT, max_size=2).map(tuple),
    ),
    made(js.StopFrame),
    made(js.ToolApproveFrame, call_id=TEXT, scope=st.sampled_from(js.SCOPES)),
    made(js.ToolDenyFrame, call_id=TEXT, reason=TEXT),
    made(js.InitHistoryFrame, text=TEXT),
    made(js.SetModeFrame, mode=TEXT),
    made(
        js.SetConfigFrame,
        model=st.none() | TEXT,
        thinking_budget=st.none() | COUNT,
        thinking=st.none() | st.booleans() | TEXT,
    ),
    made(
        js.AddMcpServerFrame,
        name=TEXT,
        args=st.none() | st.lists(TEXT, max_size=2).map(tuple),
        env=st.none() | st.dictionaries(TEXT, TEXT, max_size=2),
    ),
    made(js.PingFrame),
)


@given(EVENTS)
def test_an_event_survives_the_wire_with_all_that_was_added_to_it(event):
    line = js.encode(event)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert js.decode_event(line) == event
    assert js.encode(js.decode_event(line)) == line


@given(COMMANDS)
def test_a_command_survives_the_wire_with_all_that_was_added_to_it(command):
    line = js.encode(command)

    assert line.count(b"\n") == 1
    assert js.decode_command(line) == command


@given(st.binary(max_size=200))
def test_random_bytes_are_a_bad_frame_and_nothing_worse(line):
    for decode in (js.decode_event, js.decode_command):
        with pytest.raises(js.BadFrame):
            decode(line)


@given(EVENTS, st.data())
def test_a_mutated_line_is_a_frame_or_a_bad_frame(event, data):
    line = bytearray(js.encode(event))
    for _ in range(data.draw(st.integers(1, 4))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    try:
        event = js.decode_event(bytes(line))
    except js.BadFrame:
        return
    assert js.decode_event(js.encode(event)) == event


@pytest.mark.parametrize(
    "line, code",
    [
        (b"", "not_json"),
        (b"Starting agent...", "not_json"),
        (b'{"type":"text_delta","text":"\xff"}', "not_json"),
        (b'{"type":"text_delta","text":"\\ud800"}', "not_json"),
        (b'{"type":"foo","a":' + b"[" * 100_000, "not_json"),
        (b'{"type":"foo","a":' + b"9" * 5_000 + b"}", "not_json"),
        (b"[1]", "not_an_object"),
        (b"null", "not_an_object"),
        (b"{}", "no_type"),
        (b'{"type":7}', "no_type"),
        (b'{"type":""}', "no_type"),
        (b'{"type":"text_delta"}', "bad_fields"),
        (b'{"type":"tool_request","call_id":"1","tool":"Read"}', "bad_fields"),
        (b'{"type":"stream_end","usage":{"input_tokens":"many"}}', "bad_fields"),
    ],
)
def test_what_is_wrong_with_a_line_has_a_code(line, code):
    with pytest.raises(js.BadFrame) as caught:
        js.decode_event(line)

    assert caught.value.code == code
    assert len(str(caught.value)) < 400


def test_the_ready_of_the_first_version_has_three_capabilities_and_no_more():
    line = js.encode(
        js.ReadyFrame(
            version=js.SEED_VERSION,
            session_id="a1",
            capabilities=js.FrameCapabilities(tool_approval=True, thinking=True, mcp=True),
        )
    )

    assert json.loads(line) == {
        "type": "ready",
        "version": "0.1.0",
        "session_id": "a1",
        "capabilities": {"tool_approval": True, "thinking": True, "mcp": True},
    }


def test_a_ready_without_session_says_nothing_about_one():
    assert b"session_id" not in js.encode(js.ReadyFrame(version="0.1.0"))


def test_the_fields_of_a_fork_are_kept_at_every_level():
    event = js.decode_event(
        b'{"type":"ready","version":"0.2.10","build":"x","capabilities":{"tool_approval":true,"current_model":"m","extra":1}}'
    )

    assert event == js.ReadyFrame(
        version="0.2.10",
        extra={"build": "x"},
        capabilities=js.FrameCapabilities(tool_approval=True, extra={"current_model": "m", "extra": 1}),
    )


def test_a_null_is_the_same_as_absent():
    assert js.decode_event(
        b'{"type":"stream_end","msg_id":null,"usage":{"input_tokens":null,"output_tokens":3}}'
    ) == js.StreamEndFrame(usage=js.FrameUsage(output_tokens=3))


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"error","error":{"code":"c","message":"m"}}',
        b'{"type":"error","msg_id":null,"error":{"code":"c","message":"m"}}',
    ],
)
def test_an_error_of_no_message_is_read_in_both_spellings_and_written_with_null(line):
    event = js.decode_event(line)

    assert event == js.ErrorFrame(error=js.FrameProblem(code="c", message="m"))
    assert json.loads(js.encode(event))["msg_id"] is None


def test_an_unknown_type_is_told_apart_from_a_bad_line():
    assert js.decode_event(b'{"type":"hologram","x":1}') == js.UnknownFrame("hologram", {"x": 1})
    assert js.decode_command(b'{"type":"text_delta","text":"x"}') == js.UnknownFrame(
        "text_delta", {"text": "x"}
    )


def test_a_message_has_both_names_of_its_text():
    line = js.encode(js.message("m1", "hello", ("/a.png",)))

    assert json.loads(line) == {
        "type": "message", "msg_id": "m1", "input": "hello", "content": "hello", "files": ["/a.png"]
    }  # fmt: skip


@pytest.mark.parametrize(
    "fields", ['"input":"hello"', '"content":"hello"', '"input":"old","content":"hello"']
)
def test_a_message_is_read_in_both_spellings(fields):
    command = js.decode_command(b'{"type":"message","msg_id":"m1",%s}' % fields.encode())

    assert isinstance(command, js.MessageFrame)
    assert command.text == "hello"


@pytest.mark.parametrize(
    "line", [b'{"type":"message","msg_id":"m1"}', b'{"type":"message","msg_id":"m1","content":null}']
)
def test_a_message_without_text_is_refused(line):
    with pytest.raises(js.BadFrame, match="content"):
        js.decode_command(line)


def test_what_a_command_does_not_set_is_not_written():
    assert js.encode(js.SetConfigFrame(model="m")) == b'{"type":"set_config","model":"m"}\n'
    assert (
        js.encode(js.AddMcpServerFrame(name="s", command="x"))
        == b'{"type":"add_mcp_server","name":"s","transport":"stdio","command":"x"}\n'
    )
    assert (
        js.encode(js.ToolApproveFrame(call_id="t1"))
        == b'{"type":"tool_approve","call_id":"t1","scope":"once"}\n'
    )


def test_an_added_field_never_replaces_one_of_the_protocol():
    assert js.decode_command(
        js.encode(js.ToolDenyFrame(call_id="t1", extra={"type": "stop", "call_id": "t2"}))
    ) == js.ToolDenyFrame(call_id="t1")


def test_text_that_is_no_unicode_still_makes_a_whole_line():
    command = js.decode_command(js.encode(js.message("m1", "a\ud800b")))

    assert isinstance(command, js.MessageFrame)
    assert command.text == "a?b"
