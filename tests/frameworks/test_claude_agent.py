"""The Claude Agent SDK with the real Claude Code, against the loopback model server."""

import asyncio
import json

import pytest

from operable.serve import Toolset
from tests.agents.install import BIN, missing
from tests.agents.loopback import environment

LIMIT = 120
absent = missing("claude-code")
pytestmark = [pytest.mark.skipif(absent is not None, reason=str(absent)), pytest.mark.timeout(300)]


def asked(world, models, script, *wanted, **options):
    """What the tools gave, and the answer of the agent."""
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeAgentOptions,
        ResultMessage,
        ToolResultBlock,
        UserMessage,
        create_sdk_mcp_server,
        query,
    )

    from operable.frameworks.claude_agent import claude_agent_tools

    async def run():
        async with asyncio.timeout(LIMIT), Toolset(*wanted, **options) as tools:
            server = create_sdk_mcp_server("operable", tools=claude_agent_tools(tools))
            chosen = ClaudeAgentOptions(
                cli_path=BIN / "claude",
                mcp_servers={"operable": server},
                allowed_tools=["mcp__operable__*"],
                # Else a model finds the tools of servers by a search, which is another turn.
                env={
                    **environment("claude-code", world.folder / "claude", models.url),
                    "ENABLE_TOOL_SEARCH": "false",
                },
                tools=[],
                cwd=world.project,
                setting_sources=[],
            )
            return [message async for message in query(prompt=f"SCRIPT:{script}", options=chosen)]

    messages = asyncio.run(run())
    results = [
        block
        for message in messages
        if isinstance(message, UserMessage | AssistantMessage) and isinstance(message.content, list)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    (end,) = (message for message in messages if isinstance(message, ResultMessage))
    return results, end.result


def content(block):
    return json.loads(block.content if isinstance(block.content, str) else block.content[0]["text"])


@pytest.fixture
def prefix():
    return "mcp__operable__"


def test_a_model_calls_a_tool(world, models):
    (block,), answer = asked(world, models, "read", "tool/bench", "app/todo/list")

    assert not block.is_error
    assert [entry["text"] for entry in content(block)["entries"]] == ["x", "x"]
    assert answer == "Two rows."


def test_what_a_rule_denies_is_not_run(world, models):
    world.rules('deny = ["tool/bench/wipe"]')
    (block,), answer = asked(world, models, "wipe", "tool/bench/wipe", allow_destructive=True)

    assert (block.is_error, content(block)["code"]) == (True, "CALL_DENIED")
    assert answer == "It was refused."
    assert not world.wiped.exists()
