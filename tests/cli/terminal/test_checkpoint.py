"""The files before and after a turn: undone byte for byte, and nothing of the user's repository is touched."""

import os
import subprocess

import pytest

from operable.cli.terminal import checkpoint
from operable.cli.terminal.checkpoint import WorkspaceCheckpoints
from operable.kernel.errors import Fail

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    work.mkdir()
    made = []

    def start():
        made.append(WorkspaceCheckpoints(str(work)))
        return made[-1]

    yield work, start
    for each in made:
        each.close()
    assert not list((tmp_path / "state").rglob("index"))


def test_a_turn_is_undone_byte_for_byte(kept):
    work, start = kept
    (work / ".gitattributes").write_text("* text=auto eol=lf\n*.c ident filter=evil\n")
    (work / "a.c").write_bytes(b"$Id$\r\nold\r\n")
    (work / "gone").write_bytes(b"\0\xff")
    (work / "run.sh").write_text("x")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("gone")
    checkpoints = start()
    checkpoints.begin()
    (work / "a.c").write_bytes(b"new\n")
    (work / "gone").unlink()
    (work / "run.sh").write_text("y")
    (work / "link").unlink()
    (work / "deep" / "er").mkdir(parents=True)
    (work / "deep" / "er" / "made").write_text("z")
    checkpoints.end()

    undone = checkpoints.undo()

    assert set(undone.restored) == {"a.c", "gone", "run.sh", "link", "deep/er/made"}
    assert (work / "a.c").read_bytes() == b"$Id$\r\nold\r\n"
    assert (work / "gone").read_bytes() == b"\0\xff"
    assert os.access(work / "run.sh", os.X_OK)
    assert os.readlink(work / "link") == "gone"
    assert not (work / "deep").exists()
    with pytest.raises(Fail, match="No turn of this chat"):
        checkpoints.undo()


def test_what_was_changed_since_stays(kept):
    work, start = kept
    (work / "a").write_text("one")
    checkpoints = start()
    checkpoints.begin()
    (work / "a").write_text("two")
    (work / "b").write_text("two")
    checkpoints.end()
    (work / "a").write_text("three")

    undone = checkpoints.undo()

    assert (undone.restored, undone.kept) == (("b",), ("a",))
    assert (work / "a").read_text() == "three"


def test_the_users_repository_and_its_programs_are_left_alone(kept, tmp_path):
    work, start = kept
    quiet = {"cwd": work, "capture_output": True}
    subprocess.run(["git", "init", "-q"], check=True, **quiet)
    for name in ("post-checkout", "post-index-change", "fsmonitor"):
        hook = work / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", ".git/hooks/fsmonitor"], check=True, **quiet)
    subprocess.run(["git", "config", "filter.evil.smudge", f"touch {tmp_path}/ran"], check=True, **quiet)
    (work / ".gitattributes").write_text("* filter=evil\n")
    (work / ".gitignore").write_text("ignored\n")
    (work / "a").write_text("one")
    before = sorted(str(path) for path in (work / ".git").rglob("*"))
    checkpoints = start()
    checkpoints.begin()
    (work / "a").write_text("two")
    (work / "ignored").write_text("two")
    checkpoints.end()

    assert checkpoints.undo().restored == ("a",)
    assert sorted(str(path) for path in (work / ".git").rglob("*")) == before
    assert not (tmp_path / "ran").exists()
    assert (work / "ignored").exists()


def test_a_repository_inside_gets_nothing_run(kept, tmp_path):
    work, start = kept
    inside = work / "inside"
    inside.mkdir()
    (inside / "a").write_text("one\n")
    (work / "b").write_text("one")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=inside, check=True, capture_output=True)
    checkpoints = start()
    checkpoints.begin()
    # What a confined agent may write: git runs the filter where it looks for changes of a submodule.
    with (inside / ".git" / "config").open("a") as config:
        config.write(
            f'[filter "evil"]\n\tclean = "touch {tmp_path}/ran; cat"\n[core]\n\tfsmonitor = "touch {tmp_path}/ran"\n'
        )
    (inside / ".gitattributes").write_text("* filter=evil\n")
    (inside / "a").write_text("two\n")
    (work / "b").write_text("two")
    checkpoints.end()

    assert checkpoints.undo().restored == ("b",)
    assert not (tmp_path / "ran").exists()
    assert (inside / "a").read_text() == "two\n"


def test_a_workspace_that_takes_too_long_has_no_undo_and_says_so(kept, tmp_path, monkeypatch):
    work, start = kept
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 300\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
    monkeypatch.setattr(checkpoint, "_LOOK", 0.1)
    checkpoints = start()
    checkpoints.begin()
    (work / "a").write_text("two")
    checkpoints.end()

    with pytest.raises(Fail, match="There is nothing to undo: "):
        checkpoints.undo()


def test_a_full_disk_means_no_undo_and_says_so(kept, monkeypatch):
    _, start = kept
    monkeypatch.setattr("tempfile.mkdtemp", _full)

    with pytest.raises(Fail, match="No space left"):
        _begun(start()).undo()


def _full(**_):
    raise OSError(28, "No space left on device")


def _begun(checkpoints):
    checkpoints.begin()
    checkpoints.end()
    return checkpoints


def test_folders_of_chats_that_were_killed_are_removed(kept, tmp_path):
    _, start = kept
    left = tmp_path / "state" / "cache" / "checkpoints" / "left"
    (left / "git").mkdir(parents=True)
    (left / "owner").write_text("")
    os.utime(left, (0, 0))
    _begun(start())

    assert not left.exists()
