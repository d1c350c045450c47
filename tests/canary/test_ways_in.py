"""Every other way in: backends of the vault, placeholders, MCP servers, the agent's own key, logins, applications."""

import asyncio
import base64
import json
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from operable.app.invocation import call
from operable.flow.errors import FlowError
from operable.flow.run.executor import execute
from operable.host import define_agent_cli, rules
from operable.kernel.errors import Fail
from operable.wire.events import TextDelta
from tests.agent.agent_process import AgentProcess, of_type
from tests.app.making import approved, made
from tests.canary.scene import CANARIES, Scene
from tests.canary.spellings import sightings
from tests.flow.callers import caller, script
from tests.flow.loopback import loopback
from tests.flow.manifests import manifest

BWRAP = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
BACKENDS = {
    "a file": "zEbra quiltNinety-61f",
    "pass": "zEbra$quiltNinety-62g",
    "vault": "zEbra%quiltNinety-63h",
    "a keyring": "zEbra+quiltNinety-64i",
}
KEPT = """
  - {{slug: vaulted, name: A, description: As a variable.}}
  - {{slug: kept-file, name: C, description: In a file., backend: "file://{folder}/file"}}
  - {{slug: kept-pass, name: D, description: In pass., backend: "pass://operable/kept"}}
  - {{slug: kept-vault, name: E, description: In Vault., backend: "vault://vault/secret/kept"}}
  - {{slug: kept-ring, name: F, description: In a keyring., backend: "keyring://operable/kept"}}
"""
RING = """
from keyring.backend import KeyringBackend
class Ring(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        return {value!r}
    def set_password(self, service, username, password): pass
    def delete_password(self, service, username): pass
"""


def backends(folder: Path) -> dict[str, str]:
    """Every backend with one secret; the variables by which a host finds them."""
    folder.mkdir()
    (folder / "file").write_text(BACKENDS["a file"])
    (folder / "file").chmod(0o600)
    for name in ("pass", "vault"):
        (folder / name).write_text(f"#!/bin/sh\nprintf '%s\\n' '{BACKENDS[name]}'\n")
        (folder / name).chmod(0o755)
    (folder / "ring.py").write_text(RING.format(value=BACKENDS["a keyring"]))
    return {"PYTHONPATH": str(folder), "PYTHON_KEYRING_BACKEND": "ring.Ring"}


def said_by(stdout: bytes) -> str:
    events = [json.loads(line) for line in stdout.splitlines()]
    return "".join(event.get("text", "") for event in events if event["type"] == "text-delta")


@BWRAP
def test_a_secret_of_any_backend_is_on_no_surface(tmp_path):
    folder = tmp_path / "backends"
    variables = backends(folder)
    scene = Scene(tmp_path, "bubblewrap", KEPT.format(folder=folder))
    path = f"{folder}:{scene.environment()['PATH']}"

    done = scene.run(None, **variables, PATH=path)

    assert "ALL TOLD" in said_by(done.stdout), done.stdout[-3000:] + done.stderr[-1000:]
    assert said_by(done.stdout).startswith("11 secrets")  # the agent has them all
    surfaces = done.stdout + done.stderr + said_by(done.stdout).encode() + scene.kept()
    assert sightings(surfaces, CANARIES | BACKENDS) == []


SUBSTITUTED = {"behind a placeholder": "zEbra quiltNinety-65j"}
BEHIND = """
  - {{slug: vaulted, name: A, description: As a variable.}}
  - slug: substituted
    name: G
    description: As a placeholder.
    exposures: [{{kind: egress-substitute, placeholderName: S, allowedByDefault: false, intendedProviders: ["{host}"]}}]
"""


def echo(asked) -> tuple[int, dict[str, str], bytes]:
    """What it was sent, in spellings that no proxy looks for."""
    value = asked.headers["x-key"].encode()
    spelled = (base64.b64encode(value), base64.b64encode(b"u:" + value), value.hex().encode())
    return 200, {}, b" ".join((b"raw:" + quote(value).encode(), *spelled))


