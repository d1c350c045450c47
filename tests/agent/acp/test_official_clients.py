"""`operable-agent --acp` with clients that others made: the official TypeScript SDK, new and of its first year, and acpx."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from operable.testing.models import ModelServer
from tests.agents.install import BIN, DIRECTORY, missing

AGENT = str(Path(sys.executable).with_name("operable-agent"))
LIMIT = 120
EDITORS = {
    "acp-sdk": Path(__file__).parents[2] / "serve" / "acp" / "typescript_editor.mjs",
    "acp-sdk-0.4.5": Path(__file__).with_name("first_editor.mjs"),
}


def script(*replies):
    return "SCRIPT:" + json.dumps(list(replies))


def write(path):
    call = {"call": "write", "args": {"path": str(path), "text": "made\n"}}
    return script([{"say": "Writing."}, call], [{"say": " Done."}])


@pytest.fixture
def run(tmp_path):
    """Runs a client; its output. The model of the agent is scripted."""
    (tmp_path / "work").mkdir()

    def run(name, *words):
        if reason := missing(name) or (missing("node") if not (BIN / "node").exists() else None):
            pytest.skip(reason)
        env = {
            "HOME": str(tmp_path),
            "OPERABLE_HOME": str(tmp_path / "operable"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": "sk-scripted-0123456789",
            "ANTHROPIC_BASE_URL": models.url,
        }
        return subprocess.run(
            words,
            env=env,
            cwd=tmp_path / "work",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    with ModelServer() as models:
        yield run


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EDITORS)
def test_an_editor_of_the_official_sdk_prompts_is_asked_cancels_and_loads(name, run, tmp_path):
    path = tmp_path / "work" / "made.txt"
    settings = {
        "command": [AGENT, "--acp"],
        "cwd": str(tmp_path / "work"),
        "answer": "allow_once",
        "asks": write(path),
        "hangs": script([{"say": " And on."}, {"hang": True}]),
    }

    done = run(name, str(BIN / "node"), str(EDITORS[name]), str(DIRECTORY / name), json.dumps(settings))

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["stop"], told["cancelled"], told["load"]) == ("end_turn", "cancelled", True)
    assert told["asked"] == [{"file_path": str(path), "content": "made\n"}]
    assert told["texts"].startswith("Writing. Done.")
    assert told["replayed"].startswith("Writing. Done.")
    assert {"tool_call", "tool_call_update"} <= set(told["updates"])
    assert told.get("deleted") is (True if name == "acp-sdk" else None)  # the first SDK has no such method
    assert path.read_text() == "made\n"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how, made", [("--approve-all", True), ("--deny-all", False)])
def test_acpx_drives_it_and_its_answers_hold(how, made, run, tmp_path):
    path = tmp_path / "work" / "made.txt"
    words = ["--agent", f"{AGENT} --acp", how, "--cwd", str(tmp_path / "work"), "--format", "text", "exec"]

    done = run("acpx", str(BIN / "acpx"), *words, write(path))

    assert "Writing." in done.stdout, done.stderr
    assert "[done] end_turn" in done.stdout
    assert (path.exists(), done.returncode == 0) == (made, made)
