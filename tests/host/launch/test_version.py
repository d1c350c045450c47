import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from operable.host.launch.ledger import InstallRecord, Ledger
from operable.host.launch.process import CommandSurroundings
from operable.host.launch.version import check, find, in_range, mismatch, remembered, stamp
from operable.kernel.errors import Fail
from operable.manifest.blocks import VersionCheck
from tests.host.launch.making import program
from tests.proc.sandbox.kernel import needs_scopes
from tests.requirement import requirement

SEMVER = r"(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)"


def block(cmd="agent --version", parse=SEMVER, wanted="^1.2", timeout_ms=30_000):
    return VersionCheck(cmd=cmd, parse=parse, range=wanted, timeout_ms=timeout_ms)


def asked(tmp_path, body, *, bin="agent", **fields):
    binary = program(tmp_path / "installed" / "agent", body)
    program(tmp_path / "elsewhere" / "agent", "echo 9.9.9")
    surroundings = CommandSurroundings(
        str(tmp_path), bin, str(binary), {"PATH": f"{tmp_path}/elsewhere:/usr/bin:/bin"}
    )
    return check(block(**fields), surroundings)


@pytest.mark.parametrize("cmd", ["agent --version", "'agent' --version", "agent -V | cat"])
def test_the_installed_file_is_asked_not_one_of_the_same_name(tmp_path, cmd):
    found = asked(tmp_path, "echo agent 1.5.0", cmd=cmd)
    assert (found.version, found.fits) == ("1.5.0", True)


@requirement("aip-substrate:4.12:3-version-command")
def test_the_command_is_complete_and_gets_no_further_arguments(tmp_path):
    found = asked(tmp_path, 'test "$*" = --version && echo 1.5.0')
    assert found.fits


def test_options_alone_are_given_to_the_program(tmp_path):
    assert asked(tmp_path, 'test "$*" = "--version --json" && echo 1.5.0', cmd="--version --json").fits


def test_a_bin_that_is_a_path_is_the_installed_file_too(tmp_path):
    assert asked(tmp_path, "echo 1.5.0", bin="./bin/agent", cmd="./bin/agent --version").fits


@requirement("aip-substrate:4.3:first-group")
@pytest.mark.parametrize(
    "body, version",
    [
        ("echo 1.5.0; echo 1.9.9 >&2", "1.5.0"),
        ("echo 1.5.0 >&2", "1.5.0"),
        ("echo nothing; echo v1.3.4-rc.1 >&2", "1.3.4-rc.1"),
        ("printf '\\377\\376 1.5.0'", "1.5.0"),
        ("echo 1.5.0; exit 3", "1.5.0"),
    ],
)
def test_stdout_is_searched_first_then_stderr(tmp_path, body, version):
    assert asked(tmp_path, body, wanted="*").version == version


@pytest.mark.parametrize(
    "body, word",
    [
        ("echo 2.0.0", "it is 2.0.0; the manifest wants ^1.2"),
        ("echo hello", "printed no version"),
        ("exit 1", "status 1"),
        ("exit 0", "printed no version"),
    ],
)
def test_what_does_not_fit_says_why(tmp_path, body, word):
    found = asked(tmp_path, body)
    assert not found.fits
    assert word in found.why


def test_a_program_that_cannot_be_run_does_not_fit(tmp_path):
    assert "no-such-program" in asked(tmp_path, "echo", cmd="no-such-program --version").why


# Prints a version only when nothing that it tried was possible; what was, it says.
HOSTILE = """\
import os, signal, socket, sys
def unix():
    with socket.socket(socket.AF_UNIX) as client: client.connect({unix!r})
def network():
    with socket.socket() as client: client.connect(("127.0.0.1", {port}))
tries = {{
    "file": lambda: open({mark!r}, "w"), "home": lambda: os.mkdir(os.path.expanduser("~/mark")),
    "signal": lambda: os.kill({pid}, 0), "unix": unix, "network": network,
    "mode": lambda: os.chmod({file!r}, 0o777),
}}
for name, act in tries.items():
    try: act()
    except OSError: continue
    sys.exit("possible: " + name)
print("1.5.0")
"""


