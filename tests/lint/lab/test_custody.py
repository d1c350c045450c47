"""Whom a tool tries to reach is counted by the kernel; talking to oneself is not reaching anybody."""

import os
import sys
from pathlib import Path

import pytest

from operable.lint.evidence import Invocation
from operable.lint.lab.custody import counters, described
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile
from operable.proc.sandbox.confinement import sandbox

OUTSIDE = "to an address outside this machine, or to a name server"
UNHEARD = "to a port of this machine at which nothing in the sandbox listens"
TRY = "import socket\ntry:\n    {0}\nexcept OSError:\n    pass\n"


def outgoing(tmp_path: Path, code: str, **options) -> tuple[str, ...] | None:
    program = tmp_path / "tool"
    # The interpreter itself, not the link to it in a checkout that may lie in /tmp, which is empty inside.
    program.write_text(f"#!{os.path.realpath(sys.executable)}\n{code}\n")
    program.chmod(0o755)
    with Laboratory(LabProbe(str(program), "tool", sandbox("bubblewrap"), **options), Profile()) as lab:
        return lab.observe(Invocation(())).outgoing


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    "attempt, told",
    [
        ("socket.create_connection(('192.0.2.1', 80), 1)", f"1 time {OUTSIDE}"),
        ("socket.create_connection(('2001:db8::1', 80), 1)", f"1 time {OUTSIDE}"),
        ("socket.create_connection(('127.0.0.1', 5432), 1)", f"1 time {UNHEARD} (TCP)"),
        ("socket.create_connection(('::1', 5432), 1)", f"1 time {UNHEARD} (TCP)"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))", f"1 time {OUTSIDE}"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", f"1 time {UNHEARD} (UDP)"),
    ],
)
def test_an_attempt_that_fails_is_still_an_attempt(tmp_path: Path, attempt, told):
    assert outgoing(tmp_path, TRY.format(attempt)) == (told,)


@pytest.mark.needs("bwrap")
def test_a_name_lookup_reaches_somebody(tmp_path: Path):
    (told,) = outgoing(tmp_path, TRY.format("socket.getaddrinfo('notes.example.com', 443)")) or ("",)

    assert (
        OUTSIDE in told or UNHEARD in told
    )  # as resolv.conf names a server elsewhere, or one on this machine


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    "code",
    [
        "print()",
        "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())",
        "import socket; a, b = socket.socketpair(); a.send(b'x')",
        "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('127.0.0.1', 0)); s.sendto(b'x', s.getsockname())",
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect_ex('/run/nobody')",
    ],
)
def test_a_tool_that_talks_to_itself_reaches_nobody(tmp_path: Path, code):
    assert outgoing(tmp_path, code) == ()


@pytest.mark.needs("bwrap")
def test_an_attempt_of_a_process_that_is_left_behind_counts(tmp_path: Path):
    attempt = TRY.format("socket.create_connection(('192.0.2.1', 80), 1)").replace("\n", "\\n")
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', \"{attempt}\"]).wait()"

    assert outgoing(tmp_path, code) == (f"1 time {OUTSIDE}",)


@pytest.mark.needs("bwrap")
def test_with_a_network_nothing_can_be_said(tmp_path: Path):
    assert outgoing(tmp_path, "print()", network=True) is None


def test_both_forms_of_counters_are_read():
    text = "Ip: OutNoRoutes InHdrErrors\nIp: 3 0\nTcp: ActiveOpens PassiveOpens\nTcp: 2 1\nIp6OutNoRoutes   \t4\nrest\n"

    assert counters(text) == {
        "IpOutNoRoutes": 3,
        "IpInHdrErrors": 0,
        "TcpActiveOpens": 2,
        "TcpPassiveOpens": 1,
        "Ip6OutNoRoutes": 4,
    }
    assert described(counters(text)) == (f"7 times {OUTSIDE}", f"1 time {UNHEARD} (TCP)")


def test_more_visitors_than_visits_are_no_contact():
    assert described({"TcpActiveOpens": 1, "TcpPassiveOpens": 2}) == ()
