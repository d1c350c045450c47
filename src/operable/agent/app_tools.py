"""Applications (APP.md) as tools of the agent: one ability per documented command, and one that tells how to use them.

An application is offered only when the user has trusted its content as it is now. Its commands are `exec`, because
nothing in an APP.md says that one only reads. What its author wants confirmed is asked about each time, in every mode
but yolo; that approval is the confirmation. A call that would come to such a command by way of another one is refused.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from operable.agent.ability import Ability, Outcome, Scene
from operable.app.admission import needs_confirmation
from operable.app.answers import Answer
from operable.app.calling import acall
from operable.app.packages import Package, activate
from operable.app.shelf import find
from operable.app.trust import Approvals
from operable.kernel.errors import Fail

_NAME = 64  # characters; what every provider takes
_CAP = 50_000
_ARGUMENTS = {
    "type": "object",
    "properties": {
        "arguments": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what follows the command, word by word",
        }
    },
    "additionalProperties": False,
}


def app_tools(names: Sequence[str], workspace: str) -> list[Ability]:
    """The commands of these applications, by slug or path; Fail when one is not there, not valid, or not trusted."""
    return [ability for name in names for ability in _app(name, workspace)]


def _app(name: str, workspace: str) -> list[Ability]:
    approvals = Approvals()
    package = find(name, workspace, approvals=approvals)
    app = package.require()
    approvals.require(package)
    return [_usage(package), *(_command(package, command.split()) for command in app.commands)]


def _usage(package: Package) -> Ability:
    def run(_given: Mapping[str, Any], _scene: Scene) -> Outcome:
        try:
            active = activate(package)
        except (Fail, OSError) as problem:
            return Outcome(str(problem), ok=False)
        return Outcome("\n\n".join([active.body, *active.skills.values()]))

    return Ability(
        name=_tool_name(package, ["usage"]),
        category="info",
        description=f"How to use the application {package.slug}: {package.require().description} Read this first.",
        schema={"type": "object", "properties": {}, "additionalProperties": False},
        run=run,
        describe=lambda _given: f"Read how {package.slug} is used",
        cap=_CAP,
        concurrent=True,
    )


def _command(package: Package, command: list[str]) -> Ability:
    confirms = needs_confirmation(package, command)

    def run(given: Mapping[str, Any], scene: Scene) -> Outcome:
        words = given.get("arguments", [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return Outcome("arguments is a list of strings", ok=False)
        return _called(package, [*command, *words], scene, confirmed=confirms)

    shown = f"{package.slug} {' '.join(command)}"
    return Ability(
        name=_tool_name(package, command),
        category="exec",
        description=f"Run `{shown}` of the application {package.slug}; {_tool_name(package, ['usage'])} explains it.",
        schema=_ARGUMENTS,
        run=run,
        describe=lambda given: f"Run {shown} {given.get('arguments', '')}"[:200],
        cap=_CAP,
        always_ask=confirms,
    )


def _called(package: Package, words: list[str], scene: Scene, *, confirmed: bool) -> Outcome:
    """In the tool's thread, with a loop of its own, so that a stop ends the application."""

    async def call() -> Answer:
        task = asyncio.ensure_future(acall(package, words, confirmed=confirmed))
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        with scene.cancellation.waking(stop):
            return await task

    try:
        answer = asyncio.run(call())
    except asyncio.CancelledError:
        return Outcome("Stopped", ok=False)
    except Fail as problem:
        return Outcome(problem.message, ok=False)
    text = (
        msgspec.json.encode(answer.value).decode()
        if answer.stream is None
        else answer.stream.decode("utf-8", "replace")
    )
    return Outcome(text if answer.ok else f"{answer.code}: {answer.message}\n{text}", ok=answer.ok)


def _tool_name(package: Package, words: Sequence[str]) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", "_".join([package.slug, *words]))[:_NAME]
