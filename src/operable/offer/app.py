"""Calling the commands of application packages: the same admission as everywhere, the same judgement, a bounded result.

The events of an application that speaks AOI are passed on as they arrive: its progress is passed on, its results are
gathered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from operable.app.invocation import TIMEOUT, acall
from operable.app.packages import Package, read
from operable.app.trust import Approvals
from operable.app.usage import usages
from operable.kernel.errors import Fail
from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.result import ResultCollector
from operable.offer.words import STDIN, unspecified

if TYPE_CHECKING:
    from operable.wire.framework import Event

# Progress that is still on its way to the client: a client that reads slowly misses some of it, and nothing else waits.
_ON_THE_WAY = 16


class AppAdapter:
    """The commands of one package, as it is when it is called."""

    def __init__(
        self,
        package: Package,
        *,
        approvals: Approvals | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._package = package
        self._approvals = approvals
        self._env, self._timeout = env, timeout

    async def input_schema(self, action: Action) -> dict[str, Any]:
        try:
            schema = unspecified(usages(self._package).get(action.name, ""))
        except Fail:  # its text cannot be read: the call reports why
            schema = unspecified()
        schema["properties"][STDIN] = {"type": "string", "description": "what the command reads"}
        return schema

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        del action
        return None  # APP.md says nothing of results

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return (self._package.slug, *action.name.split(), *map(str, arguments.get("arguments", ())))

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        words = [*action.name.split(), *map(str, arguments.get("arguments", ()))]
        telling: set[asyncio.Future[None]] = set()
        package = _as_it_is(self._package)
        with ResultCollector() as collector:

            def passed(_: bytes, events: list[Event]) -> bool:
                for event in events:
                    told = collector.keep(event)
                    if told is not None and len(telling) < _ON_THE_WAY:
                        task = asyncio.ensure_future(progress(*told))
                        telling.add(task)
                        task.add_done_callback(telling.discard)
                return not collector.enough

            answer = await acall(
                package,
                words,
                self._approvals,
                confirmed=bool(confirmed),
                stdin=None if arguments.get(STDIN) is None else str(arguments[STDIN]).encode(),
                on_passage=passed,
                env=self._env,
                timeout=self._timeout,
            )
            await asyncio.gather(*telling)
            if answer.verdict is not None:
                return collector.judged(answer.verdict, ok=answer.ok)
            if not answer.ok:
                failure = answer.failure(package.slug)
                error = {name: value for name, value in failure.event().items() if name != "type"}
                return Result(ok=False, errors=[error], code=failure.code)
            entries, beside = answer.entries()
            for entry in entries:
                collector.entry(entry)
            return collector.result(beside)


def app_actions(package: Package) -> tuple[Action, ...]:
    """The documented commands of a valid package."""
    app = package.require()
    return tuple(Action(command, confirm=app.needs_confirmation(command)) for command in app.commands)


def _as_it_is(package: Package) -> Package:
    """The package read again: a server lives longer than what an APP.md said when it began, also about confirmation."""
    found = read(package.root, package.source)
    if found is None:
        raise Fail("not_found", "APP_GONE", f"{package.slug} is no longer there", target=package.root)
    return found
