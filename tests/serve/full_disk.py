"""What the daemon keeps, on a disk that is full: scenes of `tests/full_disk_scenes.py`."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.serve.daemon import DaemonLock
from operable.serve.hooks import read_key
from operable.serve.http.access.tokens import TokenStore
from operable.serve.session.prompt_queue import PromptQueue, queued_prompts
from operable.serve.session.spawn import SpawnRequest, kept_request
from operable.serve.session.starter import SessionStarter
from operable.serve.session.workspaces import Workspaces
from tests.flow.disks import fill, free, take_names
from tests.serve.daemon import descendants
from tests.serve.session.scene import new_registry

LONG = "x" * 20_000  # more than what is left of the last page of a file
UNWRITABLE = ("io", "STATE_UNWRITABLE", True)


def refused(work: Callable[[], Any]) -> tuple[str, str, bool]:
    try:
        work()
    except Fail as problem:
        return problem.category, problem.code, bool(problem.hint)
    raise AssertionError("it was written")


def place_of_a_daemon(disk: str) -> None:
    lock = DaemonLock(disk)
    assert lock.take()
    fill(disk)
    assert refused(lambda: lock.announce("http://" + LONG)) == UNWRITABLE
    free(disk)
    assert lock.other() is None
    lock.announce("http://127.0.0.1:1")
    assert lock.other() is not None
    take_names(disk)
    assert refused(DaemonLock(os.path.join(disk, "state")).take) == UNWRITABLE


def tokens(disk: str) -> None:
    store = TokenStore(disk)
    text = store.first()
    os.mkdir(os.path.join(disk, "fresh"))
    fill(disk)
    assert refused(lambda: store.make("x" * 60_000, ("read",))) == UNWRITABLE
    free(disk)
    take_names(disk)
    assert refused(lambda: TokenStore(os.path.join(disk, "fresh")).first()) == UNWRITABLE
    free(disk)
    assert [token.name for token in TokenStore(disk).list_tokens()] == ["admin"]
    assert store.identify(text) is not None
    assert TokenStore(disk).make("reader", ("read",))[1].name == "reader"


def queue(disk: str) -> None:
    waiting = PromptQueue(disk)
    waiting.put("first")
    fill(disk)
    assert refused(lambda: waiting.put(LONG)) == UNWRITABLE
    assert [each.text for each in waiting.prompts] == ["first"]
    free(disk)
    assert [each.text for each in queued_prompts(disk)] == ["first"]
    waiting.put("second")
    assert [each.text for each in queued_prompts(disk)] == ["first", "second"]


def workspaces(disk: str) -> None:
    known = Workspaces(os.path.join(disk, "config", "workspaces.json"))
    known.register("shop", disk)
    fill(disk)
    assert refused(lambda: known.register("other", disk, label=LONG)) == UNWRITABLE
    free(disk)
    assert [each.slug for each in known.list().workspaces] == ["shop"]
    known.register("other", disk)
    assert [each.slug for each in known.list().workspaces] == ["shop", "other"]


def hook_key(disk: str) -> None:
    path = os.path.join(disk, "hook.key")
    take_names(disk)
    assert refused(lambda: read_key(path, make=True)) == UNWRITABLE
    free(disk)
    key = read_key(path, make=True)
    assert read_key(path, make=True) == key


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""  # it has ended meanwhile


def request_of_a_session(disk: str) -> None:
    """What was asked for cannot be kept: the session that was started with it is ended, and its credential worthless."""
    home = Path(disk, "..", "outside").resolve()
    home.mkdir()
    os.environ["OPERABLE_HOME"] = str(Path(disk, "home"))

    async def scene() -> None:
        registry = new_registry(home)
        request = SpawnRequest(adapter="scripted", label="x" * 30_000)
        started = SessionStarter._start

        async def then_full(starter: SessionStarter, *arguments: Any) -> Any:
            live = await started(starter, *arguments)
            fill(disk)
            return live

        SessionStarter._start = then_full  # type: ignore[assignment, method-assign]
        with pytest.raises(Fail, match="cannot be kept") as full:
            await registry.spawn(request)
        assert (full.value.code, bool(full.value.hint)) == ("STATE_UNWRITABLE", True)
        free(disk)
        assert registry._starter.tokens == {}
        assert not [pid for pid in descendants(os.getpid()) if b"scripted" in command_line(pid)]
        SessionStarter._start = started  # type: ignore[method-assign]
        again = await registry.spawn(SpawnRequest(adapter="scripted"))
        assert kept_request(registry.homes.session(again.id).folder) is not None
        await registry.aclose()

    asyncio.run(scene())


SCENES: dict[str, Callable[[str], None]] = {
    "daemon": place_of_a_daemon,
    "daemon tokens": tokens,
    "prompt queue": queue,
    "workspaces": workspaces,
    "hook key": hook_key,
    "spawn request": request_of_a_session,
}
