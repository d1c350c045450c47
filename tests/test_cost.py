"""What a test costs is the time of processors, of its processes too, and it is told where it was used."""

import os
import subprocess
import sys

from tests.cost import GROUPS, Account, Cost, by_file, costs, table
from tests.documentation import ROOT
from tests.tool.drive import LIMIT

TESTS = """
import subprocess, sys, time
BURN = "import time\\nwhile time.process_time() < %s: pass"
def burn(seconds): return subprocess.Popen([sys.executable, "-c", BURN % seconds])
def test_a_child(): burn(0.4).wait()
def test_itself():
    until = time.process_time() + 0.2
    while time.process_time() < until: pass
def test_a_child_of_a_child():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', %r]); print(flush=True); input()" % (BURN % 0.3)
    globals()["server"] = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server.stdout.readline()
def test_nothing(): pass
def test_the_end(): server.communicate(b'\\n')
"""


def test_what_children_use_counts_also_of_those_that_still_run(tmp_path):
    path, found = tmp_path / "test_it.py", tmp_path / "costs"
    path.write_text(TESTS)
    words = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "--costs", str(found), str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, timeout=LIMIT, check=False
    )

    assert done.returncode == 0, done.stdout
    tests = {name.rpartition("::")[2]: cost for name, cost in costs(found.read_text().splitlines()).items()}
    for name, least in {"test_a_child": 0.35, "test_itself": 0.15, "test_a_child_of_a_child": 0.25}.items():
        assert tests[name].processor >= least, tests
    assert tests["test_nothing"].processor < 0.15, tests


ORPHAN = """
import subprocess, sys
BURN = "import time\\nwhile time.process_time() < 0.4: pass"
def test_an_orphan():
    # The shell ends at once; the pipe ends with what it has left behind.
    work = ["sh", "-c", '"$@" &', "sh", sys.executable, "-c", BURN]
    assert subprocess.run(work, stdout=subprocess.PIPE, check=True).stdout == b""
"""


def test_what_has_no_ancestor_any_more_counts_where_there_are_groups_that_count(tmp_path):
    path, found = tmp_path / "test_it.py", tmp_path / "costs"
    path.write_text(ORPHAN)
    words = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "--costs", str(found), str(path)]
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        said, _ = process.communicate(timeout=LIMIT)

    assert process.returncode == 0, said
    ((_, cost),) = costs(found.read_text().splitlines()).items()
    assert cost.processor >= (0.35 if os.access(GROUPS, os.W_OK) else 0.0)
    assert not (GROUPS / f"operable-tests-{process.pid}").exists()


def test_a_machine_without_such_groups_counts_the_family_alone(tmp_path):
    assert Account.opened(tmp_path / "none") is None


def test_files_are_the_sums_of_their_tests_and_the_most_expensive_comes_first():
    tests = {"a.py::x": Cost(1.0, 2.0), "b.py::x[::]": Cost(2.5, 0.0), "a.py::y": Cost(1.0, 0.5)}

    assert by_file(tests) == {"a.py": Cost(2.0, 2.5), "b.py": Cost(2.5, 0.0)}
    assert [line.split()[-1] for line in table(by_file(tests)).splitlines()] == ["b.py", "a.py"]
    assert table(tests, 1).split() == ["2.5", "0.0", "b.py::x[::]"]
