"""pydantic-ai with its own client, against the loopback model server."""

import asyncio
import json

from operable.serve import Toolset


def asked(models, script, *wanted, **options):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from operable.frameworks.pydantic_ai import pydantic_ai_tools

    model = OpenAIChatModel("gpt-5.5", provider=OpenAIProvider(base_url=f"{models.url}/v1", api_key="none"))

    async def run():
        async with Toolset(*wanted, **options) as tools:
            return await Agent(model, tools=pydantic_ai_tools(tools)).run(f"SCRIPT:{script}")

    return asyncio.run(run())


def parts(result, kind):
    """Those of a class of `pydantic_ai.messages`, by its name."""
    from pydantic_ai import messages

    wanted = getattr(messages, kind)
    return [part for message in result.all_messages() for part in message.parts if isinstance(part, wanted)]


def test_a_model_calls_a_tool(world, models):
    result = asked(models, "read", "tool/bench", "app/todo/list")

    (part,) = parts(result, "ToolReturnPart")
    assert [entry["text"] for entry in part.content["entries"]] == ["x", "x"]
    assert (part.metadata.ok, part.metadata.code) == (True, "OK")
    assert result.output == "Two rows."


def test_arguments_that_do_not_fit_are_corrected(world, models):
    result = asked(models, "corrected", "tool/bench/rows")

    wrong, right = parts(result, "ToolReturnPart")
    assert (wrong.outcome, json.loads(wrong.content)["code"]) == ("retried", "INVALID_ARGUMENTS")
    assert (right.outcome, right.content["ok"]) == ("success", True)


def test_what_a_rule_denies_is_not_run_and_not_tried_again(world, models):
    world.rules('deny = ["tool/bench/wipe"]')
    result = asked(models, "wipe", "tool/bench/wipe", allow_destructive=True)

    (part,) = parts(result, "ToolReturnPart")
    assert (part.outcome, json.loads(part.content)["code"]) == ("failed", "CALL_DENIED")
    assert result.output == "It was refused."
    assert not world.wiped.exists()
