"""What a linter leaves on the host: nothing, also after kill -9 and whatever the tool has made unreadable."""

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from operable.lint.evidence import Invocation
from operable.lint.lab.folders import Premises, Stock
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile, ToolProfile
from operable.proc.sandbox.confinement import sandbox

pytestmark = pytest.mark.timeout(300)

# Below it everything is closed to its owner, who is not root.
CLOSED = "import os, sys\nos.makedirs(f'{sys.argv[1]}/a/b/c')\nopen(f'{sys.argv[1]}/a/f', 'w')\nos.symlink('/', f'{sys.argv[1]}/a/b/l')\n"
_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


def as_a_user(code: str) -> object:
    """What this code prints as JSON, run by somebody who is not root; its argument is a folder that it may write to."""
    python = [*(_NOBODY if os.geteuid() == 0 else []), sys.executable, "-c"]
    if subprocess.run([*python, "import operable.lint.lab.folders"], timeout=120, check=False).returncode:
        pytest.skip("this checkout cannot be read by others")
    # Not below pytest's folder, which only we may enter.
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        words = [*python, CLOSED + code, f"{place}/room"]
        done = subprocess.run(words, stdout=subprocess.PIPE, timeout=120, check=True)
        return json.loads(done.stdout)


@pytest.mark.needs("setpriv")
@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_folders_that_were_closed_are_taken_away_by_who_owns_them(mode):
    code = f"""
import json
from operable.lint.lab.folders import discard
for path in ("a/b/c", "a/b", "a"):
    os.chmod(f"{{sys.argv[1]}}/{{path}}", {mode})
discard(sys.argv[1])
print(json.dumps(os.path.lexists(sys.argv[1])))
"""
    assert as_a_user(code) is False


@pytest.mark.needs("setpriv")
@pytest.mark.parametrize("closed, copied", [("a/f", False), ("a/b", False), (None, True)])
def test_what_cannot_be_read_cannot_be_copied(closed, copied):
    code = f"""
import json
from operable.lint.lab.folders import copyable
if {closed!r}: os.chmod(f"{{sys.argv[1]}}/{closed}", 0)
print(json.dumps(copyable(sys.argv[1])))
"""
    assert as_a_user(code) is copied


@pytest.mark.needs("bwrap", "setpriv")
def test_a_setup_that_leaves_what_nobody_may_read_is_done_in_each_room():
    code = """
import json
from operable.lint.evidence import Invocation
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile, ToolProfile
from operable.proc.sandbox.confinement import sandbox
tool = sys.argv[1] + "/tool"
with open(tool, "w") as file:
    file.write("#!/bin/sh\\n[ $# = 0 ] || { echo x > secret; chmod 0 secret; }\\nls\\n")
os.chmod(tool, 0o755)
with Laboratory(LabProbe(tool, "tool", sandbox("bubblewrap"), timeout=60.0), Profile(ToolProfile(setup=[["make"]]))) as lab:
    lab.prepare((), None)
    print(json.dumps(lab.observe(Invocation(())).stdout.decode()))
"""
    assert as_a_user(code) == "secret\n"


def test_what_a_killed_linter_has_left_goes_with_the_next_and_what_a_living_one_has_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "aoi-lint-other"  # of nobody knows whom
    other.mkdir()
    code = "from operable.lint.lab.folders import Premises\nimport time\nprint(Premises.taken().folder, flush=True)\ntime.sleep(1000)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as process:
        try:
            assert process.stdout is not None
            theirs = Path(process.stdout.readline().strip())
            (theirs / "room").mkdir()
            ours = Premises.taken()
            assert theirs.is_dir()
        finally:
            process.kill()
    assert theirs.is_dir()

    Premises.taken().leave()

    assert sorted(tmp_path.iterdir()) == sorted([other, Path(ours.folder)])
    ours.leave()
    assert list(tmp_path.iterdir()) == [other]


def test_where_nothing_more_can_be_opened_no_folder_is_left(tmp_path: Path):
    code = """
import os, resource, tempfile
from operable.lint.evidence import Invocation
from operable.lint.lab.folders import Premises, Stock
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile, ToolProfile
from operable.proc.sandbox.confinement import sandbox
tempfile.gettempdir()  # it tries
free = os.dup(0)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
try:
    Premises.taken()
except OSError as error:
    print(error.errno)
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=120, check=True
    )

    assert int(done.stdout) == errno.EMFILE
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_copied_for_want_of_room_ends_the_run_in_words():
    code = """
