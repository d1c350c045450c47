"""The bundled manifests with `sandbox="bubblewrap"`: real agents work in their workspace, and reach nothing else.

Every rule allows everything here, so what does not happen is what the sandbox prevents.
"""

import asyncio
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from operable.host import Decision, Session, define_agent_cli
from operable.testing.models import ModelServer
from operable.wire.events import TurnEnd
from tests.agents.install import BIN, missing
from tests.agents.loopback import environment
from tests.agents.test_real_agents import BUNDLED, DRIVEN, Driven

LIMIT = 200
HOME = "/home/agent"  # as the agent sees the home that the host keeps for it


class Listener:
    """A service on loopback that is on no list; counts who reaches it."""

    def __init__(self) -> None:
        self.contacts = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.contacts += 1
            connection.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(LIMIT + 30)
@pytest.mark.parametrize("driven", DRIVEN, ids=lambda driven: driven.manifest)
def test_a_confined_agent_works_in_its_workspace_and_reaches_nothing_else(
    driven: Driven, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := missing(driven.agent):
        pytest.skip(reason)
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    listener = Listener()
    try:
        with ModelServer() as models:
            asyncio.run(asyncio.wait_for(_converse(driven, tmp_path, models, listener.port), LIMIT))
        assert listener.contacts == 0
    finally:
        listener.close()


async def _converse(driven: Driven, root: Path, models: ModelServer, port: int) -> None:
    work, home, secret = root / "work", root / "home", root / "secret"
    work.mkdir()
    secret.write_text("TOP-SECRET-CONTENT")
    env = environment(driven.agent, home, models.url)
    session = await define_agent_cli(BUNDLED / driven.manifest / "AGENT-CLI.md").start(
        workspace=str(work),
        env={name: value.replace(str(home), HOME) for name, value in env.items()},
        on_ask=lambda _: Decision(True),
        may_install=False,
        timeout=120,
        sandbox="bubblewrap",
        egress=(models.url.removeprefix("http://"),),
        home=str(home),
        **driven.start,
    )
    try:
        await _turn(session, {"call": "write", "args": {"path": str(work / "made.txt"), "text": "made\n"}})
        attack = f"cat {secret} > leak.txt; echo x > {root}/escaped; echo x 2>/dev/null > /dev/tcp/127.0.0.1/{port}; echo ran > ran.txt"
        await _turn(session, {"call": "shell", "args": {"command": f"bash -c '{attack}'"}})
    finally:
        await session.close()
    assert (work / "made.txt").read_text().strip() == "made"
    assert (work / "ran.txt").read_text() == "ran\n"  # the attack was really carried out
    assert (work / "leak.txt").read_text() == ""
    assert not (root / "escaped").exists()


async def _turn(session: Session, call: dict[str, Any]) -> None:
    text = "SCRIPT:" + json.dumps([[{"say": "Working."}, call], [{"say": "Done."}]])
    events = [event async for event in session.send(text)]
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].reason == "completed"
