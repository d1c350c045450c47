import os
import shutil
import subprocess
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox.confinement import Confinement, Root, sandbox
from operable.proc.sandbox.entry import Entrance
from operable.proc.sandboxes import bubblewrap
from operable.proc.spawn import launch, prepare
from operable.proc.tree.group import Group
from operable.proc.tree.warden import WARDEN

pytestmark = pytest.mark.needs("bwrap")
LIMIT = 120.0


def confined(script: str, tmp_path: Path, **options) -> str:
    confinement = Confinement(cwd="/tmp/place", writable={"/tmp/place": str(tmp_path)}, **options)
    return output(sandbox("bubblewrap").wrap(prepare(["sh", "-c", script]), confinement)).stdout.decode()


def test_only_the_named_folder_can_be_written(tmp_path: Path):
    assert (
        confined("touch here && echo yes; touch /etc/there 2>/dev/null || echo no", tmp_path) == "yes\nno\n"
    )
    assert (tmp_path / "here").exists()


def test_a_readable_folder_can_be_read_and_not_written(tmp_path: Path):
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "file").write_text("text")

    told = confined(
        "cat /tmp/shown/file; touch /tmp/shown/x 2>/dev/null || echo no",
        tmp_path,
        readable={"/tmp/shown": str(shown)},
    )

    assert told == "textno\n"


@pytest.mark.parametrize("network, routes", [(False, "1\n")])
def test_the_network_is_cut_unless_it_is_asked_for(network, routes, tmp_path: Path):
    assert confined("wc -l < /proc/net/route", tmp_path, network=network) == routes


def test_processes_of_the_host_cannot_be_seen(tmp_path: Path):
    assert int(confined("ls /proc | grep -c '^[0-9]'", tmp_path)) < 10


def test_an_unknown_sandbox_is_refused():
    with pytest.raises(Fail, match="no sandbox named 'castle'"):
        sandbox("castle")


def test_a_command_behind_a_gate_starts_when_it_is_opened(tmp_path: Path):
    reading, writing = os.pipe()
    wrapped = sandbox("bubblewrap").wrap(
        prepare(["sh", "-c", "echo started > it"]),
        Confinement(cwd="/tmp/place", writable={"/tmp/place": str(tmp_path)}, gate=reading),
    )
    launched = launch(wrapped)
    assert isinstance(launched.leader, Group)
    assert isinstance(launched.leader.process, subprocess.Popen)
    os.close(reading)

    with pytest.raises(subprocess.TimeoutExpired):
        launched.leader.process.wait(timeout=0.3)
    assert not (tmp_path / "it").exists()
    os.close(writing)

    assert launched.leader.process.wait(timeout=200) == 0
    assert (tmp_path / "it").read_text() == "started\n"
    WARDEN.release(launched.leader.process.pid)
    os.close(launched.stdout)
    os.close(launched.stderr)


def test_what_is_written_to_the_empty_folders_is_bounded(tmp_path: Path):
    told = confined("head -c 300000000 /dev/zero > /tmp/large 2> /dev/null || echo full", tmp_path)

    assert told == "full\n"


@pytest.mark.parametrize("root", ["host", "system"])
def test_memory_behind_the_devices_is_bounded_and_they_work(tmp_path: Path, root):
    script = (
        "touch /dev/made 2>/dev/null || echo refused; df --output=size -B1M /dev/shm | tail -1 | tr -d ' ';"
        "echo x > /dev/null && echo x > /dev/shm/x && cat /dev/shm/x"
    )
    confinement = Confinement(cwd="/", root=root)

    done = output(sandbox("bubblewrap").wrap(prepare(["sh", "-c", script]), confinement))

    assert done.stdout.decode().split() == ["refused", "256", "x"], done


