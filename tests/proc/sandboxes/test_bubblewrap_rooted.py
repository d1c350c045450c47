"""Root of a room rules the room's network, and nothing that is read-only there becomes writable."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from operable.proc.run import output
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.sandbox.loopback import Loopback
from operable.proc.spawn import prepare

pytestmark = [pytest.mark.needs("bwrap", "nsenter", "unshare"), pytest.mark.timeout(120)]


@pytest.fixture
def network() -> Iterator[Loopback]:
    box = sandbox("bubblewrap")
    assert box.loopback is not None
    made = box.loopback()
    yield made
    made.close()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file that is not there, in a folder of the host that we may write to and that is shown inside."""
    path = Path("/var/tmp") / f"operable-{uuid.uuid4().hex}"
    yield path
    path.unlink(missing_ok=True)


def rooted(script: str, network: Loopback) -> str:
    confinement = Confinement(cwd="/", loopback=network, rooted=True)
    return output(sandbox("bubblewrap").wrap(prepare(["sh", "-c", script]), confinement)).stdout.decode()


REMOUNT = "mount -o remount,bind,rw /"


@pytest.mark.parametrize(
    "way",
    [
        "true",
        REMOUNT,
        f"unshare --mount {REMOUNT}",
        f"unshare --user --map-root-user --mount sh -c '{REMOUNT}; touch FILE'",
        "unshare --user --map-root-user --mount sh -c 'mount --rbind / /mnt; touch /mntFILE'",
        "nsenter --mount=/proc/1/ns/mnt touch FILE",
    ],
)
def test_root_of_a_room_cannot_write_outside(network: Loopback, outside: Path, way):
    told = rooted(f"id -u; {way}; touch FILE".replace("FILE", str(outside)), network)

    assert told == "0\n"
    assert not outside.exists()


def test_root_of_a_room_can_mount_in_a_namespace_of_its_own(network: Loopback):
    inside = "mount -t tmpfs none /mnt && touch /mnt/x && ls /mnt"

    assert rooted(f"unshare --user --map-root-user --mount sh -c '{inside}'", network) == "x\n"


@pytest.mark.needs("ip")
@pytest.mark.skipif(os.geteuid() != 0, reason="a network belongs to the user namespace of who is not root")
def test_root_of_a_room_gives_its_network_interfaces_that_others_in_it_see(network: Loopback):
    rooted("ip link add one type veth peer name two", network)
    confinement = Confinement(cwd="/", loopback=network)

    seen = output(sandbox("bubblewrap").wrap(prepare(["ip", "-brief", "link"]), confinement)).stdout.decode()

    assert {line.partition("@")[0].split()[0] for line in seen.splitlines()} == {"lo", "one", "two"}