import resource
from dataclasses import replace
from operable.kernel.errors import Fail
from operable.lint.check import Case
from operable.lint.engine import explain, outcome
from operable.lint.evidence import Invocation
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.probe import LabProbe
from operable.lint.profile import Profile, ToolProfile
with Laboratory(LabProbe("/bin/true", "true", None), Profile(ToolProfile(files={"large": "x" * 100}))) as lab:
    lab.prepare((), None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    try:
        outcome(Case(replace(explain("2"), tool=lambda case: [case.observe(Invocation(()))]), None, None, lab))
    except Fail as problem:
        print(problem.category, problem.code, problem.message)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )

    assert done.stdout.startswith(
        "io ROOM_FAILED what the setup made cannot be copied: [Errno 27] File too large"
    )


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    """Of folders with a file, a link and a folder in them."""
    numbers = count()

    def made() -> str:
        folder = tmp_path / f"room-{next(numbers)}"
        (folder / "work" / "below").mkdir(parents=True)
        (folder / "work" / "file").write_text("as it was")
        (folder / "work" / "link").symlink_to("file")
        return str(folder)

    return Stock(made)


def test_a_folder_that_nobody_has_touched_serves_again(stock: Stock):
    folder = stock.take()
    assert Path(folder, "work", "link").read_text() == "as it was"
    stock.leave(folder)

    assert stock.take() == folder


def test_nobody_gets_a_folder_that_another_one_has(stock: Stock):
    first, second = stock.take(), stock.take()
    stock.leave(first)

    assert first != second
    assert {stock.take(), stock.take()}.isdisjoint({second})


def rewritten(work: Path) -> None:
    """With as many bytes, by whoever puts the times back."""
    before = (work / "file").stat()
    (work / "file").write_text("as it isn")
    os.utime(work / "file", ns=(before.st_atime_ns, before.st_mtime_ns))


def swung(work: Path) -> None:
    (work / "link").unlink()
    (work / "link").symlink_to("elif")


def undone(work: Path) -> None:
    """Made and taken away: also what cannot be seen any more was done."""
    (work / "more").touch()
    (work / "more").unlink()


TOUCHES: list[Callable[[Path], object]] = [
    rewritten,
    swung,
    undone,
    lambda work: (work / "file").chmod(0o600),
    lambda work: (work / "file").unlink(),
    lambda work: (work / "file").rename(work / "other"),
    lambda work: os.link(work / "file", work / "again"),
    lambda work: (work / "below" / "more").touch(),
    lambda work: (work / "below").rmdir(),
    lambda work: work.chmod(0o700),
    lambda work: os.mkfifo(work.parent / "pipe"),
]


@pytest.mark.parametrize("touch", TOUCHES, ids=range(len(TOUCHES)))
def test_a_folder_that_was_touched_is_taken_away(stock: Stock, touch: Callable[[Path], object]):
    folder = stock.take()
    touch(Path(folder, "work"))
    stock.leave(folder)

    again = stock.take()

    assert again != folder
    assert not os.path.lexists(folder)
    assert Path(again, "work", "link").read_text() == "as it was"


def test_a_folder_is_given_out_when_the_tick_of_the_clock_in_which_it_was_made_is_over(stock: Stock):
    folder = stock.take()

    newest = max(path.lstat().st_ctime_ns for path in Path(folder).rglob("*"))
    assert Path(folder).stat().st_ctime_ns > newest


@pytest.mark.needs("bwrap")
def test_calls_that_change_nothing_share_a_room_and_what_is_changed_is_seen_by_nobody_else(tmp_path: Path):
    program = tmp_path / "tool"
    program.write_text('#!/bin/sh\nls -id .; ls -A . "$HOME"; [ "$1" != make ] || : > "$HOME/made"\n')
    program.chmod(0o755)
    probe = LabProbe(str(program), "tool", sandbox("bubblewrap"), timeout=200.0)

    with Laboratory(probe, Profile(ToolProfile(files={"note": "kept"}))) as lab:
        lab.prepare((), None)
        first, second, made, third = (
            lab.observe(Invocation((word,))).stdout for word in ("one", "two", "make", "three")
        )

    assert first == second == made
    assert b"note" in first
    assert b"made" not in third