@needs_scopes
def test_a_program_that_is_asked_changes_nothing_and_reaches_nobody(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    file, mark, path = tmp_path / "file", tmp_path / "mark", tmp_path / "socket"
    file.touch(0o600)
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as network:
        unix.bind(str(path))
        unix.listen()
        body = HOSTILE.format(
            unix=str(path), port=network.getsockname()[1], mark=str(mark), pid=os.getpid(), file=str(file)
        )
        (tmp_path / "hostile.py").write_text(body)
        found = asked(tmp_path, f"exec {sys.executable} -I {tmp_path}/hostile.py")
    assert (found.version, found.why) == ("1.5.0", "")
    assert (mark.exists(), oct(file.stat().st_mode)[-3:]) == (False, "600")


@needs_scopes
def test_a_program_that_needs_a_home_to_write_to_has_an_empty_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "login").touch()
    other = f"operable-other-{os.getpid()}"
    body = f"mkdir ~/.cache && test ! -e ~/login && echo 1.5.0; touch ~/../{other} 2>/dev/null"
    found = asked(tmp_path, body)
    assert (found.version, (tmp_path / ".cache").exists()) == ("1.5.0", False)
    assert not list(Path(tempfile.gettempdir()).glob(other))


@needs_scopes
def test_a_program_that_unpacks_itself_at_its_first_start_is_asked_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    body = "set -e; echo 'echo 1.5.0' > ~/part; touch -d 2020-01-01 ~/part; chmod 700 ~/part; . ~/part"
    assert asked(tmp_path, body).version == "1.5.0"


@needs_scopes
def test_what_a_program_prints_while_it_fails_without_a_home_is_not_its_version(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = asked(tmp_path, "mkdir ~/.data || { echo runtime 1.3.14; exit 1; }; echo 1.5.0")
    assert found.version == "1.5.0"


@requirement("aip-substrate:4.3:time-limit")
def test_a_program_that_does_not_answer_is_a_timeout(tmp_path):
    with pytest.raises(Fail) as caught:
        asked(tmp_path, "exec sleep 60", timeout_ms=200)
    assert (caught.value.code, caught.value.details["aip_code"]) == (
        "VERSION_CHECK_TIMEOUT",
        "version_mismatch",
    )


@requirement("aip-substrate:4.3:npm-range")
@pytest.mark.parametrize(
    "version, wanted, fits",
    [
        ("1.2.3", ">=1.0.0 <2", True),
        ("1.2.3", ">= 1.0.0 < 2", True),
        ("2.0.0", "^1.2 || ^2", True),
        ("1.2.3", "1.x", True),
        ("1.2.3", "1.0 - 1.4", True),
        ("0.166.0", "^0.165", False),
        ("v1.2", "~1.2", True),
        ("1.3.0-rc.1", "^1.2.0", False),
        ("1.3.0-rc.1", ">=1.3.0-beta <2", True),
        ("1.3.0-rc.1", ">=1.2.0-beta <2", False),
        ("1.0.0-beta.2", "<1 || >=2", False),
        ("1.2.3-rc.1", "*", False),
        ("not a version", "*", False),
    ],
)
def test_ranges_are_those_of_npm(version, wanted, fits):
    assert in_range(version, wanted) == fits


def test_the_expression_is_javascripts():
    assert find(r"(?<version>\d+\.\d+)\/x$", "agent 1.5/x", "") == "1.5"


@pytest.mark.parametrize("expression", [r"(a+)+$", r"(a|a)*$", r"(\w*)*!"])
def test_an_expression_that_would_run_for_ever_is_given_up(expression):
    with pytest.raises(Fail) as caught:
        find(expression, "a" * 200 + "b", "", timeout=3)
    assert caught.value.code == "VERSION_EXPRESSION"


def test_an_expression_that_cannot_be_read_is_named():
    with pytest.raises(Fail) as caught:
        find("([", "x", "")
    assert (caught.value.code, caught.value.target) == ("VERSION_EXPRESSION", "([")


def test_a_version_is_remembered_until_the_file_or_the_check_changes(tmp_path):
    now = 1000.0
    ledger = Ledger(str(tmp_path / "ledger"), clock=lambda: now)
    binary = program(tmp_path / "agent")
    mark = stamp(str(binary), block())
    record = InstallRecord(str(binary), "npm", None, 0.0, "1.5.0", mark, now)
    assert remembered(record, ledger, mark) == "1.5.0"
    assert remembered(record, ledger, stamp(str(binary), block(wanted="^2"))) is None
    now += 25 * 3600
    assert remembered(record, ledger, mark) is None
    program(tmp_path / "agent", "echo another one")
    assert stamp(str(binary), block()) != mark
    assert remembered(None, ledger, mark) is None


def test_the_failure_carries_the_word_of_the_standard(tmp_path):
    fail = mismatch("agent", "/bin/agent", asked(tmp_path, "echo 2.0.0"))
    assert (fail.code, fail.details["aip_code"], fail.details["version"]) == (
        "VERSION_MISMATCH",
        "version_mismatch",
        "2.0.0",
    )
