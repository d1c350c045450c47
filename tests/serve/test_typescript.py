"""The MCP server against a client made with the official TypeScript SDK: it lists, calls, is asked, cancels and is refused."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.agents.install import BIN, DIRECTORY, missing
from tests.serve.test_mcp import served
from tests.serve.world import forked

pytestmark = [
    # The SDK is part of the inspector.
    pytest.mark.skipif(missing("mcp-inspector") is not None, reason=str(missing("mcp-inspector"))),
    pytest.mark.timeout(400),
]
CLIENT = Path(__file__).with_name("typescript_client.mjs")
YES, NO = {"action": "accept", "content": {"confirm": True}}, {"action": "decline"}
WORDS = ("--only", "bench", "--allow-destructive")


def talked(world, **settings):
    folder = DIRECTORY / "mcp-inspector"
    done = subprocess.run(
        [str(BIN / "node"), str(CLIENT), str(folder), json.dumps({"pid": str(world.pid), **settings})],
        env=world.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def judge(world, told, *, allowed):
    assert told["tools"] == ["bench_rows", "bench_long", "bench_slow", "bench_wipe"]
    assert [entry["text"] for entry in told["called"]["entries"]] == ["abc"] * 3
    assert told["invalid"] == "INVALID_ARGUMENTS"
    assert "bench wipe" in told["asked"]
    assert (told["wiped"], world.wiped.exists()) == (not allowed, allowed)
    assert told["progress"] == [[1, 4], [2, 4]]
    assert (told["ran"], told["cancelled"], told["gone"], told["after"]) == (True, True, True, False)


@pytest.mark.parametrize("answer, allowed", [(YES, True), (NO, False)], ids=["yes", "no"])
def test_over_stdio(world, answer, allowed):
    told = talked(world, server=forked(world.command(*WORDS)), env=world.env, answer=answer)
    judge(world, told, allowed=allowed)


@pytest.mark.parametrize("answer, allowed", [(YES, True), (NO, False)], ids=["yes", "no"])
def test_over_http(world, answer, allowed):
    with served(world, *WORDS) as (url, token, _):
        told = talked(world, url=url, token=token, answer=answer)
    judge(world, told, allowed=allowed)