@BWRAP
def test_a_value_behind_a_placeholder_is_on_no_surface_though_its_server_gives_it_back(tmp_path):
    with loopback(echo) as server:
        host = server.url.removeprefix("http://")
        scene = Scene(tmp_path, "bubblewrap", BEHIND.format(host=host), {"network": {"egress": [host]}})
        done = scene.run(SUBSTITUTED=SUBSTITUTED["behind a placeholder"], ECHO=f"{server.url}/")

    said = said_by(done.stdout)
    assert "ALL TOLD" in said, (done.stdout[-3000:] + done.stderr[-1000:]).decode()
    assert "raw:%24%24SECRET" in said or "raw:$$SECRET" in said  # as the proxy put it back
    assert sightings(done.stdout + done.stderr + said.encode() + scene.kept(), CANARIES | SUBSTITUTED) == []


SERVED = {"variable of a server": "zEbraQuilt-ninety66k", "header of a server": "zEbraQuilt-ninety67l"}


def test_what_an_agents_mcp_servers_are_given_is_on_no_surface(tmp_path):
    scene = Scene(tmp_path, "local")
    servers = (
        {"name": "one", "command": "/bin/true", "env": {"SHOP_KEY": SERVED["variable of a server"]}},
        {
            "name": "two",
            "type": "http",
            "url": "http://127.0.0.1:9/",
            "headers": [
                {"name": "Authorization", "value": f"Bearer {SERVED['header of a server']}"},
            ],
        },
    )

    async def talk():
        handle = define_agent_cli(str(scene.manifest), trusted=True)
        options = {
            "workspace": str(tmp_path / "work"),
            "state": str(tmp_path / "home"),
            "mcp_servers": servers,
        }
        async with await handle.start(policy=rules(allow=["*"]), **options) as session:
            return [event async for event in session.send("Tell all.")]

    events = asyncio.run(asyncio.wait_for(talk(), 200))

    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert "ALL TOLD" in said
    assert "2 secrets" in said or "4 secrets" in said
    assert sightings(f"{said}\n{events}".encode() + scene.kept(), SERVED) == []


OWN = {
    "key of the model as a variable": "zEbraQuilt-ninety68m",
    "variable of its MCP server": "zEbraQuilt-ninety70o",
}
TELLING = """
import os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("shop")
@server.tool()
def tell() -> str:
    return " ".join([os.environ["SHOP_KEY"], os.environ["SHOP_KEY"].encode().hex()])
server.run("stdio")
"""


def test_the_built_in_agent_keeps_its_key_and_those_of_its_servers_from_its_journal(tmp_path):
    home, leak = tmp_path / "home", tmp_path / "leak"
    leak.write_text(OWN["key of the model as a variable"])
    env = {"OPENAI_API_KEY": OWN["key of the model as a variable"], "OPERABLE_HOME": str(home)}
    with AgentProcess(tmp_path, "--auto-approve", "--session-id", "s", env=env) as agent:
        agent.send(
            {
                "type": "add_mcp_server",
                "name": "shop",
                "transport": "stdio",
                "command": sys.executable,
                "args": ["-c", TELLING],
                "env": {"SHOP_KEY": OWN["variable of its MCP server"]},
            }
        )
        agent.until("mcp_ready")
        agent.script(
            "call tell {}", f"call Bash {json.dumps({'command': f'cat {leak}'})}", "say It is {result}."
        )
        results = of_type(agent.answer(), "tool_result")
        assert agent.end() == 0
    told = json.dumps(agent.events).encode() + agent.stderr
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert len(results) == 2
    assert ["[redacted]" in result["output"] for result in results] == [True, True], results
    assert b"tool_result" in kept or b"[redacted]" in kept  # the journal is among it
    assert sightings(told + kept, OWN) == []


DECLARED = {"variable of an application": "zEbraQuilt-ninety71p"}


