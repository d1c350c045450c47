"""Where a manifest, a handshake and what was seen differ."""

import asyncio

import pytest

from operable.host import define_agent_cli
from operable.host.arm import Opened
from operable.host.session.log_files import read_log
from operable.host.start import drift
from operable.kernel.errors import Fail
from operable.wire.events import AgentPrompt, TextDelta, ToolCall
from tests.host.agents import manifest


def declared(tmp_path, **capabilities):
    return define_agent_cli(manifest(tmp_path, capabilities=capabilities)).manifest


def test_agreement_and_silence_are_no_difference(tmp_path):
    said = declared(tmp_path, streaming=True, resumable=False)

    assert drift.differences(said, Opened(None, observed={"resumable": False}), {"streaming": True}) == []
    assert drift.differences(said, None) == []


def test_each_difference_names_its_sources(tmp_path):
    said = declared(tmp_path, multimodal=True, bidirectional=False)
    seen = drift.observed_in(
        [AgentPrompt("s", "q"), TextDelta("s", "x"), ToolCall("s", "t", "Edit", kind="edit")]
    )

    found = drift.differences(said, Opened(None, observed={"multimodal": False}), seen)

    assert {difference.word for difference in found} == {"multimodal", "bidirectional"}
    assert found[0].sources == {"manifest": True, "handshake": False, "observed": None}
    assert seen == {"bidirectional": True, "streaming": True, "tool_calls": True, "file_io": True}


def test_a_mode_that_the_agent_does_not_have_is_a_difference(tmp_path):
    said = define_agent_cli(manifest(tmp_path, modes=[{"id": "plan"}, {"id": "default"}])).manifest

    found = drift.differences(said, Opened(None, modes=("code",)))

    assert [difference.word for difference in found] == ["mode plan"]


def test_a_resumable_session_with_an_agent_that_cannot_is_refused_and_nothing_is_left(tmp_path):
    script = {"options": {"session_id": None}}
    handle = define_agent_cli(
        manifest(tmp_path, script, capabilities={"resumable": True}, session={"mode": "resumable"})
    )

    with pytest.raises(Fail) as failure:
        asyncio.run(handle.start(workspace=str(tmp_path)))

    assert failure.value.code == "CAPABILITY_DRIFT"


def test_other_differences_are_told_in_the_log(tmp_path):
    script = {"options": {"session_id": None}}
    handle = define_agent_cli(manifest(tmp_path, script, capabilities={"resumable": True}))

    async def scene():
        async with await handle.start(workspace=str(tmp_path)) as session:
            return [record.event for record in read_log(session.log.folder)]

    events = asyncio.run(scene())

    assert [event.code for event in events] == ["enforcement", "drift"]


@pytest.mark.parametrize(
    "said, session, resume, refused",
    [
        (None, {"mode": "resumable"}, None, True),  # None: the handshake says that it cannot
        (None, {}, "earlier", True),
        (None, {}, None, False),
        ("session-1", {"mode": "resumable"}, None, False),
        ("session-1", {}, "earlier", False),
    ],
)
def test_a_session_is_refused_only_where_it_stands_on_what_the_handshake_denies(
    tmp_path, said, session, resume, refused
):
    script = {"options": {"session_id": said}}
    facts = {"capabilities": {"resumable": True}, **({"session": session} if session else {})}
    handle = define_agent_cli(manifest(tmp_path, script, **facts))

    async def scene():
        async with await handle.start(workspace=str(tmp_path), resume=resume) as running:
            return running.status

    if refused:
        with pytest.raises(Fail) as failure:
            asyncio.run(scene())
        assert failure.value.code == "CAPABILITY_DRIFT"
    else:
        assert asyncio.run(scene()) == "running"
