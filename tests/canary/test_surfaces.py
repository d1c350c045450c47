"""Where a person or a program looks afterwards: transcripts, audit, doctors, recordings, results over MCP, errors."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from operable.app.shelf import find
from operable.app.trust import Approvals
from tests.app.making import made
from tests.canary.scene import CANARIES, LIMIT, Scene
from tests.canary.spellings import sightings
from tests.cli.drive import PROGRAM, command_line, operable

VIEWS = {
    "transcript": ("agent", "logs", "{session}"),
    "sessions": ("agent", "sessions"),
    "audit": ("agent", "audit"),
    "doctor of the agent": ("agent", "doctor", "leaking"),
    "manifest": ("agent", "show", "leaking"),
    "doctor": ("doctor",),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> tuple[Scene, str]:
    """A session in which the agent has told all, and its name."""
    scene = Scene(tmp_path_factory.mktemp("surfaces"), "local")
    done = scene.run()
    assert b"ALL TOLD" in done.stdout, done.stderr
    (session,) = {json.loads(line).get("sessionId") for line in done.stdout.splitlines()} - {None}
    return scene, session


@pytest.mark.parametrize("output", ["jsonl", "human"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_of_a_session_shows_a_secret(told, view, output):
    scene, session = told
    verb, *words = (word.format(session=session) for word in VIEWS[view])

    done = scene.run(command_line(verb, *words, output=output), STAY="")

    assert done.stdout
    assert b"aoi:error" not in done.stdout or view == "doctor", done.stdout[-2000:]
    assert sightings(done.stdout + done.stderr, CANARIES) == []
    if view == "transcript":
        assert b"ALL TOLD" in done.stdout
        assert b"[redacted]" in done.stdout


DYING = """#!/usr/bin/python3 -I
import os, sys
if "--version" in sys.argv:
    print("1.0.0")
    sys.exit()
for name in ("PASSED_TOKEN", "GIVEN_TOKEN"):
    value = os.environ[name]
    print("cannot start with", value, value.encode().hex(), file=sys.stderr)
sys.exit(9)
"""


def test_the_last_words_of_an_agent_that_dies_are_in_its_error_without_secrets(tmp_path):
    scene = Scene(tmp_path, "local")
    (scene.manifest.parent / "leaking").write_text(DYING)

    done = scene.run()

    assert b"cannot start with" in done.stdout + done.stderr  # the excerpt is there
    assert sightings(done.stdout + done.stderr + scene.kept(), CANARIES) == []


GIVEN = {"of a tool": "zEbraQuilt-ninety81q", "inherited by a tool": "zEbraQuilt-ninety82r"}
TOOL = """
import base64, json, os, sys
for value in (os.environ["SHOP_KEY"], os.environ["LENT_TOKEN"]):
    told = [value, value.encode().hex(), base64.b64encode(b"u:" + value.encode()).decode()]
    print(*told, file=sys.stderr)
    rows = [{"type": "row", value: told}]
print(json.dumps({"type": "aoi:meta", "aoi_version": "0.2", "tool": "t", "tool_version": "1.0.0",
                  "schema_name": "t", "schema_version": "1.0.0", "command": "x", "trace_id": "0" * 32}))
for row in rows:
    print(json.dumps(row))
print("no JSON " + " ".join(told))
sys.exit(70)
"""


def test_a_recording_and_the_error_of_a_tool_have_no_secret_that_it_was_given(tmp_path):
    (tmp_path / "key").write_text(GIVEN["of a tool"])
    cassette = tmp_path / "kept.cassette"
    words = ("--exact", "--env", f"SHOP_KEY=@{tmp_path / 'key'}", "--inherit", "LENT_TOKEN")

    done = operable(
        *("record", "--to", str(cassette), *words, "--", sys.executable, "-c", TOOL),
        env={"LENT_TOKEN": GIVEN["inherited by a tool"], "OPERABLE_HOME": str(tmp_path / "home")},
    )

    kept = cassette.read_bytes()
    assert b'"type": "row"' in kept.replace(b"\\", b"")
    assert b"[redacted]" in kept
    own = [line for line in done.stdout.splitlines() if b"aoi:error" in line or b"aoi:summary" in line]
    assert own
    assert sightings(kept + b"\n".join(own) + done.stderr.encode(), GIVEN) == []


SERVED = {"variable of an application": "zEbraQuilt-ninety83s"}


def test_a_result_over_mcp_has_no_secret_that_the_application_was_given(tmp_path):
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program = (
        "value = os.environ['NOTES_TOKEN']\n"
        "told = [value, value.encode().hex()]\n"
        "print(*told, file=sys.stderr)\n"
        "say({'ok': words[0] == 'list', 'told': told, 'error': None if words[0] == 'list' else {'code': 'NO', 'message': value}},"
        " 0 if words[0] == 'list' else 1)"
    )
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    root = made(project / "apps" / "notes", program, more="metadata: {operable: {env: [NOTES_TOKEN]}}")
    Approvals(str(tmp_path / "home" / "state" / "apps" / "approvals.json")).approve(find(str(root)))
    env = {
        "OPERABLE_HOME": str(tmp_path / "home"),
        "NOTES_TOKEN": SERVED["variable of an application"],
        "PATH": f"{Path(PROGRAM).parent}:/usr/bin:/bin",
    }
    args = ["mcp", "--workspace", str(project), "--kind", "app"]

    async def talk() -> str:
        reached = stdio_client(StdioServerParameters(command=PROGRAM, args=args, env=env))
        async with Client(reached) as client:
            tools = (await client.list_tools()).tools
            names = [tool.name for tool in tools if tool.name.endswith(("list", "get"))]
            assert len(names) == 2, [tool.name for tool in tools]
            return "\n".join([(await client.call_tool(name, {})).model_dump_json() for name in names])

    told = asyncio.run(asyncio.wait_for(talk(), LIMIT))

    assert "[redacted]" in told
    assert sightings(told.encode(), SERVED) == []
