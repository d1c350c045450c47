from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox.confinement import Confinement, Tunnel, sandbox
from operable.proc.sandboxes import node_permission
from operable.proc.spawn import prepare

pytestmark = pytest.mark.needs("node")
NODE = sandbox("node-permission")
SCRIPT = """#!/usr/bin/env node
const fs = require('fs')
const attempt = (name, what) => { try { what(); console.log(name, 'done') } catch (error) { console.log(name, error.code) } }
attempt('write', () => fs.writeFileSync(process.argv[2] + '/x', 'x'))
attempt('read-elsewhere', () => fs.readFileSync(process.argv[3]))
attempt('write-elsewhere', () => fs.writeFileSync(process.argv[3], 'x'))
attempt('program', () => require('child_process').execFileSync('id'))
"""


def script(tmp_path: Path, text: str = SCRIPT) -> str:
    path = tmp_path / "bin" / "agent"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(NODE.missing() is not None, reason=str(NODE.missing()))
def test_a_script_is_kept_from_other_files_and_from_programs(tmp_path: Path):
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.write_text("secret")
    confinement = Confinement(cwd=str(work), writable={str(work): str(work)}, network=True)

    told = output(NODE.wrap(prepare([script(tmp_path), str(work), str(other)]), confinement), timeout=200)

    assert dict(line.split() for line in told.stdout.decode().splitlines()) == {
        "write": "done",
        "read-elsewhere": "ERR_ACCESS_DENIED",
        "write-elsewhere": "ERR_ACCESS_DENIED",
        "program": "ERR_ACCESS_DENIED",
    }
    assert other.read_text() == "secret"


@pytest.mark.parametrize(
    "wanted, missing",
    [
        ({"network": True, "tunnel": Tunnel("/no", 1, (), ("example.com",))}, "no list of allowed hosts"),
        ({"network": True, "readable": {"/here": "/there"}}, "mount namespace"),
    ],
)
def test_what_node_cannot_enforce_is_refused(tmp_path: Path, wanted, missing):
    with pytest.raises(Fail, match=missing) as caught:
        NODE.wrap(prepare([script(tmp_path)]), Confinement(cwd="/", **wanted))

    assert caught.value.code == "SANDBOX_CANNOT_ENFORCE"


@pytest.mark.skipif(node_permission._knows_network(), reason="this node can forbid the network")
def test_a_node_that_cannot_forbid_the_network_refuses_to_promise_it(tmp_path: Path):
    with pytest.raises(Fail, match="cannot forbid the network"):
        NODE.wrap(prepare([script(tmp_path)]), Confinement(cwd="/"))


def test_a_program_that_is_no_node_script_is_refused():
    with pytest.raises(Fail, match="confines only Node scripts"):
        NODE.wrap(prepare(["true"]), Confinement(cwd="/", network=True))


def test_a_machine_without_node_is_told_what_to_install(monkeypatch, tmp_path: Path):
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(Fail, match="node is not installed") as caught:
        NODE.wrap(prepare([script(tmp_path)]), Confinement(cwd="/", network=True))

    assert caught.value.code == "SANDBOX_UNAVAILABLE"
