"""The OpenAI Agents SDK with its own client, against the loopback model server."""

import asyncio
import json

from operable.serve import Toolset


def asked(models, script, *wanted, **options):
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner
    from openai import AsyncOpenAI

    from operable.frameworks.openai_agents import openai_agents_tools

    async def run():
        client = AsyncOpenAI(base_url=f"{models.url}/v1", api_key="none", max_retries=0)
        async with Toolset(*wanted, **options) as tools, client:
            model = OpenAIResponsesModel("gpt-5.5", client)
            agent = Agent("tester", model=model, tools=openai_agents_tools(tools))
            quiet = RunConfig(tracing_disabled=True)  # traces go to the vendor
            return await Runner.run(agent, f"SCRIPT:{script}", run_config=quiet)

    return asyncio.run(run())


def outputs(result):
    return [json.loads(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


def test_a_model_calls_a_tool(world, models):
    result = asked(models, "read", "tool/bench", "app/todo/list")

    (output,) = outputs(result)
    assert (output["ok"], [entry["text"] for entry in output["entries"]]) == (True, ["x", "x"])
    assert result.final_output == "Two rows."


def test_arguments_that_do_not_fit_are_corrected(world, models):
    wrong, right = outputs(asked(models, "corrected", "tool/bench/rows"))

    assert (wrong["ok"], wrong["code"]) == (False, "INVALID_ARGUMENTS")
    assert right["ok"] is True


def test_what_a_rule_denies_is_not_run(world, models):
    world.rules('deny = ["tool/bench/wipe"]')
    (output,) = outputs(asked(models, "wipe", "tool/bench/wipe", allow_destructive=True))

    assert (output["ok"], output["code"]) == (False, "CALL_DENIED")
    assert not world.wiped.exists()
