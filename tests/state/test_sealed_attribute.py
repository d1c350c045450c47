"""What a power cut leaves of a log whose announcements are on disk with its records. See tests/state/power_cut.py."""

import json
import os
import subprocess
import sys

import pytest

from operable.state import sealed_attribute
from operable.state.sealed_attribute import carried, carry, is_ordered
from operable.state.sealed_log import RecordDraft
from tests.state.formats import FORMATS, codes, log, record, sequence

_PRIVATELY = ("unshare", "--mount", "--propagation", "private")
EVERY = pytest.mark.parametrize("form", sorted(FORMATS))


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed_attribute, "is_ordered", lambda _: True)
    with (tmp_path / "tried").open("wb") as file:
        if not carry(file.fileno(), b"x"):
            pytest.fail(f"{tmp_path} has no attributes of users, or this system no boot id")
    return tmp_path / "log"


@pytest.fixture
def started_again(monkeypatch):
    """From now on, the kernel is another one."""
    return lambda: monkeypatch.setattr(sealed_attribute, "boot_id", lambda: b"the next start")


def undone(path, form, writes=3):
    """A log of which a power cut has undone the heads of the last writes."""
    log(path, form).append(record(0))
    head = path.with_name("log.head").read_bytes()
    for number in range(writes):
        log(path, form).write([RecordDraft(record(number)), RecordDraft(record(number))])
    path.with_name("log.head").write_bytes(head)
    return path


@EVERY
@pytest.mark.parametrize("left", [7, 6, 5])
def test_heads_that_a_power_cut_has_undone_are_no_tampering(path, started_again, form, left):
    """All of the last batch, a part of it, or nothing of it: the announcement was on disk before it."""
    undone(path, form)
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(len(b"".join(data.splitlines(keepends=True)[:left])))
    started_again()

    assert codes(path, form) == []
    log(path, form).append(record("on"))
    assert (codes(path, form), sequence(path, form)) == ([], list(range(left + 1)))


@EVERY
def test_within_one_start_of_the_kernel_a_head_that_was_set_back_is_tampering(path, form):
    undone(path, form)

    assert codes(path, form) == ["tampered"]


@EVERY
def test_records_that_were_not_announced_are_tampering_after_a_power_cut_too(path, started_again, form):
    log(path, form).append(record(0))
    head = path.with_name("log.head").read_bytes()
    log(path, form).append(record(1))
    announced = os.getxattr(path, "user.operable.announced")
    log(path, form).append(record("added"))
    path.with_name("log.head").write_bytes(head)
    os.setxattr(path, "user.operable.announced", announced)
    started_again()

    assert codes(path, form) == ["tampered"]


@EVERY
def test_records_that_the_announcement_continues_cannot_be_cut(path, started_again, form):
    undone(path, form)
    with path.open("r+b") as file:
        file.truncate(len(b"".join(path.read_bytes().splitlines(keepends=True)[:3])))
    started_again()

    assert codes(path, form) == ["tampered"]


@EVERY
def test_records_that_the_head_names_cannot_be_cut(path, started_again, form):
    log(path, form).append(record(0))
    log(path, form).append(record(1))
    with path.open("r+b") as file:
        file.truncate(len(path.read_bytes().splitlines(keepends=True)[0]))
    started_again()

    assert codes(path, form) == ["truncated"]


@EVERY
def test_what_a_log_carries_without_the_operators_key_does_not_count(path, started_again, form):
    def signer(body):
        return "ed25519 a2V5 c2lnbmF0dXJl"

    undone(path, form)
    announced = os.getxattr(path, "user.operable.announced")
    os.setxattr(path, "user.operable.announced", announced + f"{signer(b'')}\n".encode())
    started_again()
    log(path, form).append(record("on"))

    assert "damaged" in codes(path, form)


@pytest.mark.parametrize(
    "value", [b"", b"nonsense", b"boot x\0", b"boot x\x001 ab\n", b"boot x\0" + b"\xff" * 100]
)
def test_an_attribute_that_is_not_ours_announces_nothing(path, value):
    log(path).append(record(0))
    os.setxattr(path, "user.operable.announced", value)

    assert codes(path) == []
    log(path).append(record(1))
    assert (codes(path), sequence(path)) == ([], [0, 1])


def test_what_is_too_large_for_an_attribute_is_not_carried(path):
    path.touch()
    with path.open("r+b") as file:
        assert carry(file.fileno(), b"x" * 2048)
        assert not carry(file.fileno(), b"x" * 2049)


def test_a_file_system_that_keeps_no_order_carries_nothing():
    """Everything else than ext4 as it is by default gets its syncs."""
    assert not is_ordered(os.stat("/proc").st_dev)
    assert not is_ordered(os.stat("/dev/shm").st_dev)
    assert not is_ordered(os.makedev(4000, 4000))


def test_a_log_without_attributes_carries_nothing(tmp_path):
    assert carried(str(tmp_path / "none")) is None
    (tmp_path / "log").touch()
    assert carried(str(tmp_path / "log")) is None


@pytest.mark.skipif(
    not os.access("/dev/loop-control", os.W_OK),
    reason="only root with loop devices has a disk that can be cut off",
)
@pytest.mark.needs("mkfs.ext4", "unshare")
def test_no_power_cut_loses_what_was_acknowledged_or_looks_like_tampering(tmp_path):
    cuts = int(os.environ.get("OPERABLE_CAMPAIGN_CUTS", "12"))
    ran = subprocess.run(
        [*_PRIVATELY, sys.executable, "-m", "tests.state.power_cut", str(tmp_path), "--cuts", str(cuts)],
        capture_output=True,
        text=True,
        timeout=100 + 5 * cuts,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = json.loads(ran.stdout)
    assert counts["cuts"] == cuts
    assert counts["behind"] > 0, "no cut came between a record and its head: nothing was shown"
