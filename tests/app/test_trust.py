"""Approvals hold for exactly the content that was approved."""

import errno
import fcntl
import itertools
import os
import sys
import threading

import pytest

from operable.app.content import content
from operable.app.shelf import find
from operable.app.trust import Approvals
from operable.kernel.errors import Fail
from tests.app.making import approved, made, package_at
from tests.requirement import requirement


def refused(approvals, package):
    with pytest.raises(Fail) as caught:
        approvals.require(package)
    return caught.value.code


@requirement("appmd:trust:approval-before-run")
def test_what_lies_in_a_project_may_not_run_before_it_is_approved(tmp_path, approvals):
    package = find(str(made(tmp_path / "one")))
    assert approvals.standing(package).reason == "never approved"
    assert refused(approvals, package) == "APP_NOT_APPROVED"
    approvals.approve(package)
    approvals.require(package)
    assert approvals.revoke(package)
    assert not approvals.revoke(package)
    assert refused(approvals, package) == "APP_NOT_APPROVED"


@requirement("appmd:trust:pinned-content")
@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "app" / "cli.py").write_text("changed"),
        lambda root: (root / "app" / "new.py").write_text(""),
        lambda root: (root / "app" / "cli.py").chmod(0o755),
        lambda root: (root / "app" / "cli.py").rename(root / "app" / "cli2.py"),
        lambda root: (root / "skills" / "use" / "SKILL.md").write_text("---\nname: use\n---\nDo evil."),
        lambda root: (root / "APP.md").write_text((root / "APP.md").read_text() + "more"),
        lambda root: (root / "app" / "sub").symlink_to("cli.py"),
    ],
    ids=["content", "file", "mode", "name", "skill", "manifest", "link"],
)
def test_a_change_voids_the_approval(tmp_path, approvals, change):
    root = made(tmp_path / "one")
    package = approved(root, approvals)
    change(root)
    assert approvals.standing(package).reason == "changed since it was approved"
    assert refused(approvals, package) == "APP_NOT_APPROVED"


@requirement("appmd:trust:state-left-out")
def test_the_applications_own_data_is_not_part_of_what_is_approved(tmp_path, approvals):
    root = made(tmp_path / "one", more="metadata: {operable: {state: [app/data]}}")
    package = approved(root, approvals)
    for folder in ("state", "data"):
        (root / "app" / folder).mkdir()
        (root / "app" / folder / "db").write_text("rows")
    approvals.require(package)


@pytest.mark.parametrize("state", ["app", ".", "app/../app", "../x", "skills"])
def test_not_everything_can_be_called_data(tmp_path, approvals, state):
    root = made(tmp_path / "one", more=f"metadata: {{operable: {{state: [{state}]}}}}")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == "APP_STATE_INVALID"


def test_a_program_cannot_lie_in_the_data(tmp_path, approvals):
    root = made(tmp_path / "one", entry="python3 app/state/run.py")
    (root / "app" / "state").mkdir()
    (root / "app" / "state" / "run.py").write_text("")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == "APP_ENTRY_IN_STATE"


def test_a_program_beside_app_is_pinned_too(tmp_path, approvals):
    root = made(tmp_path / "one", entry="sh ./run.sh")
    (root / "run.sh").write_text("exit 0")
    package = approved(root, approvals)
    (root / "run.sh").write_text("exit 1")
    assert refused(approvals, package) == "APP_NOT_APPROVED"


@requirement("appmd:trust:unpinnable")
@pytest.mark.parametrize("what", ["outside", "state", "pipe", "folder"])
def test_what_cannot_be_pinned_is_refused(tmp_path, approvals, what):
    root = made(tmp_path / "one")
    (root / "app" / "state").mkdir()
    (root / "app" / "state" / "x").write_text("")
    (tmp_path / "out").write_text("")
    path = root / "app" / "it"
    if what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"outside": tmp_path / "out", "state": "state/x", "folder": tmp_path}[what])
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == "APP_CANNOT_BE_PINNED"


def test_the_whole_of_app_cannot_be_a_link_to_elsewhere(tmp_path, approvals):
    root = made(tmp_path / "one")
    (root / "app").rename(tmp_path / "real")
    (root / "app").symlink_to(tmp_path / "real")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == "APP_ENTRY_OUTSIDE"


