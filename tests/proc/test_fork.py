"""A program that gives up rights gets the place that any program gets: streams, folder, session, signals, descriptors."""

import os
import signal
import subprocess
import sys

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox.restriction import NETWORK, WORDS, WRITES
from operable.proc.spawn import prepare
from tests.proc.sandbox.kernel import needs_scopes

pytestmark = needs_scopes
WAYS = pytest.mark.parametrize("rights", [frozenset(), WORDS], ids=["plain", "restricted"])
LIMIT = 200.0


def ran(rights, *argv, cwd=None, fds=(), stdin=None):
    return output(prepare(argv, cwd=cwd)._replace(gives_up=rights, fds=fds), stdin=stdin, timeout=LIMIT)


@WAYS
def test_it_has_a_session_a_folder_and_streams_of_its_own(rights, tmp_path):
    # Python itself ignores two signals when it starts, so the program that shows what it got is a shell.
    shown = "pwd; cut -d' ' -f1,5,6 /proc/$$/stat; grep SigIgn /proc/$$/status; cat; echo aside >&2"
    done = ran(rights - {"processes"}, "sh", "-c", shown, cwd=tmp_path, stdin=b"given")

    place, numbers, ignored, given = done.stdout.decode().split("\n")
    assert place == str(tmp_path)
    assert len(set(numbers.split())) == 1
    assert int(ignored.split()[1], 16) & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)) == 0
    assert given == "given"
    assert (done.stderr, done.status) == ("aside\n", 0)


@WAYS
def test_without_input_it_reads_the_end(rights):
    assert ran(rights, "cat").stdout == b""


@WAYS
def test_it_inherits_the_descriptors_that_are_named_and_no_others(rights, tmp_path):
    named, other = (os.open(tmp_path / name, os.O_CREAT | os.O_RDWR) for name in ("named", "other"))
    try:
        os.set_inheritable(other, True)  # as one that this process was started with
        done = ran(rights, "ls", "/proc/self/fd", fds=(named,))
    finally:
        os.close(named)
        os.close(other)

    # The last one is the folder that `ls` reads.
    found = sorted(map(int, done.stdout.split()))
    assert found[:3] == [0, 1, 2]
    assert named in found
    assert len(found) == 5


@WAYS
def test_a_death_by_a_signal_is_told_as_one(rights):
    assert ran(rights - {"processes"}, "sh", "-c", "kill -9 $$").status == -signal.SIGKILL


@WAYS
@pytest.mark.parametrize(
    ("first_line", "code"),
    [("#!/no/such/interpreter\n", "TOOL_INTERPRETER_MISSING"), ("\x00\x01", "TOOL_FORMAT_UNKNOWN")],
)
def test_what_cannot_be_executed_is_told_apart(rights, first_line, code, tmp_path):
    program = tmp_path / "program"
    program.write_text(first_line)
    program.chmod(0o755)

    with pytest.raises(Fail) as caught:
        ran(rights, str(program))

    assert caught.value.code == code


@WAYS
def test_arguments_beyond_the_limit_of_the_system_are_a_usage_error(rights):
    with pytest.raises(Fail) as caught:
        ran(rights, "true", "x" * 10_000_000)

    assert caught.value.code == "ARGV_TOO_LONG"


CLOSED = """
import os
from operable.proc.run import output
from operable.proc.spawn import prepare
for number in ({closed}):
    os.close(number)
done = output(prepare(["sh", "-c", "cat; echo out; echo err >&2"])._replace(gives_up=frozenset(("network",))), stdin=b"in ")
with open({path!r}, "w") as file:
    print(done.stdout, repr(done.stderr), done.status, file=file)
"""


@pytest.mark.parametrize("closed", ["0,", "1,", "2,", "0, 1, 2"])
def test_a_host_without_streams_gives_a_program_its_own(closed, tmp_path):
    told = tmp_path / "told"

    subprocess.run(
        [sys.executable, "-c", CLOSED.format(closed=closed, path=str(told))], timeout=LIMIT, check=True
    )

    assert told.read_text() == "b'in out\\n' 'err\\n' 0\n"


def test_starting_one_loads_neither_subprocess_nor_what_it_brings():
    program = (
        "import sys\n"
        "from operable.proc.run import output\n"
        "from operable.proc.spawn import prepare\n"
        "print(output(prepare(['echo', 'done'])._replace(gives_up=frozenset(('writes',)))).stdout)\n"
        "print(sorted({'subprocess', 'selectors', 'threading', 'signal', 're', 'enum', 'typing'} & set(sys.modules)))\n"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, timeout=LIMIT, check=True
    )

    assert done.stdout.decode().split("\n")[:2] == ["b'done\\n'", "[]"]


def test_what_another_part_of_the_host_reaped_has_no_status():
    program = (
        "import os, signal\n"
        "from operable.proc.run import output\n"
        "from operable.proc.spawn import prepare\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"  # the kernel reaps
        "done = output(prepare(['echo', 'done'])._replace(gives_up=frozenset(('writes',))))\n"
        "print(done.stdout, done.status)\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=LIMIT, check=True)

    assert done.stdout == b"b'done\\n' None\n"


def test_the_rights_are_gone_in_the_program_and_stay_in_the_host(tmp_path):
    file = tmp_path / "file"

    done = ran(frozenset((WRITES, NETWORK)), "touch", str(file))
    file.touch()

    assert done.status == 1
    assert file.exists()
