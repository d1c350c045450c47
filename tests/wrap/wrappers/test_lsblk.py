"""The wrapped lsblk, on disks that are files of a test (`--sysroot`), because a machine need not have any."""

import os
from pathlib import Path

import pytest

from tests.wrap.drive import raw, wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = pytest.mark.needs("lsblk")


def disk(root: Path, name: str, number: int, *, sectors: int, parts: int = 0) -> None:
    """A disk as the kernel shows it in /sys."""
    device = root / "sys" / "devices" / name
    _device(root, device, f"8:{number}", sectors)
    (root / "sys" / "block").mkdir(exist_ok=True)
    (root / "sys" / "block" / name).symlink_to(f"../devices/{name}")
    for part in range(1, parts + 1):
        inner = device / f"{name}{part}"
        _device(root, inner, f"8:{number + part}", sectors // 2)
        (inner / "partition").write_text(f"{part}\n")


def _device(root: Path, folder: Path, number: str, sectors: int) -> None:
    for inner in ("queue", "holders", "slaves"):
        (folder / inner).mkdir(parents=True)
    (folder / "dev").write_text(f"{number}\n")
    (folder / "size").write_text(f"{sectors}\n")
    for links, name in (("sys/dev/block", number), ("sys/class/block", folder.name)):
        (root / links).mkdir(parents=True, exist_ok=True)
        (root / links / name).symlink_to(folder)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    disk(place, "sda", 0, sectors=2048, parts=2)
    disk(place, "sdb", 16, sectors=2**33)
    return place


def test_disks_come_with_their_partitions_and_sizes_in_bytes(root):
    done = wrap("lsblk", "--sysroot", str(root))

    assert [(event["name"], event["native_type"], event["size"]) for event in done.results] == [
        ("sda", "disk", 2**20),
        ("sdb", "disk", 2**42),
    ]
    assert [(each["name"], each["type"], each["size"]) for each in done.results[0]["children"]] == [
        ("sda1", "part", 2**19),
        ("sda2", "part", 2**19),
    ]


def test_any_name_of_a_disk_comes_back_as_it_is(tmp_path):
    names = [b'sd\xff\x1b[31m\t"x', "sdé\nq".encode(), b"sd\\x41", b" sd "]
    for number, name in enumerate(names):
        disk(tmp_path / "root", os.fsdecode(name), 16 * number, sectors=2048)

    done = wrap("lsblk", "--sysroot", str(tmp_path / "root"))

    assert sorted(raw(event, "name") for event in done.results) == sorted(names)
    assert sorted(raw(event, "kname") for event in done.results) == sorted(names)


def test_the_next_page_goes_on_behind_the_last_disk(root):
    first = wrap("lsblk", "--sysroot", str(root), "--limit", "1")
    second = wrap("lsblk", "--sysroot", str(root), "--limit", "1", "--cursor", first.summary["next_cursor"])

    assert [event["name"] for event in first.results + second.results] == ["sda", "sdb"]


def test_a_machine_without_disks_is_an_answer(tmp_path):
    done = wrap("lsblk", "--sysroot", str(tmp_path))

    assert (done.exit_code, done.results, done.summary["ok"]) == (0, [], True)


def test_the_disks_of_this_machine_can_be_listed():
    done = wrap("lsblk", "--all", "--limit", "1000")

    assert done.summary["ok"] is True
    assert all(isinstance(event["size"], int) for event in done.results)


def test_a_device_that_is_not_there_is_told_by_its_status(tmp_path):
    done = wrap("lsblk", str(tmp_path / "nope"))

    assert (done.error["category"], done.error["code"]) == ("not_found", "DEVICE_NOT_FOUND")
    assert done.summary["upstream"] == {"program": "lsblk", "exit": 32, "meaning": "none_found"}


def test_some_devices_that_are_not_there_leave_the_others_and_a_partial_verdict(tmp_path):
    answer = '{"blockdevices": [{"name": "sda", "type": "disk", "size": 1}]}\n'

    done = wrap("lsblk", "/dev/sda", "/dev/nope", env=stand_in(tmp_path, "lsblk", prints=answer, status=64))

    assert [event["name"] for event in done.results] == ["sda"]
    assert (done.error["code"], done.summary["ok"]) == ("SOME_DEVICES_NOT_FOUND", False)


def test_a_device_that_looks_like_an_option_is_a_device(tmp_path):
    done = wrap("lsblk", "--", "--help", cwd=tmp_path)

    assert done.error["code"] == "DEVICE_NOT_FOUND"


@pytest.mark.parametrize("answer", ['{"blockdevices": [{"name": "sda"', '{"blockdevices": ['])
def test_one_that_stops_in_the_middle_is_never_ok(tmp_path, answer):
    done = wrap("lsblk", env=stand_in(tmp_path, "lsblk", prints=answer))

    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)
