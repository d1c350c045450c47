import sys

import pytest

from operable.host.launch.installer import LocalMachine
from operable.manifest.blocks import Requires
from tests.host.launch.making import program

LINUX = LocalMachine("linux", "x64", privileged=False, memory_mb=1000)


@pytest.mark.parametrize(
    "requires, word",
    [
        (Requires(os=("darwin", "windows")), "this is linux"),
        (Requires(arch=("arm64",)), "x64"),
        (Requires(min_memory_mb=2000), "memory"),
        (Requires(min_disk_mb=10**12), "disk"),
    ],
)
def test_what_a_bundle_needs_and_does_not_get_is_named(tmp_path, requires, word):
    assert word in str(LINUX.unmet(requires, str(tmp_path)))


def test_what_is_there_is_no_obstacle(tmp_path):
    requires = Requires(os=("linux",), arch=("arm64", "x64"), min_memory_mb=1000, min_disk_mb=1)
    assert LINUX.unmet(requires, str(tmp_path)) is None
    unsaid = LocalMachine("linux", "x64", privileged=False)
    assert unsaid.unmet(Requires(min_memory_mb=10**9), str(tmp_path)) is None


@pytest.mark.skipif(sys.platform != "linux", reason="says what a Linux machine is")
def test_this_machine_is_described_in_the_words_of_manifests():
    here = LocalMachine.here()
    assert here.os == "linux"
    assert here.arch in ("x64", "arm64", "x86", "arm")
    assert (here.memory_mb or 0) > 100


def test_relative_folders_of_the_search_path_are_never_searched(tmp_path, monkeypatch):
    program(tmp_path / "tool")
    monkeypatch.chdir(tmp_path)
    assert LocalMachine("linux", "x64", privileged=False, path=":.:").program("tool") is None
    assert LocalMachine("linux", "x64", privileged=False, path=f":.:{tmp_path}").program("tool") == str(
        tmp_path / "tool"
    )