@requirement("appmd:trust:shell")
def test_a_shell_is_approved_by_itself_and_falls_with_the_content(tmp_path, home, approvals):
    root = made(home / "apps" / "mine", more="metadata: {operable: {shell: true}}")
    package = find("mine")
    assert package.source == "user"
    assert refused(approvals, package) == "APP_SHELL_NOT_APPROVED"
    approvals.approve(package, shell=True)
    approvals.require(package)
    (root / "app" / "cli.py").write_text("changed")
    assert refused(approvals, package) == "APP_SHELL_NOT_APPROVED"


def test_what_was_looked_at_is_what_is_approved(tmp_path, approvals):
    root = made(tmp_path / "one")
    package = find(str(root))
    seen = content(package).digest
    (root / "app" / "cli.py").write_text("changed")
    with pytest.raises(Fail) as caught:
        approvals.approve(package, expected=seen)
    assert caught.value.code == "APP_CHANGED"


def test_approvals_at_the_same_time_do_not_lose_each_other(tmp_path, home):
    packages = [find(str(made(tmp_path / f"app-{number}"))) for number in range(8)]
    threads = [threading.Thread(target=Approvals().approve, args=(package,)) for package in packages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(Approvals().standing(package).trusted for package in packages)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_a_damaged_file_of_approvals_approves_nothing(tmp_path, text):
    path = tmp_path / "approvals.json"
    path.write_text(text)
    with pytest.raises(Fail) as caught:
        Approvals(str(path)).require(package_at(made(tmp_path / "one")))
    assert caught.value.code == "APPROVALS_UNUSABLE"


def test_approvals_are_private(tmp_path, home, approvals):
    approved(made(tmp_path / "one"), approvals)
    assert (home / "state" / "apps" / "approvals.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("home", [None, "/proc/no-such-place"])
def test_looking_needs_no_place_for_approvals_and_makes_none(tmp_path, monkeypatch, home):
    for name in ("OPERABLE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    if home is not None:
        monkeypatch.setenv("OPERABLE_HOME", home)
    package = package_at(made(tmp_path / "one"))

    assert Approvals().standing(package).reason == "never approved"
    assert Approvals().recorded(package) is False
    with pytest.raises(Fail) as caught:
        Approvals().approve(package)
    assert caught.value.code in ("NO_STATE_DIRECTORY", "STATE_DIRECTORY_UNUSABLE")


def test_looking_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))

    Approvals().standing(package_at(made(tmp_path / "one")))

    assert not (tmp_path / "home").exists()


def test_an_approval_that_cannot_be_written_leaves_nothing_behind(tmp_path, approvals, monkeypatch):
    package = package_at(made(tmp_path / "one"))
    approvals.approve(package)
    folder = os.path.dirname(approvals._consents.place())
    before = sorted(os.listdir(folder))

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("operable.state.atomic.os.fsync", full)
    with pytest.raises(Fail) as caught:
        approvals.approve(package)

    assert caught.value.message.endswith("approvals.json cannot be used: No space left on device")
    assert sorted(os.listdir(folder)) == before
    assert approvals.standing(package).trusted


@requirement("appmd:trust:pinned-content")
@pytest.mark.parametrize("linked", [False, True], ids=["file", "link"])
def test_what_was_read_before_a_change_is_not_approved_by_an_approval_of_what_is_there_now(
    tmp_path, approvals, linked
):
    root = made(tmp_path / "one", entry="sh -c evil", more="confirmationRequired: []")
    if linked:
        (root / "APP.md").rename(root / "app" / "APP.md")
        (root / "APP.md").symlink_to("app/APP.md")
    old = find(str(root))
    made(tmp_path / "one")
    approvals.approve(find(str(root)))

    assert refused(approvals, old) == "APP_NOT_APPROVED"
    with pytest.raises(Fail) as caught:
        approvals.approve(old)
    assert caught.value.code == "APP_CHANGED"


@requirement("appmd:trust:pinned-content")
def test_a_link_that_another_link_outside_of_what_is_pinned_leads_elsewhere_voids_the_approval(
    tmp_path, approvals
):
    root = made(tmp_path / "one")
    (root / "app" / "other.py").write_text("")
    (root / "app" / "run.py").symlink_to("../../way")
    (tmp_path / "way").symlink_to("one/app/cli.py")
    package = approved(root, approvals)
    (tmp_path / "way").unlink()
    (tmp_path / "way").symlink_to("one/app/other.py")

    assert refused(approvals, package) == "APP_NOT_APPROVED"


@requirement("appmd:trust:pinned-content")
@pytest.mark.parametrize(
    "entry, name",
    [
        (f"{sys.executable} -m app.cli", "json.py"),
        (f"{sys.executable} -m app.cli", "json.pyc"),
        (f"{sys.executable} -m app.cli", "json/__init__.py"),
        ("make -s", "Makefile"),
        ("npm run --silent cli --", "package.json"),
        ("node app/cli.js", "node_modules/left-pad/index.js"),
        (f"{sys.executable} tool", "tool/__main__.py"),
        ("sh app/cli.sh", "scripts/part.sh"),
    ],
)
def test_whatever_lies_beside_app_is_part_of_what_is_approved(tmp_path, approvals, entry, name):
    root = made(tmp_path / "one", entry=entry)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    for text in ("new", "changed"):
        package = approved(root, approvals)
        approvals.require(package)
        (root / name).write_text(text)
        assert refused(approvals, package) == "APP_NOT_APPROVED"


def test_what_tools_write_beside_it_voids_nothing(tmp_path, approvals):
    root = made(tmp_path / "one")
    package = approved(root, approvals)
    for name in (".git", ".pytest_cache"):
        (root / name).mkdir()
        (root / name / "index").write_text("x")
    approvals.require(package)


@requirement("appmd:trust:unpinnable")
@pytest.mark.parametrize(
    "entry", ["sh ../run.sh", "../run.sh", "sh app/../../run.sh", "sh run.sh", "sh .git/run"]
)
def test_a_program_cannot_lie_where_no_approval_reaches(tmp_path, approvals, entry):
    (tmp_path / "run.sh").write_text("exit 0")
    root = made(tmp_path / "one", entry=entry)
    (root / "run.sh").symlink_to("../run.sh")
    (root / ".git").mkdir()
    (root / ".git" / "run").write_text("")
    with pytest.raises(Fail) as caught:
        approvals.approve(find(str(root)))
    assert caught.value.code == ("APP_ENTRY_IN_STATE" if ".git" in entry else "APP_ENTRY_OUTSIDE")


def test_a_link_beside_app_is_pinned_as_a_link(tmp_path, approvals):
    root = made(tmp_path / "one")
    (root / "venv").mkdir()
    (root / "venv" / "python").symlink_to(sys.executable)
    package = approved(root, approvals)
    approvals.require(package)
    (root / "venv" / "python").unlink()
    (root / "venv" / "python").symlink_to("/bin/sh")
    assert refused(approvals, package) == "APP_NOT_APPROVED"


def test_what_has_changed_is_told(tmp_path, approvals):
    root = made(tmp_path / "one")
    (root / "app" / "old.py").write_text("")
    package = approved(root, approvals)
    (root / "app" / "cli.py").write_text("changed")
    (root / "app" / "old.py").unlink()
    for number in range(3):
        (root / "app" / f"{number}.py").write_text("")
    with pytest.raises(Fail) as caught:
        approvals.require(package)
    said = "one may not run: changed since it was approved: app/0.py, app/1.py, app/2.py and 2 more"
    assert caught.value.message == said
    assert approvals.standing(package).changed[3:] == ("app/cli.py", "app/old.py")


def test_an_approval_takes_no_right_from_the_users_own(tmp_path, home, approvals):
    root = made(home / "apps" / "mine")
    package = find("mine")
    approvals.approve(package)
    (root / "app" / "out").symlink_to(tmp_path)
    assert approvals.standing(package).trusted


def no_locks(*_):
    raise OSError(errno.ENOLCK, "No locks available")


def test_an_approval_is_refused_by_name_where_the_file_system_has_no_locks(tmp_path, approvals, monkeypatch):
    package = find(str(made(tmp_path / "one")))
    monkeypatch.setattr("operable.state.lock.fcntl.flock", no_locks)
    with pytest.raises(Fail) as caught:
        approvals.approve(package)

    assert caught.value.code == "APPROVALS_UNUSABLE"
    assert not approvals.recorded(package)


def test_an_approval_is_refused_by_name_while_another_process_keeps_the_lock(tmp_path, monkeypatch):
    package = find(str(made(tmp_path / "one")))
    approvals = Approvals(str(tmp_path / "approvals.json"))
    with open(tmp_path / "approvals.json.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        monkeypatch.setattr("operable.state.lock.time.monotonic", itertools.count(step=20.0).__next__)
        with pytest.raises(Fail) as caught:
            approvals.approve(package)

    assert caught.value.code == "APPROVALS_UNUSABLE"
    assert not approvals.recorded(package)
