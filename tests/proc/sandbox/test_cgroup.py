import os
import subprocess
from pathlib import Path

import pytest

from operable.proc.run import output
from operable.proc.sandbox import cgroup
from operable.proc.spawn import prepare

WRITABLE = pytest.mark.skipif(
    cgroup.place("pids") is None, reason="no writable control group with the pids controller"
)


def fake_system(monkeypatch, tmp_path: Path, *, own: str, mounts: str) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / "mounts").write_text(mounts)
    monkeypatch.setattr(cgroup, "_OWN", str(tmp_path / "own"))
    monkeypatch.setattr(cgroup, "_MOUNTS", str(tmp_path / "mounts"))


def test_version_2_is_used_where_its_controllers_are_delegated(monkeypatch, tmp_path: Path):
    group = tmp_path / "fs" / "user.slice" / "us"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    (group / "cgroup.subtree_control").write_text("cpu memory\n")
    fake_system(
        monkeypatch,
        tmp_path,
        own="0::/user.slice/us\n",
        mounts=f"30 23 0:26 / {tmp_path}/fs rw shared:4 - cgroup2 cgroup2 rw\n",
    )

    assert cgroup.place("memory") == cgroup.CgroupParent(str(group), 2)
    assert cgroup.place("pids") is None
    made = cgroup.prepare({"memory": 1000, "pids": 5})
    assert list(made) == ["memory"]
    assert Path(made["memory"], "memory.max").read_text() == "1000"


def test_version_1_is_used_by_the_hierarchy_of_each_controller(monkeypatch, tmp_path: Path):
    group = tmp_path / "pids" / "us"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    fake_system(
        monkeypatch,
        tmp_path,
        own="8:pids:/us\n4:memory:/elsewhere\n",
        mounts=f"1 2 0:1 / {tmp_path}/pids rw - cgroup cgroup rw,pids\n",
    )

    assert cgroup.place("pids") == cgroup.CgroupParent(str(group), 1)
    assert cgroup.place("memory") is None


def test_groups_of_dead_hosts_are_removed(monkeypatch, tmp_path: Path):
    group = tmp_path / "pids"
    for name in ("operable-99999999-1", f"operable-{os.getpid()}-77", "somebody"):
        (group / name).mkdir(parents=True)
    (group / "cgroup.procs").touch()
    fake_system(
        monkeypatch,
        tmp_path,
        own="8:pids:/\n",
        mounts=f"1 2 0:1 / {tmp_path}/pids rw - cgroup cgroup rw,pids\n",
    )

    made = cgroup.prepare({"pids": 5})

    assert not (group / "operable-99999999-1").exists()
    assert (group / f"operable-{os.getpid()}-77").exists()
    assert (group / "somebody").exists()
    assert Path(made["pids"]).parent == group


def test_nothing_can_be_prepared_where_nothing_is_mounted(monkeypatch, tmp_path: Path):
    fake_system(monkeypatch, tmp_path, own="", mounts="")

    assert cgroup.prepare({"pids": 5, "memory": 5}) == {}
    assert cgroup.joining({}) == []


def test_a_command_that_cannot_join_its_group_does_not_run(tmp_path: Path):
    words = cgroup.joining({"pids": str(tmp_path / "absent")})

    told = output(prepare([*words, "echo", "ran"]))

    assert (told.status, told.stdout) == (71, b"")


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/pids/cgroup.procs", os.W_OK), reason="no hierarchy of version 1 for us"
)
def test_the_hierarchy_of_this_machine_is_found():
    assert cgroup.place("pids") is not None


@pytest.mark.parametrize(
    ("files", "door"), [(["tasks", "cgroup.procs"], "tasks"), (["cgroup.procs"], "cgroup.procs")]
)
def test_a_process_enters_as_a_thread_where_there_is_a_file_for_threads(tmp_path: Path, files, door):
    for name in files:
        (tmp_path / name).touch()

    assert cgroup.doors({"pids": str(tmp_path), "memory": str(tmp_path)}) == (str(tmp_path / door),)


@WRITABLE
def test_all_that_a_command_starts_is_in_the_group_that_it_entered():
    made = cgroup.prepare({"pids": 20})
    script = "cat /proc/self/cgroup; (cat /proc/self/cgroup); setsid -w cat /proc/self/cgroup"

    told = output(prepare([*cgroup.joining(made), "sh", "-c", script]))

    assert told.stdout.decode().count(os.path.basename(made["pids"])) == 3
    cgroup.remove(made)


@WRITABLE
def test_a_command_joins_its_group_and_the_group_can_be_removed_after_it():
    made = cgroup.prepare({"pids": 20})

    told = output(prepare([*cgroup.joining(made), "cat", "/proc/self/cgroup"]))

    assert os.path.basename(made["pids"]) in told.stdout.decode()
    cgroup.remove(made)
    assert not os.path.exists(made["pids"])


@WRITABLE
def test_a_process_that_is_held_back_can_be_admitted_from_outside():
    made = cgroup.prepare({"pids": 20})
    with subprocess.Popen(["sh", "-c", "read x; cat /proc/self/cgroup"], stdin=-1, stdout=-1) as held:
        admitted = cgroup.admit(made, held.pid)
        told, _ = held.communicate(b"\n", timeout=200)

    assert admitted
    assert os.path.basename(made["pids"]) in told.decode()
    assert not cgroup.admit(made, held.pid)
    cgroup.remove(made)
    assert not os.path.exists(made["pids"])


@WRITABLE
def test_a_group_in_use_goes_when_the_next_one_is_made():
    made = cgroup.prepare({"pids": 20})
    with subprocess.Popen(
        [*cgroup.joining(made), "sh", "-c", "echo in; read x"], stdin=-1, stdout=-1
    ) as inside:
        assert inside.stdout is not None
        inside.stdout.readline()
        cgroup.remove(made)
        inside.communicate(b"\n", timeout=200)
    assert os.path.exists(made["pids"])

    cgroup.remove(cgroup.prepare({"pids": 20}))

    assert not os.path.exists(made["pids"])


@WRITABLE
def test_a_group_in_use_is_left_alone():
    made = cgroup.prepare({"pids": 20})
    with subprocess.Popen(
        [*cgroup.joining(made), "sh", "-c", "echo in; read x"], stdin=-1, stdout=-1
    ) as inside:
        assert inside.stdout is not None
        inside.stdout.readline()
        cgroup.remove(made)
        assert os.path.exists(made["pids"])
        inside.communicate(b"\n", timeout=200)
    cgroup.remove(made)
    assert not os.path.exists(made["pids"])
