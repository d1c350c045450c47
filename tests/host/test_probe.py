"""A program is asked what it is: bounded, confined, and ended with everything that it started."""

import stat
import sys
from pathlib import Path

import pytest

from operable.host.importer import AgentDraft
from operable.host.probe import AgentFinding, AgentProbe, recognised
from operable.kernel.errors import Fail
from operable.manifest import from_mapping
from tests.cli.drive import alive
from tests.tool.drive import eventually, in_time

SOURCE = str(Path(__file__).parents[2])


def program(folder, code: str) -> str:
    path = folder / "prog"
    path.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def agent(folder, arguments: list[str], protocol: str) -> str:
    return program(
        folder,
        "from operable.testing.scripted_agent import main\n"
        "if '--version' in sys.argv: sys.exit(main(['--version']))\n"
        f"if sys.argv[1:] != {arguments!r}: sys.exit('what?')\n"
        f"sys.exit(main(['--protocol', {protocol!r}]))",
    )


def asked(path: str, **options) -> tuple[AgentDraft | None, list[AgentFinding]]:
    probe = AgentProbe(path, show=(SOURCE,), **{"timeout": 30.0, **options})
    findings = list(probe.ask())
    return probe.draft, findings


@pytest.mark.needs("bwrap")
def test_an_acp_agent_is_found_by_its_usual_arguments_and_confined(tmp_path):
    draft, findings = asked(agent(tmp_path, ["--acp"], "acp"))

    assert draft is not None
    manifest = from_mapping(draft.manifest, "agent-cli").value
    assert (manifest.protocol, manifest.bin_args) == ("acp", ("--acp",))
    assert manifest.version_check.range == ">=1.0.0"
    assert manifest.bin == str(tmp_path / "prog")
    assert [(each.question, each.answered) for each in findings] == [
        ("version", True),
        ("acp", False),
        ("acp", True),
    ]
    assert "scripted-agent" in findings[-1].detail


def test_a_json_stream_agent_says_so_by_itself(tmp_path):
    draft, _ = asked(agent(tmp_path, ["serve"], "json-stream"), arguments=(("serve",),), confined=False)

    assert draft is not None
    assert draft.manifest["adapter"] == "operable/json-stream"
    assert draft.profile is None
    from_mapping(draft.manifest, "agent-cli")


def test_an_mcp_server_is_recognised_after_it_refused_the_other_question(tmp_path):
    path = program(
        tmp_path,
        "import json\n"
        "if '--version' in sys.argv: sys.exit(print('prog 3.2.1'))\n"
        "asked = json.loads(sys.stdin.readline())\n"
        "wanted = asked['params']['protocolVersion']\n"
        "answer = {'error': {'code': -32602, 'message': 'bad version'}} if wanted == 1 else "
        "{'result': {'protocolVersion': wanted, 'capabilities': {}, 'serverInfo': {'name': 'prog'}}}\n"
        "print('noise'); print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer}), flush=True)\n"
        "sys.stdin.read()",
    )

    draft, findings = asked(path, arguments=((),), confined=False)

    assert draft is not None
    assert draft.manifest["mcp"] == {"transport": "stdio", "command": path, "args": []}
    from_mapping(draft.manifest, "agent-cli")
    assert [(each.question, each.answered, each.detail) for each in findings[1:]] == [
        ("acp", False, "bad version"),
        ("mcp", True, "mcp prog"),
    ]


def test_a_mute_program_is_ended_with_its_children_when_its_time_is_over(tmp_path):
    pids = tmp_path / "pids"
    path = program(
        tmp_path,
        "import os, subprocess, time\n"
        "if '--version' in sys.argv: sys.exit()\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)",
    )

    draft, findings = in_time(
        lambda timeout: asked(path, arguments=((),), confined=False, timeout=timeout),
        lambda _: pids.exists() and len(pids.read_text().split()) == 2,
    )

    assert draft is None
    assert findings[-1].detail in [f"no answer within {seconds} s" for seconds in (1, 10, 60)]
    for pid in map(int, pids.read_text().split()):
        eventually(lambda pid=pid: not alive(pid), "the end of the program")


@pytest.mark.needs("bwrap")
def test_what_is_asked_cannot_see_the_home_or_write_beside_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    path = program(
        tmp_path,
        "import os\n"
        "seen = os.environ.get('SECRET_TOKEN'), os.path.expanduser('~')\n"
        "try: open(os.path.dirname(__file__) + '/written', 'w'); seen += ('wrote',)\n"
        "except OSError: seen += ('refused',)\n"
        "sys.exit(str(seen))",
    )

    _, findings = asked(path, arguments=((),))

    assert findings[-1].detail == "(None, '/home/agent', 'refused')"
    assert not (tmp_path / "written").exists()


def test_a_program_that_is_not_there_is_an_error():
    with pytest.raises(Fail) as missing:
        asked("no-such-program-anywhere")
    assert missing.value.code == "PROGRAM_NOT_FOUND"


@pytest.mark.parametrize(
    "message, protocol",
    [
        ({"type": "ready", "version": "0.2"}, "json-stream"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}, "acp"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}, "mcp"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}, "error"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, "error"),
    ],
)
def test_an_answer_tells_its_protocol(message, protocol):
    assert recognised(message) == (
        protocol,
        message.get("result", message) if protocol != "error" else message,
    )


@pytest.mark.parametrize(
    "message", [None, 3, [], {}, {"type": "other"}, {"jsonrpc": "2.0", "id": 2, "result": {}}]
)
def test_what_is_no_answer_is_waited_over(message):
    assert recognised(message) is None
