"""What leaves the group of a program ends with the program, where the process exists for it alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from operable.proc.tree import living
from tests.cli.drive import alive
from tests.proc.drive import LIMIT

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there are no subreapers")

# A process of its own, because adopting is for good.
PROGRAM = """
import os, sys
from operable.proc.orphans import Adoption, sweep
from operable.proc.output import output
from operable.proc.spawn import prepare
from operable.proc.tree import living
from operable.proc.warden import WARDEN

daemon = "setsid sh -c 'trap \\"\\" TERM; echo $$ > %s/pid; while :; do sleep 100; done' >/dev/null 2>&1 </dev/null & "
waits = "until [ -s %s/pid ]; do sleep 0.01; done"
with Adoption(wanted={wanted}):
    with Adoption(wanted={wanted}):
        output(prepare(["sh", "-c", (daemon + waits).replace("%s", sys.argv[1])]), timeout=200)
    inner = [each.pid for each in living(os.getpid()) if each.pid != WARDEN.pid]
outer = [each.pid for each in living(os.getpid()) if each.pid != WARDEN.pid]
print(len(inner) > 0, len(outer), WARDEN.active, sweep())
"""


def ran(folder: Path, *, wanted: bool) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{wanted}", str(wanted)), str(folder)],
        capture_output=True,
        text=True,
        timeout=LIMIT * 4,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_daemon_ends_with_the_last_program_and_the_warden_stays(tmp_path):
    assert ran(tmp_path, wanted=True) == ["True", "0", "True", "0"]
    pid = int((tmp_path / "pid").read_text())
    assert not alive(pid)


def test_without_an_adoption_nobody_is_touched(tmp_path):
    assert ran(tmp_path, wanted=False) == ["False", "0", "True", "0"]
    pid = int((tmp_path / "pid").read_text())
    try:
        assert Path(f"/proc/{pid}").exists()
    finally:
        import os
        import signal

        for member in living(pid):
            os.kill(member.pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
