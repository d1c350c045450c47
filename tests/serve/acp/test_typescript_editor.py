"""`operable serve --acp NAME` against an editor made with the official TypeScript SDK."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.agents.install import BIN, DIRECTORY, missing
from tests.cli import forks
from tests.cli.drive import PROGRAM
from tests.host.scene import steps
from tests.serve.acp.test_editor import RUN, SERVER
from tests.serve.daemon import write_agent
from tests.tool.drive import LIMIT

MISSING = missing("acp-sdk") or (missing("node") if not (BIN / "node").exists() else None)


@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
@pytest.mark.timeout(300)
def test_it_prompts_is_asked_cancels_and_loads(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    write_agent(
        home,
        continuation={"default": "transcript", "supported": ["transcript"]},
        capabilities={"resumable": True},
    )
    settings = {
        "command": [forks.stand_in(PROGRAM, SERVER), "serve", "--acp", "scripted"],
        "cwd": str(work),
        "answer": "allow_once",
        "asks": steps({**RUN, "result": "pushed"}, {"say": "Hello"}),
        "hangs": steps({"say": " you"}, {"hang": True}),
    }
    done = subprocess.run(
        [
            str(BIN / "node"),
            str(Path(__file__).with_name("typescript_editor.mjs")),
            str(DIRECTORY / "acp-sdk"),
            json.dumps(settings),
        ],
        env={"PATH": os.environ["PATH"], "OPERABLE_HOME": str(home), "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert (told["stop"], told["cancelled"], told["load"]) == ("end_turn", "cancelled", True)
    assert told["asked"] == [{"command": "git push"}]
    assert (told["texts"], told["replayed"]) == ("Hello you", "Hello you")
    assert {"tool_call", "tool_call_update"} <= set(told["updates"])
