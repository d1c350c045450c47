"""What leaves the group of a program ends with the program, where the process exists for it alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from operable.proc.tree.descendants import living
from tests.cli.drive import alive
from tests.proc.drive import LIMIT

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there are no subreapers")

# A process of its own, because adopting is for good.
PROGRAM = """
import os, sys
from operable.proc.tree.orphans import Adoption, sweep
from operable.proc.run import output
from operable.proc.spawn import prepare
from operable.proc.tree.descendants import living
from operable.proc.tree.warden import WARDEN

daemon = "setsid sh -c 'trap \\"\\" TERM; echo $$ > %s/pid; while :; do sleep 100; done' >/dev/null 2>&1 </dev/null & "
waits = "until [ -s %s/pid ]; do sleep 0.01; done"
with Adoption(wanted={wanted}):
    with Adoption(wanted={wanted}):
        output(prepare(["sh", "-c", (daemon + waits).replace("%s", sys.argv[1])]), timeout=200)
    inner = [each.pid for each in living(os.getpid()) if each.pid != WARDEN.pid]
outer = [each.pid for each in living(os.getpid()) if each.pid != WARDEN.pid]
print(len(inner) > 0, len(outer), WARDEN.active, sweep().ended)
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


NESTED = """
import os, resource, sys
from operable.proc.tree.orphans import Adoption

with Adoption():
    print(*resource.getrlimit(resource.RLIMIT_RTTIME), flush=True)
    if len(sys.argv) == 1:
        os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", os.environ["NESTED"], "inner"])
with Adoption():
    print(*resource.getrlimit(resource.RLIMIT_RTTIME), flush=True)
"""


def test_a_wrapped_program_that_wraps_another_keeps_the_mark_of_the_outer_one():
    done = subprocess.run(
        [sys.executable, "-c", NESTED],
        env=os.environ | {"NESTED": NESTED},
        capture_output=True,
        text=True,
        timeout=LIMIT * 4,
        check=True,
    )

    outer, inner, inner_again, outer_again = [line.split() for line in done.stdout.splitlines()]
    assert outer == outer_again
    assert inner == inner_again
    assert outer[0] == outer[1]
    assert (inner[0] != outer[0], inner[1]) == (True, outer[1])


@pytest.mark.parametrize("hard", [1_000_000, 1 << 59])
def test_a_limit_that_somebody_means_is_left_alone(hard):
    script = f"import resource; resource.setrlimit(resource.RLIMIT_RTTIME, ({hard}, {hard}))\n{NESTED}"

    done = subprocess.run(
        [sys.executable, "-c", script, "alone"], capture_output=True, text=True, timeout=LIMIT * 4, check=True
    )

    assert done.stdout.split() == [str(hard)] * 4
