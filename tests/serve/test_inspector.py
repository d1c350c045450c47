"""The MCP server against the official TypeScript client, the inspector's command line."""

import json
import os
import subprocess

import pytest

from tests.agents.install import BIN, missing
from tests.serve.world import forked


@pytest.mark.skipif(missing("mcp-inspector") is not None, reason=str(missing("mcp-inspector")))
@pytest.mark.timeout(500)
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_typescript_inspector_lists_calls_and_is_refused(world, era):
    given = [word for name in ("OPERABLE_HOME", "BENCH_PID") for word in ("-e", f"{name}={world.env[name]}")]
    options = [*given, "--connect-timeout", "100000", "--protocol-era", era, "--format", "json"]

    def inspect(*words):
        server = forked(world.command("--only", "bench", "--only", "todo", "--allow-destructive"))
        done = subprocess.run(
            [str(BIN / "mcp-inspector"), "--cli", *options, *server, *words],
            env={**world.env, "HOME": str(world.folder), "PATH": f"{BIN}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=140,
            check=False,
        )
        return (done.stdout + done.stderr).decode()

    world.rules("ask_timeout = 0.2")  # the inspector cannot ask its user, and no other person answers
    listed = json.loads(inspect("--method", "tools/list").splitlines()[0])["result"]
    tools = {tool["name"]: tool for tool in listed["tools"]}
    assert tools["bench_rows"]["annotations"]["readOnlyHint"] is True
    assert tools["todo_remove"]["annotations"]["destructiveHint"] is True
    call = ("--method", "tools/call", "--tool-name")
    called = json.loads(inspect(*call, "bench_rows", "--tool-arg", "query=abc").splitlines()[0])["result"]
    assert [entry["text"] for entry in called["structuredContent"]["entries"]] == ["abc"] * 3
    assert "CALL_UNANSWERED" in inspect(*call, "todo_remove")
    assert not (world.app / "app" / "state").exists()
