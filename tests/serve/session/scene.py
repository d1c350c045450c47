"""A daemon's registry for tests: the scripted agent behind real processes, and a state of the test's own."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

from operable.host import define_agent_cli
from operable.host.session.registry import Registry
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.workspaces import Workspaces
from tests.host.agents import manifest

LIMIT = 120


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, LIMIT))


def new_registry(tmp_path, script: dict[str, Any] | None = None, **facts: Any) -> SessionRegistry:
    """A registry with one adapter, `scripted`; its default workspace is `work`."""
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "bin").mkdir(exist_ok=True)
    more = facts.pop("manifest", {})
    handle = define_agent_cli(manifest(tmp_path / "bin", script, **more))
    facts.setdefault("workspaces", Workspaces(str(tmp_path / "config" / "workspaces.json")))
    facts.setdefault("here", str(tmp_path / "work"))
    facts.setdefault("find_adapter", lambda _name, _workspace: handle)
    return SessionRegistry(**facts)


@asynccontextmanager
async def registry(tmp_path, script: dict[str, Any] | None = None, **facts: Any):
    made = new_registry(tmp_path, script, **facts)
    try:
        yield made
    finally:
        await made.aclose()


async def until(condition, limit: float = LIMIT):
    """Until a condition is true; a bound for a machine with much to do."""
    async with asyncio.timeout(limit):
        while not (found := condition()):  # noqa: ASYNC110 - of other processes also
            await asyncio.sleep(0.01)
    return found


def homes() -> Registry:
    return Registry()