@pytest.mark.parametrize(
    "program",
    [
        "print(os.environ['NOTES_TOKEN'], file=sys.stderr); sys.exit(3)",
        "say({'ok': False, 'error': {'code': 'NO', 'message': os.environ['NOTES_TOKEN'].encode().hex()}}, 1)",
        "print('not JSON', os.environ['NOTES_TOKEN']); sys.exit(1)",
        "say({'ok': True, os.environ['NOTES_TOKEN']: [os.environ['NOTES_TOKEN']]})",
        'print(\'{"type":"aoi:meta"}\'); print(os.environ["NOTES_TOKEN"], file=sys.stderr); sys.exit(1)',
    ],
    ids=["diagnostics", "its own error", "no answer", "an answer", "a stream"],
)
def test_the_variable_of_an_application_is_in_no_answer_and_no_error_of_it(tmp_path, monkeypatch, program):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NOTES_TOKEN", DECLARED["variable of an application"])
    from operable.app.trust import Approvals

    approvals = Approvals()
    more = "metadata: {operable: {env: [NOTES_TOKEN]}}"
    package = approved(made(tmp_path / "notes", program, more=more), approvals)
    try:
        answer = call(package, ["list"], approvals)
        told = f"{answer!r} {'' if answer.ok else answer.failure('notes', debug=True).__dict__}"
    except Fail as failure:
        told = f"{failure!r} {failure.message} {failure.hint}"

    assert sightings(told.encode(), DECLARED) == []


HEADED = {"header of its MCP server": "zEbraQuilt-ninety72t"}


def test_the_built_in_agent_shows_no_header_of_a_server_that_gives_it_back(tmp_path):
    def refuse(asked) -> tuple[int, dict[str, str], bytes]:
        told = asked.headers.get("authorization", "")
        spelled = [told, told.encode().hex(), "".join(f"%{byte:02x}" for byte in told.encode())]
        return 401, {"www-authenticate": f'Bearer error="{told}"'}, " ".join(spelled).encode()

    home = tmp_path / "home"
    with (
        loopback(refuse) as server,
        AgentProcess(
            tmp_path, "--auto-approve", "--session-id", "s", env={"OPERABLE_HOME": str(home)}
        ) as agent,
    ):
        agent.send(
            {
                "type": "add_mcp_server",
                "name": "shop",
                "transport": "streamable_http",
                "url": f"{server.url}/mcp",
                "headers": {"Authorization": f"Bearer {HEADED['header of its MCP server']}"},
            }
        )
        agent.until("error")
        (tmp_path / "leak").write_text(HEADED["header of its MCP server"])
        agent.script(f"call Read {json.dumps({'file_path': str(tmp_path / 'leak')})}", "say It is {result}.")
        (result,) = of_type(agent.answer(), "tool_result")
        assert agent.end() == 0
        assert server.asked  # the header was sent
    told = json.dumps(agent.events).encode() + agent.stderr
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())

    assert "[redacted]" in result["output"]
    assert sightings(told + kept, HEADED) == []


SOURCES = {
    "a variable": {"env": "SHOP_WORD"},
    "a file": {"file": "word"},
    "a command": {"command": "cat word"},
}
VALUE = {"of value_from": "zEbraQuilt-ninety73u"}


@pytest.mark.parametrize("death", ["", "kill -9 $$", "exit 3"], ids=["none", "killed", "failed"])
@pytest.mark.parametrize("source", SOURCES)
def test_what_value_from_reads_is_on_no_surface_of_a_task(tmp_path, source, death):
    by = caller(tmp_path, SHOP_WORD=VALUE["of value_from"])
    (Path(by.cwd) / "word").write_text(VALUE["of value_from"])
    spelled = "printf %s \"$TOKEN\" | od -An -v -tx1 | tr -d '\\n' | sed 's/ /%/g'"
    text = f'echo $TOKEN; echo $TOKEN >&2; printf "%s" $TOKEN | base64; {spelled}; {spelled} >&2; {death}'
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": {"mode": "service", "inputs": {"token": {"value_from": SOURCES[source]}}},
        "presentation": {
            "bindings": [
                {"source": "credentials.access_token.value", "target": {"kind": "env", "name": "TOKEN"}}
            ]
        },
    }
    value = manifest(
        script(text, identity={"ref": "i"}, output={"format": "text"}), identity_profiles=[profile]
    )

    told = ""
    try:
        told = json.dumps(execute(value, "a", by))
    except FlowError as failure:
        told = f"{failure!r} {failure.message} {vars(failure)}"

    assert "[redacted]" in told
    kept = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert b"exec" in kept
    assert sightings(told.encode() + kept, VALUE) == []
