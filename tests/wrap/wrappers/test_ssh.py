"""The wrapped ssh: the real client and a real server on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.postgres import free_port
from tests.tool.drive import Outcome
from tests.wrap.drive import wrap
from tests.wrap.wrappers.ssh_server import serving, user

pytestmark = [pytest.mark.needs("ssh", "sshd", "ssh-keygen", "unshare"), pytest.mark.timeout(300)]


class Ssh:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def __call__(self, *words: str) -> Outcome:
        own = [] if "-F" in words else ["-F", str(self.folder / "server/config")]
        return wrap("ssh", "-p", str(self.port), *own, *words, timeout=120)


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ssh]:
    folder, port = tmp_path_factory.mktemp("ssh"), free_port()
    folder.parent.chmod(0o755)
    folder.chmod(0o777)
    with serving(folder / "server", port):
        yield Ssh(folder, port)


def test_the_words_arrive_as_they_are(ssh):
    done = ssh("127.0.0.1", "--confirm", "--", "printf", "%s|", "a b", "*", "$HOME", "'", "", "é")

    (ran,) = done.results
    assert (ran["output"], ran["passed"], done.summary["ok"]) == ("a b|*|$HOME|'||é|", True, True)


def test_a_command_that_fails_there_is_no_success_here(ssh):
    done = ssh("127.0.0.1", "--confirm", "--", "sh", "-c", "echo out; echo err >&2; exit 3")

    (ran,) = done.results
    assert (ran["exit"], ran["output"], ran["diagnostics"].strip()) == (3, "out\n", "err")
    assert (done.summary["ok"], done.error["code"]) == (False, "RUN_FAILED")


def test_a_plan_contacts_nobody_and_nothing_runs_without_a_yes(ssh):
    plan = ssh("127.0.0.1", "--dry-run", "--", "touch", "made")
    refused = ssh("127.0.0.1", "--", "touch", "made")
    nobody = wrap("ssh", "nowhere.invalid", "--dry-run", "--", "ls")
    assert not (ssh.folder / "made").exists()
    done = ssh("127.0.0.1", "--confirm", plan.summary["plan_digest"], "--", "touch", "made")

    (change,) = plan.of("aoi:plan")
    assert (change["target"], change["words"], change["port"]) == ("127.0.0.1", ["touch", "made"], ssh.port)
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert nobody.summary["ok"]
    assert done.summary["ok"]
    assert (ssh.folder / "made").exists()


def test_why_it_did_not_connect(ssh, tmp_path):
    unknown = tmp_path / "config"
    unknown.write_text(f"Host *\n  UserKnownHostsFile {tmp_path}/none\n  GlobalKnownHostsFile /dev/null\n")
    stranger = wrap("ssh", "-F", str(unknown), "-p", str(ssh.port), "127.0.0.1", "--confirm", "--", "ls")
    other = tmp_path / "other"
    known = f"UserKnownHostsFile {ssh.folder}/server/known_hosts"
    other.write_text(f"Host *\n  User {user().pw_name}\n  {known}\n")
    key = str(ssh.folder / "server/host")  # one that the server does not let in
    denied = ssh("-F", str(other), "-i", key, "127.0.0.1", "--confirm", "--", "ls")
    closed = wrap("ssh", "-F", str(unknown), "-p", "1", "127.0.0.1", "--confirm", "--", "ls")

    assert (stranger.error["category"], stranger.error["code"]) == ("authn", "HOST_KEY_UNKNOWN")
    assert denied.error["code"] == "AUTH_FAILED"
    assert (closed.results, closed.error["code"]) == ([], "HOST_NOT_REACHABLE")


def test_what_a_user_of_ssh_would_write_is_refused_with_what_to_write(ssh):
    for words in (["-t", "127.0.0.1"], ["-oProxyCommand=x", "127.0.0.1"], ["-L", "1:a:2", "127.0.0.1"]):
        done = ssh(*words, "--confirm", "--", "ls")
        assert (done.error["category"], done.exit_code) == ("usage", 64), words
    option = ssh("--confirm", "--", "-oProxyCommand=touch made2", "ls")
    assert option.error["category"] in ("usage", "validation")
    assert not (ssh.folder / "made2").exists()
