"""The OpenAI Agents SDK: `FunctionTool` objects, for `Agent(tools=…)`.

    from operable.frameworks.openai_agents import openai_agents_tools

    async with Toolset("wrap/git/log") as tools:
        agent = Agent("reporter", tools=openai_agents_tools(tools))

The output of a call is the answer as JSON, also where the call failed: `ok` and `code` say it. The schemas are strict in our
sense (nothing unknown is accepted), not in that of the vendor, who wants every argument to be required.
"""

from __future__ import annotations

import json
from typing import Any

from agents import FunctionTool, Tool
from agents.tool_context import ToolContext

from operable.kernel.errors import Fail
from operable.serve.mcp_tools import structured_failure
from operable.serve.toolset import Framework, ModelTool, Toolset


def openai_agents_tools(tools: Toolset) -> list[Tool]:
    """The tools of an open toolset."""
    return [_tool(tool) for tool in tools]


def _tool(tool: ModelTool) -> FunctionTool:
    async def invoke(_: ToolContext[Any], text: str) -> str:
        try:
            arguments = json.loads(text or "{}")
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            failure = Fail(
                "usage", "INVALID_ARGUMENTS", f"the arguments of {tool.name} are not a JSON object"
            )
            return json.dumps(structured_failure(failure))
        return (await tool.call(arguments)).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


FRAMEWORK = Framework("openai-agents", openai_agents_tools)
