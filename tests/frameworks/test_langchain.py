"""LangGraph's agent with LangChain's own client, against the loopback model server."""

import asyncio
import json

import pytest

from operable.serve import Toolset

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


def agent_of(tools, models):
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent
    from pydantic import SecretStr

    from operable.frameworks.langchain import langchain_tools

    model = ChatOpenAI(model="gpt-5.5", base_url=f"{models.url}/v1", api_key=SecretStr("none"), max_retries=0)
    return create_react_agent(model, langchain_tools(tools))


def outputs(state):
    return [message for message in state["messages"] if message.type == "tool"]


def test_a_model_calls_a_tool_without_a_loop(world, models):
    with Toolset("tool/bench", "wrap/find/files", "app/todo/list") as tools:
        state = agent_of(tools, models).invoke({"messages": [("user", "SCRIPT:read")]})

    (output,) = outputs(state)
    assert output.status == "success"
    assert [entry["text"] for entry in json.loads(output.content)["entries"]] == ["x", "x"]
    assert output.artifact.code == "OK"
    assert state["messages"][-1].content == "Two rows."
    offered = {tool["function"]["name"] for tool in models.exchanges[0].body["tools"]}
    assert {"bench_rows", "find_files", "todo_list"} <= offered


def test_a_model_calls_a_tool_in_a_loop(world, models):
    async def asked():
        async with Toolset("tool/bench/rows") as tools:
            return await agent_of(tools, models).ainvoke({"messages": [("user", "SCRIPT:corrected")]})

    wrong, right = outputs(asyncio.run(asked()))
    assert (wrong.status, json.loads(wrong.content)["code"]) == ("error", "INVALID_ARGUMENTS")
    assert (right.status, right.artifact.ok) == ("success", True)


def test_what_a_rule_denies_is_not_run(world, models):
    world.rules('deny = ["tool/bench/wipe"]')
    with Toolset("tool/bench/wipe", allow_destructive=True) as tools:
        state = agent_of(tools, models).invoke({"messages": [("user", "SCRIPT:wipe")]})

    (output,) = outputs(state)
    assert (output.status, json.loads(output.content)["code"]) == ("error", "CALL_DENIED")
    assert not world.wiped.exists()
