"""The Claude Agent SDK: `SdkMcpTool` objects, served to Claude Code from the process of the program.

    from operable.frameworks.claude_agent import claude_agent_tools

    async with Toolset("wrap/git/log") as tools:
        server = create_sdk_mcp_server("operable", tools=claude_agent_tools(tools))
        options = ClaudeAgentOptions(mcp_servers={"operable": server}, allowed_tools=["mcp__operable__*"])

`allowed_tools` lets Claude Code call them without a question of its own; our gate judges each call all the same. The content
is the answer as JSON; a call that failed or was denied is an error result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from claude_agent_sdk import SdkMcpTool, ToolAnnotations

from operable.serve.toolset import Framework, ModelTool, Toolset


def claude_agent_tools(tools: Toolset) -> list[SdkMcpTool[Any]]:
    """The tools of an open toolset."""
    return [
        SdkMcpTool(
            tool.name,
            tool.description,
            tool.input_schema,
            _handler(tool),
            ToolAnnotations.model_validate(tool.annotations),
        )
        for tool in tools
    ]


def _handler(tool: ModelTool) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    async def call(arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await tool.call(arguments)
        return {"content": [{"type": "text", "text": answer.text}], "is_error": not answer.ok}

    return call


FRAMEWORK = Framework("claude-agent-sdk", claude_agent_tools)
