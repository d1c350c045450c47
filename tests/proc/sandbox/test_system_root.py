"""What an enclosure with a root of its own sees of the system, and that it stays as it was shown."""

import os
import time
from pathlib import Path

import pytest

from operable.proc.run import output
from operable.proc.sandbox import system_root
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.sandbox.entry import Read
from operable.proc.spawn import prepare

bubblewrap = pytest.mark.needs("bwrap")
WAYS = pytest.mark.parametrize("tree", [True, False], ids=["tree", "group"])


def inside(script: str, folder: Path, *, tree: bool = False, network: bool = False) -> str:
    place = Confinement(cwd=str(folder), writable={str(folder): str(folder)}, root="system", network=network)
    command = sandbox("bubblewrap").wrap(prepare(["sh", "-c", script])._replace(tree=tree), place)
    done = output(command, timeout=200)
    assert done.status == 0, done
    return done.stdout.decode()


@bubblewrap
@WAYS
def test_a_copied_setting_is_what_the_host_has(tmp_path: Path, tree):
    shown = inside("cat /etc/nsswitch.conf", tmp_path, tree=tree)

    assert shown == Path("/etc/nsswitch.conf").read_text()


@bubblewrap
def test_what_was_copied_can_neither_be_written_nor_replaced(tmp_path: Path):
    script = (
        "for f in /etc/passwd /etc/nsswitch.conf /etc/ld.so.cache; do "
        "( echo x >> $f ) 2> /dev/null && echo wrote; rm -f $f 2> /dev/null && echo removed; "
        "chmod 666 $f 2> /dev/null && echo changed; mv $f $f.old 2> /dev/null && echo moved; done; "
        "touch /etc/new 2> /dev/null && echo made; wc -l < /etc/passwd"
    )

    assert inside(script, tmp_path).split() == ["2"]


@bubblewrap
def test_it_names_no_user_group_or_host_of_ours(tmp_path: Path):
    etc = Path(system_root.__file__).with_name("etc")

    for name in ("passwd", "group", "hosts"):
        assert inside(f"cat /etc/{name}", tmp_path) == (etc / name).read_text()


@bubblewrap
def test_with_the_network_of_the_host_names_are_resolved_as_there(tmp_path: Path):
    assert inside("cat /etc/hosts", tmp_path, network=True) == Path("/etc/hosts").read_text()


@bubblewrap
def test_the_time_zone_is_that_of_the_host(tmp_path: Path):
    assert inside("date +%z", tmp_path) == output(prepare(["date", "+%z"])).stdout.decode()


def test_a_link_into_what_is_shown_anyway_is_a_link_again(tmp_path: Path, monkeypatch):
    program = "/usr/bin/env"
    (tmp_path / "zone").symlink_to(program)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "small")
    (tmp_path / "small").write_text("text")
    (tmp_path / "large").write_bytes(bytes(1024 * 1024))
    (tmp_path / "folder").mkdir()
    names = ("zone", "elsewhere", "small", "large", "folder", "absent")
    monkeypatch.setattr(system_root, "_SETTINGS", tuple(str(tmp_path / name) for name in names))
    system_root._system.cache_clear()
    try:
        words = system_root.shown(network=False)
    finally:
        system_root._system.cache_clear()

    zone, small, large, folder = (str(tmp_path / name) for name in ("zone", "small", "large", "folder"))
    assert words[words.index(zone) - 2 : words.index(zone)] == ["--symlink", os.path.realpath(program)]
    for path in (small, str(tmp_path / "elsewhere")):
        at = words.index(path)
        assert words[at - 4 : at] == ["--perms", "0444", "--file", Read(small)]
    for path in (large, folder):
        at = max(position for position, word in enumerate(words) if word == path)
        assert words[at - 2 : at] == ["--ro-bind", path]
    assert str(tmp_path / "absent") not in words


@pytest.mark.parametrize("settled", [0, 1 << 62], ids=["kept", "looked up each time"])
def test_a_name_that_is_new_is_seen_by_the_next_command(tmp_path: Path, monkeypatch, settled):
    late = str(tmp_path / "late")
    monkeypatch.setattr(system_root, "_SETTINGS", (late,))
    monkeypatch.setattr(system_root, "_SETTLED_NS", settled)
    monkeypatch.setattr(system_root, "_stamps", lambda: (os.path.exists(late),))
    system_root._system.cache_clear()
    try:
        assert late not in system_root.shown(network=False)
        Path(late).write_text("text")
        assert late in system_root.shown(network=False)
        os.unlink(late)
        assert late not in system_root.shown(network=False)
    finally:
        system_root._system.cache_clear()


def test_every_change_of_a_name_is_a_new_stamp(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(system_root, "_NAMING", (str(tmp_path), str(tmp_path / "nowhere")))
    folder = str(tmp_path)
    path = tmp_path / "name"
    before = system_root._stamps()
    deadline = time.monotonic() + 60
    # The clock of the file system ticks: until it has, two changes are one.
    while system_root._stamps() == before and time.monotonic() < deadline:
        path.touch()
        path.unlink()

    assert system_root._stamps() != before
    assert system_root._stamps()[0] == os.stat(folder).st_ino
