import os
import shutil
import subprocess
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.sandboxes import bubblewrap
from operable.proc.spawn import launch, prepare
from operable.proc.tree.group import Group
from operable.proc.tree.warden import WARDEN

pytestmark = pytest.mark.needs("bwrap")


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