def test_a_system_without_user_namespaces_refuses_the_root_that_agents_get(tmp_path: Path, monkeypatch):
    real, folder = shutil.which("bwrap"), tmp_path / "bin"
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(
        f'#!/bin/sh\ncase " $* " in *" --unshare-user "*) echo "bwrap: No permissions to create a new namespace" >&2; exit 1;; esac\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for probe in (bubblewrap._missing, bubblewrap._missing_system):
        probe.cache_clear()
    try:
        with pytest.raises(Fail, match="No permissions to create a new namespace") as caught:
            sandbox("bubblewrap").wrap(prepare(["true"]), Confinement(cwd="/", root="system"))
    finally:
        for probe in (bubblewrap._missing, bubblewrap._missing_system):
            probe.cache_clear()
    assert caught.value.code == "SANDBOX_UNAVAILABLE"


def swung(folder: Path, victim: Path) -> None:
    """What a process does that may write beside the folder: the same name leads elsewhere."""
    folder.rename(f"{folder}.was")
    folder.symlink_to(victim)


@pytest.fixture
def race(tmp_path: Path) -> tuple[Path, Path]:
    folder, victim = tmp_path / "race" / "out", tmp_path / "victim"
    folder.mkdir(parents=True)
    victim.mkdir()
    return folder, victim


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("kind", ["writable", "readable"])
@pytest.mark.parametrize("above", [False, True])
def test_a_folder_that_becomes_a_link_after_it_was_checked_is_not_shown(race, kind, above, tree):
    folder, victim = race
    shown = folder / "inner" if above else folder
    for each in (shown, victim / "inner"):
        each.mkdir(exist_ok=True)
    mounts = {"/tmp/out": str(shown)}
    place = (
        Confinement(cwd="/", writable=mounts) if kind == "writable" else Confinement(cwd="/", readable=mounts)
    )
    command = sandbox("bubblewrap").wrap(prepare(["sh", "-c", "touch /tmp/out/made"]), place)

    swung(folder, victim)
    with pytest.raises(Fail) as refused:
        output(command._replace(tree=tree))

    assert (refused.value.category, refused.value.code) == ("authz", "SANDBOX_PATH_CHANGED")
    assert list(victim.rglob("made")) == []


def test_a_folder_that_becomes_a_link_while_bubblewrap_starts_is_not_shown(race):
    """Between our opening of the folder and the mount: bubblewrap looks the path up, and compares."""
    folder, victim = race
    place = Confinement(cwd="/", writable={"/tmp/out": str(folder)})
    command = sandbox("bubblewrap").wrap(prepare(["sh", "-c", "touch /tmp/out/made"]), place)
    assert command.entry is not None
    entrance = Entrance(command.entry)
    try:
        swung(folder, victim)
        words = entrance.argv(command.argv)
        subprocess.run(words, pass_fds=entrance.fds, timeout=LIMIT, check=False, stderr=subprocess.DEVNULL)
    finally:
        entrance.close()

    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("name", ["folder", "file"])
def test_what_is_hidden_is_hidden_at_every_place_where_it_is_shown(tmp_path: Path, name: str):
    secret = tmp_path / "data" / name
    secret.parent.mkdir()
    if name == "folder":
        secret.mkdir()
        (secret / "content").write_text("canary")
    else:
        secret.write_text("canary")
    told = confined(
        "cat /tmp/alias/* /tmp/alias/*/* /tmp/place/data/* /tmp/place/data/*/* 2>/dev/null; echo end",
        tmp_path,
        readable={"/tmp/alias": str(secret.parent)},
        hidden=(str(secret),),
    )

    assert told == "end\n"


@pytest.mark.needs("/usr/bin/python3")
@pytest.mark.parametrize("root", ["host", "system"])
def test_a_folder_above_what_is_hidden_or_read_only_is_not_renamed(tmp_path: Path, root: Root):
    """Renamed, it would show the file to the next command, which hides it by its old path."""
    work = tmp_path / "work"
    for name in ("hidden", "shown", "free"):
        (work / name / "deep").mkdir(parents=True)
        (work / name / "deep" / "file").write_text(name)
    place = Confinement(
        cwd=str(work),
        writable={str(work): str(work)},
        readable={str(work / "shown/deep"): str(work / "shown/deep")},
        hidden=(str(work / "hidden/deep/file"),),
        root=root,
    )
    code = """
import contextlib, os
for name in ("hidden", "hidden/deep", "shown", "free"):
    with contextlib.suppress(OSError):
        os.rename(name, "moved-" + name.replace("/", "-"))
open("hidden/new", "x").close()
"""
    command = prepare(["/usr/bin/python3", "-c", code])
    assert output(sandbox("bubblewrap").wrap(command, place), timeout=LIMIT).status == 0

    assert sorted(str(path.relative_to(work)) for path in work.iterdir()) == ["hidden", "moved-free", "shown"]
    assert (work / "hidden/deep/file").read_text() == "hidden"
    assert (work / "hidden/new").exists()


def test_a_bubblewrap_that_cannot_mount_by_descriptor_is_not_used(monkeypatch):
    monkeypatch.setattr(bubblewrap, "_options", lambda: b"--bind --size")
    bubblewrap._missing.cache_clear()
    try:
        assert sandbox("bubblewrap").missing() == "this bubblewrap (bwrap) is too old: it has no --bind-fd"
    finally:
        bubblewrap._missing.cache_clear()


def test_other_names_of_a_hidden_file_are_named_as_open(tmp_path: Path):
    for name in ("alone", "linked"):
        (tmp_path / name).write_text("canary")
    os.link(tmp_path / "linked", tmp_path / "again")
    hidden = (str(tmp_path / "alone"), str(tmp_path / "linked"), str(tmp_path))

    report = sandbox("bubblewrap").enforce(Confinement(cwd="/", hidden=hidden))

    found = [item for item in report if item.item.startswith("other names")]
    assert [(item.item, item.outcome) for item in found] == [
        (f"other names of {tmp_path}/linked", "unconfined")
    ]
    assert "2 names" in found[0].mechanism


UNBUILDABLE = {
    "/proc/nowhere": Confinement(cwd="/", readable={"/proc/nowhere": "/usr"}),  # a mount fails
    "/no/such/folder": Confinement(cwd="/no/such/folder", root="system"),  # the last step fails
}


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("said", UNBUILDABLE)
def test_a_sandbox_that_cannot_be_put_up_is_not_the_status_of_the_program(said, tree):
    place = UNBUILDABLE[said]
    command = sandbox("bubblewrap").wrap(prepare(["true"]), place)

    with pytest.raises(Fail) as refused:
        output(command._replace(tree=tree))

    assert (refused.value.category, refused.value.code) == ("config", "SANDBOX_FAILED")
    assert said in refused.value.message


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize(
    "script, status", [("exit 1", 1), ("echo 'bwrap: no' >&2; exit 1", 1), ("kill -9 $$", 137)]
)
def test_the_status_of_a_program_that_was_started_is_its_own(script, status, tree):
    command = sandbox("bubblewrap").wrap(prepare(["sh", "-c", script]), Confinement(cwd="/"))

    assert output(command._replace(tree=tree)).status == status


def test_a_confinement_that_says_nothing_else_ends_with_its_owner():
    def words(**options):
        confinement = Confinement(cwd="/tmp", root="system", **options)
        return sandbox("bubblewrap").wrap(prepare(["true"]), confinement).argv

    assert "--die-with-parent" in words()
    assert "--die-with-parent" not in words(outlive=True)
