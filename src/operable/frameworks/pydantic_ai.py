"""pydantic-ai: `Tool` objects, for `Agent(tools=…)`.

    from operable.frameworks.pydantic_ai import pydantic_ai_tools

    async with Toolset("wrap/git/log") as tools:
        agent = Agent("openai:gpt-5", tools=pydantic_ai_tools(tools))

A result is the answer, with the `ToolAnswer` as the metadata of its part. Arguments that do not fit are a `ModelRetry`: the
model is asked to correct them. Whatever else failed is a `ToolFailed`, which the model reads and no retry follows.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import ModelRetry, Tool, ToolFailed, ToolReturn

from operable.serve.toolset import Framework, ModelTool, Toolset


def pydantic_ai_tools(tools: Toolset) -> list[Tool[Any]]:
    """The tools of an open toolset."""
    return [_tool(tool) for tool in tools]


def _tool(tool: ModelTool) -> Tool[Any]:
    async def call(**arguments: Any) -> ToolReturn[Any]:
        answer = await tool.call(arguments)
        if answer.code == "INVALID_ARGUMENTS":
            raise ModelRetry(answer.text)
        if not answer.ok:
            raise ToolFailed(answer.text)
        return ToolReturn(answer.content, metadata=answer)

    return Tool.from_schema(call, tool.name, tool.description, tool.input_schema)


FRAMEWORK = Framework("pydantic-ai-slim", pydantic_ai_tools)
