"""What `operable agent kill`, `interrupt`, `export` and `prune` do with sessions of any process.

A session is ended by the process that runs it: these commands ask it by a file, and wait until it has done so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from operable.cli.agent.events import AgentExport, AgentPruned, AgentStopped
from operable.host.session.log_files import read_log
from operable.host.session.registry import ALIVE, Registry, SessionHome
from operable.host.session.session_requests import SessionRequest, is_taken, put_request
from operable.host.session.transcript import spoken
from operable.kernel.errors import Fail
from operable.manifest.durations import age_of
from operable.tool import Change

# The owner looks twice a second; a busy one is late.
_TAKEN_WITHIN = 20.0
# The goodbye of the protocol, the end of the input and the signals, each with its grace.
_ENDED_WITHIN = 60.0
_LOOK = 0.1


def planned_request(session: str, request: SessionRequest) -> Change | None:
    """None: the session has ended, so that there is nothing to stop."""
    meta = Registry().session(session).meta
    if meta.status not in ALIVE:
        return None
    return Change(request, meta.id, agent=meta.adapter_slug, host_pid=meta.pid)


def requested(change: Change, request: SessionRequest) -> AgentStopped:
    registry = Registry()
    home = registry.session(change.target)
    if home.meta.status in ALIVE:
        put_request(home.folder, request)
        _wait_until_taken(registry, home)
        if request == "kill":
            home = _wait_for_end(registry, home)
    return AgentStopped(id=home.meta.id, request=request, status=registry.renewed(home).meta.status)  # type: ignore[arg-type]  # one of the five


def _wait_until_taken(registry: Registry, home: SessionHome) -> None:
    ends = time.monotonic() + _TAKEN_WITHIN
    while not is_taken(home.folder) and registry.renewed(home).meta.status in ALIVE:
        if time.monotonic() > ends:
            pid = home.meta.pid
            raise Fail(
                "timeout",
                "SESSION_NOT_REACHED",
                f"the process that runs {home.meta.id} does not answer",
                target=home.meta.id,
                hint=None if pid is None else f"kill {pid}",
            )
        time.sleep(_LOOK)


def _wait_for_end(registry: Registry, home: SessionHome) -> SessionHome:
    ends = time.monotonic() + _ENDED_WITHIN
    while (found := registry.renewed(home)).meta.status in ALIVE and time.monotonic() < ends:
        time.sleep(_LOOK)
    return found


def exported(session: str) -> AgentExport:
    """What was spoken, as Markdown: both sides of each turn, without the calls."""
    home = Registry().session(session)
    meta = home.meta
    parts = [f"# {meta.label or meta.id}", f"{meta.adapter_slug}, {meta.started_at}, `{meta.cwd}`"]
    turns = spoken(read_log(home.folder))
    parts += [
        f"## {'You' if said.who == 'user' else meta.adapter_slug}\n\n{said.text.strip()}" for said in turns
    ]
    return AgentExport(
        session=meta.id, agent=meta.adapter_slug, turns=meta.turns, text="\n\n".join(parts) + "\n"
    )


def age_given(text: str, option: str) -> int:
    """Seconds; Raises Fail if the text is not an age."""
    age = age_of(text)
    if age is None:
        message = f"{option} {text} is not an age"
        raise Fail("usage", "AGE_INVALID", message, target=text, hint="90s, 30m, 2h or 30d")
    return age


def planned_pruning(older_than: str, workspace: str | None) -> Iterator[Change]:
    age = age_given(older_than, "--older-than")
    for home in Registry().prunable(age, workspace=workspace):
        meta = home.meta
        yield Change(
            "remove", meta.id, agent=meta.adapter_slug, ended_at=meta.ended_at, bytes=_size(home.folder)
        )


def pruned(changes: list[Change]) -> Iterator[AgentPruned]:
    registry = Registry()
    for change in changes:
        registry.forget(registry.session(change.target))
        yield AgentPruned(id=change.target, agent=change["agent"], bytes=change["bytes"])


def _size(folder: str) -> int:
    return sum(
        os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names
    )
