"""Cloud sandboxes through their own SDKs, against servers on loopback that speak each provider's wire format."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.machine import LIFETIME
from operable.proc.reactor import SelectorReactor
from operable.proc.remote import remote_command
from operable.proc.sandbox.confinement import Confinement, ResourceLimits, Tunnel, refuse, sandbox
from operable.proc.spawn import launch, prepare
from tests.proc.clouds.room import KEY
from tests.proc.clouds.sky import KEYS, NAMES, PATIENCE, sky

# An SDK is imported for each machine, by a process of its own: seconds, and on a loaded machine many of them.
pytestmark = pytest.mark.timeout(300)
HOSTS = ("api.example.com", "*.example.org:443")
# Blaxel has no machine without a network: its tests name hosts.
OPEN_TO = Tunnel("", 0, (), HOSTS)


@pytest.fixture(scope="module", params=NAMES)
def running(request, tmp_path_factory):
    with sky(request.param, tmp_path_factory.mktemp(request.param) / "cloud") as found:
        yield found


@pytest.fixture
def cloud(running, monkeypatch):
    running.known(monkeypatch)
    return running


def place(tmp_path, **more):
    more.setdefault("tunnel", OPEN_TO)
    return Confinement(cwd=str(tmp_path), root="elsewhere", **more)


class Talk:
    """A command on a machine, driven step by step."""

    def __init__(self, name, argv, confinement, env=None):
        command = sandbox(name).wrap(remote_command(argv, env or {}), confinement)
        self.reactor = SelectorReactor()
        self.said = bytearray()
        self.ends: list[ChildEnd] = []
        self.child = Child(
            self.reactor, command, on_stdout=self.said.extend, on_end=self.ends.append, stdin=OPEN
        )

    def write(self, data):
        assert self.child.stdin is not None
        self.child.stdin.write(data)

    def finish(self):
        assert self.child.stdin is not None
        self.child.stdin.finish()

    def until(self, condition):
        timer = self.reactor.call_later(PATIENCE, lambda: self.child.kill("late"))
        self.reactor.run(lambda: bool(self.ends) or condition())
        timer.cancel()
        assert condition() or not self.ends, (bytes(self.said)[-2000:], self.ends[0].stderr.text())

    def end(self):
        timer = self.reactor.call_later(PATIENCE, lambda: self.child.kill("late"))
        self.reactor.run(lambda: bool(self.ends))
        timer.cancel()
        self.reactor.close()
        return self.ends[0]


LIFETIMES = {
    "e2b": lambda asked: asked["timeout"] == LIFETIME,
    "daytona": lambda asked: (asked["autoStopInterval"], asked["autoDeleteInterval"]) == (LIFETIME // 60, 0),
    "blaxel": lambda asked: (
        asked["spec"]["lifecycle"]["expirationPolicies"]
        == [{"type": "ttl-idle", "value": f"{LIFETIME}s", "action": "delete"}]
    ),
    "modal": lambda asked: asked["timeout"] == 3600,
}
OPENINGS = {
    "e2b": lambda asked: (
        asked["network"] == {"allowOut": ["api.example.com", "*.example.org"], "denyOut": ["0.0.0.0/0"]}
    ),
    "daytona": lambda asked: asked["domainAllowList"] == "api.example.com,*.example.org",
    "blaxel": lambda asked: (
        (
            asked["spec"]["network"]["firewall"],
            asked["spec"]["network"]["proxy"]["allowedDomains"],
        )
        == ({"rulesets": ["proxy"]}, ["api.example.com", "*.example.org"])
    ),
    "modal": lambda asked: asked["domains"] == ["api.example.com", "*.example.org"],
}


# Each machine imports the SDK of its provider, for a second or so: what can be seen of one machine is one test.
def test_a_conversation_goes_there_and_back_in_time_to_its_hosts_and_the_machine_is_gone(cloud, tmp_path):
    script = 'while read -r a; do echo "got $a"; echo "heard $a" >&2; [ "$a" = end ] && exit 7; done'
    talk = Talk(cloud.name, ["sh", "-c", script], place(tmp_path))
    for word in ("one", "zwei größer €", "end"):
        talk.write(f"{word}\n".encode())
        talk.until(lambda word=word: f"got {word}\n".encode() in talk.said)
    end = talk.end()

    assert end.status == 7, end.stderr.text()
    assert bytes(talk.said).decode() == "got one\ngot zwei größer €\ngot end\n"
    assert "heard zwei größer €" in end.stderr.text()
    (created,) = cloud.journal("created")
    assert [each["id"] for each in cloud.journal("destroyed")] == [created["id"]]
    assert LIFETIMES[cloud.name](created["asked"]), created
    assert OPENINGS[cloud.name](created["asked"]), created


def test_what_was_given_is_there_whole_and_the_rest_and_the_key_are_not(cloud, tmp_path, monkeypatch):
    """Variables, also more of them than one of ours could carry, and read-only mounts as copies."""
    monkeypatch.setenv("OF_THE_HOST", "private")
    large = {f"LARGE_{number}": f"{number}€" * 20_000 for number in range(4)}  # 80 kB each, 320 kB in all
    source, inside = tmp_path / "source", tmp_path / "inside" / "work"
    source.mkdir()
    (source / "tool").write_text("#!/bin/sh\necho tool\n")
    (source / "tool").chmod(0o755)
    (source / "link").symlink_to("tool")
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "secret").chmod(0o600)
    shown = {str(inside): str(source), str(tmp_path / "inside" / "key"): str(tmp_path / "secret")}
    line = f"./link && echo changed > tool && cat {tmp_path}/inside/key && stat -c %a {tmp_path}/inside/key"
    count = " && ".join(f'printf %s "${name}" | sha256sum' for name in large)
    confinement = Confinement(cwd=str(inside), root="elsewhere", readable=shown, tunnel=OPEN_TO)
    given = {"GIVEN": "a 'quoted' $value", "OTHER": "2", **large}
    talk = Talk(cloud.name, ["sh", "-c", f"{line} && {count} && env"], confinement, given)
    end = talk.end()
    *mounted, rest = talk.said.decode().split("\n", 2)
    *sums, variables = rest.split("\n", len(large))
    found = dict(line.split("=", 1) for line in variables.splitlines())

    assert end.status == 0, end.stderr.text()
    assert mounted == ["tool", "s3cret600"]
    assert "echo tool" in (source / "tool").read_text()
    told = [line.split()[0] for line in sums]
    assert told == [hashlib.sha256(value.encode()).hexdigest() for value in large.values()]
    assert (found["GIVEN"], found["OTHER"]) == ("a 'quoted' $value", "2")
    assert "OF_THE_HOST" not in found
    assert not [name for name in found if name.startswith(("OPERABLE", "E2B", "DAYTONA", "BL_", "MODAL"))]
    assert KEY not in talk.said.decode()


def test_more_than_any_machine_could_take_is_told_as_such(cloud, tmp_path):
    given = {f"LARGE_{number}": "x" * 100_000 for number in range(80)}
    command = sandbox(cloud.name).wrap(remote_command(["env"], given), place(tmp_path))

    with pytest.raises(Fail) as refused:
        launch(command)

    assert refused.value.code == "ARGV_TOO_LONG"


def test_much_in_both_directions_arrives_whole(cloud, tmp_path):
    talk = Talk(cloud.name, ["cat"], place(tmp_path))
    lines = "".join(f"{number} {'ü' * 500}\n" for number in range(400)).encode()
    talk.write(lines)
    talk.until(lambda: len(talk.said) >= len(lines))
    talk.finish()
    end = talk.end()

    assert bytes(talk.said) == lines
    assert end.status == 0, end.stderr.text()
    assert cloud.journal("destroyed")


def test_being_asked_to_leave_destroys_the_machine(cloud, tmp_path):
    talk = Talk(cloud.name, ["sh", "-c", "echo ready; sleep 600"], place(tmp_path))
    talk.until(lambda: b"ready" in talk.said)
    talk.child.terminate()
    end = talk.end()

    assert end.status == 128 + signal.SIGTERM, end.stderr.text()
    assert cloud.journal("destroyed")


HOST = """
import json, os, sys
sys.path[:0] = json.loads(os.environ["TEST_PATH"])
from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.sandbox.confinement import Confinement, Tunnel, sandbox
from operable.proc.reactor import SelectorReactor
from operable.proc.remote import remote_command
name, folder = sys.argv[1:]
confinement = Confinement(cwd=folder, root="elsewhere", tunnel=Tunnel("", 0, (), ("api.example.com",)))
command = remote_command(["sh", "-c", "echo ready; exec sleep 600"], {})._replace(tree=True)
reactor = SelectorReactor()
say = lambda data: os.write(1, data)
Child(reactor, sandbox(name).wrap(command, confinement), on_stdout=say, on_end=lambda end: say(b"ended"), stdin=OPEN)
reactor.run(lambda: False)
"""


def test_a_host_that_is_killed_leaves_no_machine(cloud, tmp_path):
    packages = sys.path[0]  # of the SDK: put there by the cloud
    env = {**os.environ, "TEST_PATH": json.dumps([packages, *sys.path[1:]])}
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, cloud.name, str(tmp_path)], stdout=subprocess.PIPE, env=env
    )
    assert host.stdout is not None
    said = host.stdout
    try:
        assert said.readline() == b"ready\n"
    finally:
        host.kill()
        host.wait()
        said.close()

    assert cloud.wait_for("destroyed")


CLOSINGS = {
    "e2b": lambda asked: asked["allow_internet_access"] is False,
    "daytona": lambda asked: asked["networkBlockAll"] is True,
    "modal": lambda asked: asked["network"] == "BLOCKED",
}


def test_without_hosts_there_is_no_network_or_no_start(cloud, tmp_path):
    closed = place(tmp_path, tunnel=None)
    if cloud.name == "blaxel":
        with pytest.raises(Fail, match="no machine without a network"):
            Talk(cloud.name, ["true"], closed)
        return
    end = Talk(cloud.name, ["true"], closed).end()
    (created,) = cloud.journal("created")

    assert end.status == 0, end.stderr.text()
    assert CLOSINGS[cloud.name](created["asked"]), created


def test_a_wrong_key_is_told_without_showing_it(cloud, tmp_path):
    wrong = "wrong-key-0815-not-for-logs"
    credential = f"ak-id:{wrong}" if cloud.name == "modal" else wrong
    end = Talk(cloud.name, ["true"], place(tmp_path, credential=credential)).end()

    assert end.status == 70
    assert f"operable: {cloud.name}: " in end.stderr.text()
    assert wrong not in end.stderr.text()
    assert not cloud.journal("created")


# --- what is refused before anything is asked of anybody


@pytest.fixture
def keys(monkeypatch):
    for found in KEYS.values():
        for name, value in found.items():
            monkeypatch.setenv(name, value)


def refusals(name, confinement):
    return {
        item.item: item.mechanism for item in sandbox(name).enforce(confinement) if item.outcome == "refused"
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prefix", ["", "mastra-"])
def test_without_its_sdk_a_cloud_is_refused_with_what_to_install(name, prefix):
    cloud = sandbox(prefix + name)

    with pytest.raises(Fail) as caught:
        cloud.wrap(prepare(["true"]), Confinement(cwd="/"))

    assert cloud.name == name
    assert (caught.value.code, caught.value.exit_code) == ("EXTRA_MISSING", 78)
    assert caught.value.hint == f"pip install 'operable[{name}]'"


@pytest.mark.parametrize("name", NAMES)
def test_what_nothing_would_hold_is_refused(name, keys):
    wanted = Confinement(
        cwd="/w",
        root="elsewhere",
        writable={"/w": "/srv/w"},
        limits=ResourceLimits(cpu_ms=1, memory_mb=64),
        tunnel=Tunnel("", 0, (), ("db.example.com:5432",)),
        config={"colour": "green"},
    )

    found = refusals(name, wanted)

    expected = {"mount /w", "limits.cpu_ms", "network.egress", "config.colour"}
    assert set(found) == expected | ({"limits.memory_mb"} if name in ("e2b", "daytona") else set())
    with pytest.raises(Fail) as caught:
        refuse(name, sandbox(name).enforce(wanted))
    assert caught.value.code == "SANDBOX_CANNOT_ENFORCE"
    refused: Any = caught.value.details["refused"]
    assert {each["item"] for each in refused} == set(found)


@pytest.mark.parametrize(
    "name, setting",
    [("e2b", "region"), ("daytona", "workspace_id"), ("modal", "function_name")],
)
def test_a_setting_of_the_standard_that_cannot_be_done_is_refused_with_the_reason(name, setting, keys):
    wanted = Confinement(cwd="/w", root="elsewhere", tunnel=OPEN_TO, config={setting: "x"})

    found = refusals(name, wanted)

    assert list(found) == [f"config.{setting}"]
    assert "not a setting" not in found[f"config.{setting}"]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_key_it_is_refused(name, monkeypatch):
    for found in KEYS.values():
        for variable in found:
            monkeypatch.delenv(variable, raising=False)

    assert list(refusals(name, Confinement(cwd="/w", root="elsewhere", tunnel=OPEN_TO))) == ["credential"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("host", ["*", "*:443", "*.:443", "10.0.0.1", "[fd00::1]:443", "example.com:*"])
def test_every_host_and_what_is_no_name_are_not_a_list(name, host, keys):
    wanted = Confinement(cwd="/w", root="elsewhere", tunnel=Tunnel("", 0, (), (host,)))

    assert list(refusals(name, wanted)) == ["network.egress"]


@pytest.mark.parametrize("name", NAMES)
def test_what_must_be_masked_is_every_part_of_the_key_wherever_it_comes_from(name, monkeypatch):
    parts = {variable: f"part-{number}" for number, variable in enumerate(KEYS[name])}
    for variable, value in parts.items():
        monkeypatch.setenv(variable, value)
    own = Confinement(cwd="/w", root="elsewhere")
    of_the_manifest = Confinement(cwd="/w", root="elsewhere", credential=":".join(parts.values()))

    assert set(parts.values()) >= set(sandbox(name).secrets(own)) != set()
    assert sandbox(name).secrets(own) == sandbox(name).secrets(of_the_manifest)


def test_a_nul_in_an_argument_is_refused():
    with pytest.raises(Fail, match="NUL"):
        remote_command(["a", "b\0"], {})
