"""Kills the built-in agent at random in rounds of tools, resumes it, and counts: `python -m tests.agent.session.kills [ROUNDS]`.

The model server refuses what its vendor refuses. Each round has effects that can be counted (a line appended to a file), is
killed with SIGKILL at a random event or a moment after it, and is followed by a message to the resumed session. That has to
be answered, and no effect may have happened twice.
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from operable.testing.models import ModelServer
from tests.agent.agent_process import AgentProcess, Event, of_type, said

_EVENTS = ("stream_start", "text_delta", "tool_running", "tool_result", "stream_end")


class Killed(NamedTuple):
    rounds: int
    answered: int
    doubled: int
    effects: int
    errors: list[str]


def kill_and_resume(workspace: Path, rounds: int, *, provider: str = "anthropic", seed: int = 1) -> Killed:
    chance = random.Random(seed)
    answered, errors, session = 0, [], ""
    with ModelServer() as server:
        base = f"{server.url}/v1" if provider.startswith("openai") else server.url
        given = (
            "--provider",
            provider,
            "--base-url",
            base,
            "--api-key",
            "k",
            "--model",
            "m",
            "--auto-approve",
        )
        for number in range(rounds):
            resume = ("--resume", session) if session else ()
            with AgentProcess(workspace, *given, *resume, offline=False) as agent:
                session = agent.until("ready")["session_id"]
                if number:
                    agent.message(_script([{"say": "Still here."}]), "after")
                    found = agent.answer("after")
                    answered += said(found) == "Still here."
                    errors += [event["error"]["message"] for event in of_type(found, "error")]
                agent.message(_work(number), "work")
                wanted = chance.choice(_EVENTS)
                for _ in range(chance.randint(1, 3)):  # not always the first of its kind
                    if agent.until(_is_one_of(wanted, "stream_end"))["type"] == "stream_end":
                        break
                time.sleep(chance.choice((0, 0, 0.001, 0.01, 0.03)))
                agent.process.kill()
        with AgentProcess(workspace, *given, "--resume", session, offline=False) as agent:
            agent.message(_script([{"say": "Still here."}]), "after")
            found = agent.answer("after")
            answered += said(found) == "Still here."
            errors += [event["error"]["message"] for event in of_type(found, "error")]
            agent.end()
    effects = (
        Counter((workspace / "effects").read_text().split())
        if (workspace / "effects").exists()
        else Counter()
    )
    doubled = sum(count > 1 for count in effects.values())
    return Killed(rounds, answered, doubled, len(effects), errors)


def _work(number: int) -> str:
    """Two rounds of tools with three effects."""

    def effect(name: str) -> dict[str, object]:
        return {"call": "Bash", "args": {"command": f"echo {number}{name} >> effects"}}

    return _script([{"say": "To work."}, effect("a"), effect("b")], [effect("c")], [{"say": "Done."}])


def _script(*replies: list[dict[str, object]]) -> str:
    return "SCRIPT:" + json.dumps(list(replies))


def _is_one_of(*types: str) -> Callable[[Event], bool]:
    return lambda event: event["type"] in types


def main(arguments: list[str]) -> int:
    rounds = int(arguments[0]) if arguments else 300
    failed = False
    for provider in ("anthropic", "openai", "openai-responses"):
        with tempfile.TemporaryDirectory() as folder:
            result = kill_and_resume(Path(folder), rounds // 3, provider=provider)
        sys.stdout.write(f"{provider}: {result}\n")
        sys.stdout.flush()
        failed = failed or result.answered != result.rounds or result.doubled > 0 or bool(result.errors)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
