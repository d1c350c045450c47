"""Sessions by their number and by the length of one: of the host's agents, and of the built-in agent."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench._growth.operation import BIN, Operation, Run, operable, script
from operable.agent.session.files import SessionState
from operable.agent.session.history import HistoryTurn, TextBlock
from operable.agent.session.store import KEPT
from operable.gate.audit.place import workspace_slug
from operable.host.session.registry import EXITED, RUNNING, Registry, SessionMeta

_SESSIONS = (50, 500, 5000)
_EVENTS = (1000, 10_000, 100_000)
_IDLE = 3.0  # seconds that a follower is left alone
_READ = """
import sys
from operable.agent.abilities.read import ABILITY
from operable.agent.tool.ability import Scene
from operable.agent.loop.cancellation import Cancellation
scene = Scene(workspace=sys.argv[1], cancellation=Cancellation())
outcome = ABILITY.run({"file_path": sys.argv[2], "offset": int(sys.argv[3]), "limit": 20}, scene)
assert outcome.ok, outcome
"""


def _ended(folder: Path, sessions: int) -> Registry:
    """So many sessions that have ended, without their logs."""
    registry = Registry(str(folder / "home/state/agents"))
    slug = workspace_slug(str(folder))
    for number in range(sessions):
        home = Path(registry.root, slug, "sessions", f"ses_{number:08x}")
        home.mkdir(parents=True)
        meta = SessionMeta(
            home.name,
            "claude",
            slug,
            str(folder),
            status=EXITED,
            started_at=f"2026-01-01T00:00:00.{number:06d}Z",
        )
        (home / "meta.json").write_bytes(msgspec.json.encode(meta))
    os.makedirs(registry.root, exist_ok=True)
    return registry


def _listed(folder: Path, size: int) -> Run:
    _ended(folder, size)
    return operable(folder, "agent", "sessions", "--limit", "5")


def _logged(folder: Path, size: int) -> Path:
    registry = _ended(folder, 1)
    home = Path(registry.root, workspace_slug(str(folder)), "sessions", "ses_00000000")
    with (home / "events-0000000000000001.jsonl").open("w") as file:
        for number in range(1, size + 1):
            event = {"kind": "text-delta", "text": f"words {number}"}
            file.write(json.dumps({"id": number, "at": 1, "event": event}, separators=(",", ":")) + "\n")
    return home


def _page(place: str) -> Callable[[Path, int], Run]:
    def make(folder: Path, size: int) -> Run:
        _logged(folder, size)
        after = {"first": 0, "last": max(0, size - 5)}[place]
        return operable(folder, "agent", "logs", "ses_00000000", "--limit", "5", "--after", str(after))

    return make


def _one_of_many(folder: Path, size: int) -> Run:
    _ended(folder, size + 1)
    return operable(folder, "agent", "logs", "ses_00000000", "--limit", "5")


def _idle(folder: Path, size: int) -> Run:
    """One session of this process that says nothing, beside others that have ended."""
    registry = _ended(folder, size)
    slug = workspace_slug(str(folder))
    home = registry.create(SessionMeta("running", "claude", slug, str(folder)))
    home.save(status=RUNNING)
    return operable(folder, "agent", "logs", "running", "--follow", stop_after=_IDLE, fine=(0, 130, -2))


def _resumed(folder: Path, size: int) -> Run:
    """As many sessions of the built-in agent as are kept, of so many turns each; the newest, a short one, is resumed."""
    work = folder / "work"
    work.mkdir()
    for number in range(KEPT):
        home = folder / f"home/state/agent/sessions/s-{number:06d}"
        home.mkdir(parents=True)
        turn = HistoryTurn("user", (TextBlock("word " * 20),))
        turns = [turn] * (1 if number == KEPT - 1 else size)
        state = SessionState(home.name, 1.0, float(number), str(work), turns=turns)
        (home / "state.json").write_bytes(msgspec.json.encode(state))
        for place in (home / "state.json", home):
            os.utime(place, (number, number))
    words = ["--json-stream", "--offline", "--workspace", str(work), "--resume", "latest"]
    empty = folder / "empty"
    empty.touch()
    return Run([str(BIN / "operable-agent"), *words], folder, stdin=empty)


def _window(folder: Path, size: int) -> Run:
    """Twenty lines of a file with so many, in its middle."""
    path = folder / "large.txt"
    with path.open("w") as file:
        file.writelines(
            f"line {number} with some words in it, as source code has them\n" for number in range(size + 1)
        )
    return script(folder, _READ, str(folder), str(path), "20")


def _later_window(folder: Path, size: int) -> Run:
    run = _window(folder, size)
    return Run([*run.argv[:-1], str(size // 2)], folder)


OPERATIONS = [
    Operation("agent sessions --limit 5, of many", _SESSIONS, _listed),
    Operation("agent logs, of many sessions", _SESSIONS, _one_of_many, True, True),
    Operation("agent logs --limit 5", _EVENTS, _page("first"), True, True),
    Operation("agent logs --limit 5 --after N", _EVENTS, _page("last"), True, True),
    Operation(f"agent logs --follow, idle {_IDLE:g} s", _SESSIONS, _idle, True, True, rounds=2),
    Operation("operable-agent --resume latest", (100, 1000, 10_000), _resumed, True, True),
    Operation("the agent's Read of 20 lines", (10_000, 100_000, 1_000_000), _window, True, True),
    Operation(
        "the agent's Read, in the middle", (10_000, 100_000, 1_000_000), _later_window, flat_memory=True
    ),
]
