"""Sessions for tests: the scripted agent in this process, or behind a real one, and a state directory of the test's own.

Without `spawn` a session is linked in memory (`tests.host.memory`): no process starts. Tests of what a process does pass
`spawn=scripted(…)`.
"""

import sys
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from operable.host.arms.json_stream import ARM as JSON_STREAM
from operable.host.session.context import Limits
from operable.host.session.registry import Registry
from operable.host.start.assembly import Start, start_session
from operable.proc.spawn import prepare
from tests.host.memory import in_memory

SCRIPTED = [sys.executable, "-m", "operable.testing.scripted_agent"]


def scripted(script: dict[str, Any] | None = None, protocol: str = "json-stream"):
    """A way to spawn an agent that plays this script."""
    given = msgspec.json.encode(script or {}).decode()

    def spawn(words):
        return prepare([*SCRIPTED, "--protocol", protocol, "--json", given, *words])

    return spawn


def starting(tmp_path, script: dict[str, Any] | None = None, **facts: Any) -> Start:
    workspace = tmp_path / "work"
    workspace.mkdir(exist_ok=True)
    facts.setdefault("arm", JSON_STREAM)
    if "spawn" not in facts:
        facts.setdefault("connect", in_memory(script))
    facts.setdefault("registry", Registry(str(tmp_path / "state")))
    return Start(workspace=str(workspace), **facts)


@asynccontextmanager
async def session(tmp_path, script: dict[str, Any] | None = None, **facts: Any):
    running = await start_session(starting(tmp_path, script, **facts))
    try:
        yield running
    finally:
        await running.close()


def steps(*those: dict[str, Any]) -> str:
    """A message that makes the scripted agent play these steps."""
    return "SCRIPT:" + msgspec.json.encode(list(those)).decode()


def limits(**facts: float) -> Limits:
    return Limits(**facts)


def tags(events) -> list[str]:
    return [event.__struct_config__.tag for event in events]
