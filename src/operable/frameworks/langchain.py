"""LangChain and LangGraph: `BaseTool` objects, for `create_agent`, `bind_tools` and `ToolNode`.

    from operable.frameworks.langchain import langchain_tools

    with Toolset("wrap/git/log") as tools:
        agent = create_agent("openai:gpt-5", langchain_tools(tools))

The content of a `ToolMessage` is the answer as JSON, its artifact the `ToolAnswer`. A call that failed, or that a rule or
a person denied, is a message with status `error`. They can be invoked with and without an event loop.
"""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field

from operable.serve.toolset import Framework, ModelTool, ToolAnswer, Toolset


class OperableTool(BaseTool):
    """One command. Not a `StructuredTool`: arguments may have any name, `config` and `run_manager` also."""

    tool: Any = Field(exclude=True, repr=False)  # a ModelTool, unknown to pydantic
    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True

    def _run(self, /, **arguments: Any) -> tuple[str, ToolAnswer]:
        return _given(self.tool.call_now(arguments))

    async def _arun(self, /, **arguments: Any) -> tuple[str, ToolAnswer]:
        return _given(await self.tool.call(arguments))


def _given(answer: ToolAnswer) -> tuple[str, ToolAnswer]:
    if not answer.ok:
        raise ToolException(answer.text)
    return answer.text, answer


def langchain_tools(tools: Toolset) -> list[BaseTool]:
    """The tools of an open toolset."""
    return [_tool(tool) for tool in tools]


def _tool(tool: ModelTool) -> BaseTool:
    return OperableTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.input_schema,
        metadata=tool.annotations,
        tool=tool,
    )


FRAMEWORK = Framework("langchain-core", langchain_tools)
