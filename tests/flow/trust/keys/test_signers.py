"""Who is believed: every rule of the file of allowed signers, seen in the verdict about an execution."""

import base64
import os
import re
import time

import pytest

from operable.flow.audit.evidence import verify_execution
from operable.flow.run.executor import execute
from tests.flow.callers import ME, signing_caller
from tests.flow.manifests import manifest

TIME = "%Y%m%d%H%M%S"


class Scene:
    """An execution that somebody signed, and a file that may believe them."""

    def __init__(self, folder):
        self.by = signing_caller(folder)
        self.execution = execute(manifest(), "a", self.by)["execution_id"]
        self.key = (folder / "user" / ".ssh" / "id_ed25519.pub").read_text().strip()
        self.path = folder / "signers"

    def verdict(self, path=None):
        return verify_execution(self.execution, self.by, allowed_signers=str(path or self.path))

    def believes(self, text):
        self.path.write_text(text)
        return self.verdict()["verified"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("signers"))


def day(offset):
    return time.strftime("%Y%m%d", time.gmtime(time.time() + offset * 86_400)) + "Z"


def moment(offset):
    return time.strftime(TIME, time.gmtime(time.time() + offset)) + "Z"


BELIEVED = [
    "ME KEY",
    "ME KEY a comment with blanks",
    "  ME   KEY",
    '"ME" KEY',
    "*@example.com KEY",
    "m?@example.com KEY",
    "other@x,ME KEY",
    "*,!other@x KEY",
    'ME namespaces="agentcli" KEY',
    'ME namespaces="git,agentcli" KEY',
    'ME namespaces="agent*" KEY',
    "ME valid-after=YESTERDAY KEY",
    "ME valid-before=TOMORROW KEY",
    'ME namespaces="agentcli",valid-after="YESTERDAY",valid-before="TOMORROW" KEY',
    "ME VALID-BEFORE=TOMORROW KEY",
    "ME valid-after=JUST KEY",
    "# somebody\n\nother@x KEY\nME KEY",
    'ME,other\tvalid-before="TOMORROW"\tKEY\tcomment',
    '"other@x,ME" namespaces="a b,agentcli" KEY\r',
]
REFUSED = [
    "",
    "# ME KEY",
    "ME",
    "ME ssh-ed25519",
    "ME ssh-ed25519 %%%%",
    "other@x KEY",
    "ME@x KEY",
    "me.example.com KEY",
    "#,ME KEY",
    "ME ssh-ed25519 %KEYTEXT",
    "*,!ME KEY",
    "!ME,* KEY",
    "!other@x KEY",
    "me KEY",
    "ME OTHER",
    "ME unknown-type KEYTEXT",
    'ME namespaces="git" KEY',
    'ME namespaces="" KEY',
    'ME namespaces="!agentcli,*" KEY',
    "ME cert-authority KEY",
    "ME CERT-AUTHORITY KEY",
    "ME no-touch-required KEY",
    "ME verify-required,valid-before=TOMORROW KEY",
    "ME valid-after=TOMORROW KEY",
    "ME valid-before=YESTERDAY KEY",
    "ME valid-before=JUST KEY",
    "ME valid-after=SOON KEY",
    "ME valid-after= KEY",
    "ME valid-before=never KEY",
    "ME valid-before=2026 KEY",
    'ME namespaces="agentcli KEY',
    # A tab ends the principals, as in ssh-keygen: the options behind it are restrictions, and no more principals.
    'ME,other\tvalid-before="YESTERDAY" KEY',
    'ME,other\tnamespaces="git",valid-before="TOMORROW" KEY',
    'ME\tcert-authority,namespaces="agentcli" KEY',
    'ME valid-before="YESTERDAY",valid-before="TOMORROW" KEY',
    'ME namespaces="git",namespaces="agentcli" KEY',
    'ME namespaces="git", KEY',
    'ME ,namespaces="git" KEY',
    "ME namespaces KEY",
    'ME cert-authority="" KEY',
    "ME ssh-rsa KEYTEXT",
    "ME ssh-ed25519@x KEYTEXT",
    "ME ssh-ed25519 KEYTEXT=",
    # Only a line end ends a line: other characters of that sort may be in a comment.
    "other@x KEY \x0bME KEY",
    "other@x KEY \u2028ME KEY",
    "other@x KEY \x85ME KEY",
]


def written(scene, line):
    other = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + b"x" * 32).decode()
    values = {
        "KEYTEXT": scene.key.split()[1],
        "KEY": " ".join(scene.key.split()[:2]),
        "OTHER": f"ssh-ed25519 {other}",
        "ME": ME,
        "YESTERDAY": day(-1),
        "TOMORROW": day(2),
        "JUST": moment(-5),
        "SOON": moment(3600),
    }
    # In one pass: a random key may have ME in its text.
    line = re.sub("|".join(values), lambda found: values[found[0]], line)
    return f"{line}\n"


@pytest.mark.parametrize("line", BELIEVED)
def test_a_line_that_allows_the_signer_is_believed(scene, line):
    assert scene.believes(written(scene, line)) is True


@pytest.mark.parametrize("line", REFUSED)
def test_a_line_that_does_not_say_exactly_that_allows_nobody(scene, line):
    assert scene.believes(written(scene, line)) is False
    assert scene.verdict()["reason"] == f'no allowed signer "{ME}" has this key'


def test_times_without_a_zone_are_local(scene, monkeypatch):
    monkeypatch.setenv("TZ", "UTC-10")  # ten hours ahead
    time.tzset()
    try:
        ahead = time.strftime("%Y%m%d%H%M", time.gmtime(time.time() + 5 * 3600))
        assert scene.believes(written(scene, f"ME valid-after={ahead} KEY")) is True
        assert scene.believes(written(scene, f"ME valid-after={ahead}Z KEY")) is False
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_file_that_is_not_there_or_no_file_believes_nobody(scene, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()

    assert "cannot be read: No such file" in scene.verdict(tmp_path / "none")["reason"]
    assert "is not a regular file" in scene.verdict(tmp_path / "pipe")["reason"]
    assert "is not a regular file" in scene.verdict(tmp_path / "folder")["reason"]


def test_a_file_that_is_a_link_or_lies_behind_one_believes_nobody(scene, tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "signers").write_text(written(scene, "ME KEY"))
    (real / "link").symlink_to("signers")
    (tmp_path / "behind").symlink_to(real)

    assert scene.verdict(real / "signers")["verified"] is True
    assert scene.verdict(real / "link")["reason"].endswith("is a symbolic link")
    assert (
        scene.verdict(tmp_path / "behind" / "signers")["reason"] == "is in a folder that is a symbolic link"
    )


def test_a_file_that_is_too_large_believes_nobody(scene):
    line = written(scene, "ME KEY")
    assert scene.believes("#" * (1024 * 1024 - len(line) - 1) + "\n" + line) is True
    assert scene.believes("#" * (1024 * 1024 - len(line)) + "\n" + line) is False
    assert "larger than 1048576 bytes" in scene.verdict()["reason"]
