import hashlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from operable.host.launch.installer import InstallProgress, LocalMachine
from operable.kernel.errors import Fail
from operable.manifest.blocks import Install, Requires
from tests.cli.drive import alive
from tests.host.launch.making import agent, calls, launch, machine, program, recorder, server
from tests.requirement import requirement
from tests.tool.drive import eventually

VENDORED = Install(method="vendored", path="vendor/agent")


def installation(tmp_path, manifest, *folders, **fields):
    return launch(tmp_path, manifest, *folders, **fields).installation()


def leftovers(tmp_path):
    folder = tmp_path / "state" / "installs" / "agent@1"
    return os.listdir(folder) if folder.exists() else []


NPM = 'if [ "$1" = install ]; then mkdir -p "$3/node_modules/.bin"; printf "#!/bin/sh\\necho agent 1.5.0\\n" > "$3/node_modules/.bin/agent"; chmod +x "$3/node_modules/.bin/agent"; fi'


@requirement("aip-substrate:4.2:first-that-works", "aip45:lifecycle:install")
def test_the_first_method_that_fits_and_works_is_used(tmp_path):
    recorder(tmp_path, "npm", "exit 3")
    program(tmp_path / "vendor" / "agent")
    methods = (
        Install(method="choco", package="a"),
        Install(method="apt", package="b"),
        Install(method="npm", package="c"),
        VENDORED,
        Install(method="pip", package="never-tried"),
    )
    told: list[InstallProgress] = []
    found = installation(tmp_path, agent(install=methods), tmp_path, report=told.append).install()
    assert (found.binary, found.method) == (str(tmp_path / "vendor" / "agent"), "vendored")
    skipped = [each.message for each in told if each.stage == "skip"]
    assert [message.partition(":")[0] for message in skipped] == ["choco", "apt", "npm"]
    assert "this is linux" in skipped[0]
    assert "root" in skipped[1] or "no apt-get" in skipped[1]
    assert "ended with 3" in skipped[2]


@requirement("aip-substrate:4.2:unknown-method", "aip-substrate:4.12:4-experimental-method")
def test_an_unknown_method_is_skipped_with_a_warning(tmp_path):
    program(tmp_path / "vendor" / "agent")
    told: list[InstallProgress] = []
    methods = (Install(method="quantum", package="x", experimental=True), VENDORED)
    assert installation(tmp_path, agent(install=methods), report=told.append).install().method == "vendored"
    assert "quantum: this install method is not known and is skipped" in [each.message for each in told]


def test_when_nothing_works_every_reason_is_told(tmp_path):
    methods = (Install(method="scoop", package="a"), Install(method="curl", url="https://x.example/i.sh"))
    with pytest.raises(Fail) as caught:
        installation(tmp_path, agent(install=methods)).install()
    fail = caught.value
    assert (fail.code, fail.details["aip_code"]) == ("INSTALL_FAILED", "install_failed")
    attempts: Any = fail.details["attempts"]
    assert [attempt["method"] for attempt in attempts] == ["scoop", "curl"]
    assert "verify_sha256" in fail.message
    assert leftovers(tmp_path) == []


@requirement("aip-substrate:4.2:hash-mismatch")
def test_a_hash_that_does_not_match_ends_it_without_a_next_method(tmp_path):
    program(tmp_path / "vendor" / "agent")
    with server({"/agent": b"evil"}) as url:
        download = Install(method="download", url=f"{url}/agent", extract_bin="agent", verify_sha256="0" * 64)
        work = installation(tmp_path, agent(install=(download, VENDORED)))
        with pytest.raises(Fail) as caught:
            work.install()
    assert caught.value.details["actual_sha256"] == hashlib.sha256(b"evil").hexdigest()
    assert caught.value.details["expected_sha256"] == "0" * 64
    assert leftovers(tmp_path) == []


@requirement("aip-substrate:4.2:requires")
@pytest.mark.parametrize(
    "requires",
    [
        Requires(os=("darwin",)),
        Requires(arch=("arm64",)),
        Requires(min_disk_mb=10**12),
        Requires(min_memory_mb=10**9),
    ],
)
def test_a_bundle_that_cannot_live_here_is_not_installed(tmp_path, requires):
    program(tmp_path / "vendor" / "agent")
    with pytest.raises(Fail) as caught:
        installation(tmp_path, agent(install=(VENDORED,), requires=requires)).install()
    assert caught.value.code == "INSTALL_FAILED"
    assert "it needs" in caught.value.message


def test_a_program_on_the_search_path_need_not_be_installed(tmp_path):
    program(tmp_path / "bin" / "agent")
    found = installation(tmp_path, agent(install=(VENDORED,)), tmp_path / "bin").ensure()
    assert (found.binary, found.method) == (str(tmp_path / "bin" / "agent"), None)


def test_programs_beside_our_own_python_need_not_be_on_the_search_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "state").mkdir()
    work = launch(
        tmp_path, agent(bin=os.path.basename(sys.executable)), machine=LocalMachine.here()
    ).installation()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        assert work.locate().binary == sys.executable


def test_what_was_installed_is_preferred_to_the_search_path(tmp_path):
    program(tmp_path / "bin" / "agent")
    program(tmp_path / "vendor" / "agent")
    work = installation(tmp_path, agent(install=(VENDORED,)), tmp_path / "bin")
    work.install()
    assert work.locate().binary == str(tmp_path / "vendor" / "agent")


def test_an_installation_that_was_removed_is_forgotten(tmp_path):
    vendored = program(tmp_path / "vendor" / "agent")
    work = installation(tmp_path, agent(install=(VENDORED,)))
    work.install()
    vendored.unlink()
    assert work.locate() is None
    assert work.ledger.install("agent@1", work.source) is None


def test_a_manifest_with_the_same_id_does_not_get_the_others_program(tmp_path):
    program(tmp_path / "vendor" / "agent")
    program(tmp_path / "other" / "agent")
    installation(tmp_path, agent(install=(Install(method="vendored", path="other/agent"),))).install()
    assert installation(tmp_path, agent(install=(VENDORED,))).locate() is None


@pytest.mark.parametrize(
    "name, found", [("bin/agent", True), ("./bin/agent", True), ("../outside/agent", False)]
)
def test_a_bin_with_a_slash_is_a_file_beside_the_manifest(tmp_path, name, found):
    program(tmp_path / "bundle" / "bin" / "agent")
    program(tmp_path / "outside" / "agent")
    located = installation(tmp_path, agent(bin=name), folder=str(tmp_path / "bundle")).locate()
    assert (located is not None) == found


def test_a_copy_of_a_manifest_elsewhere_does_not_get_the_others_vendored_program(tmp_path):
    program(tmp_path / "one" / "vendor" / "agent")
    installation(tmp_path, agent(install=(VENDORED,)), folder=str(tmp_path / "one")).install()
    assert installation(tmp_path, agent(install=(VENDORED,)), folder=str(tmp_path / "two")).locate() is None


def test_a_private_installation_that_fails_leaves_nothing(tmp_path):
    recorder(tmp_path, "npm", 'mkdir -p "$3/node_modules"; echo half > "$3/node_modules/x"; exit 1')
    with pytest.raises(Fail):
        installation(tmp_path, agent(install=(Install(method="npm", package="a"),)), tmp_path).install()
    assert leftovers(tmp_path) == []


def test_one_that_ends_well_but_leaves_no_program_has_failed(tmp_path):
    program(tmp_path / "agent")  # on the search path, but not what npm was asked for
    recorder(tmp_path, "npm")
    with pytest.raises(Fail, match="installed no program"):
        installation(tmp_path, agent(install=(Install(method="npm", package="a"),)), tmp_path).install()
    assert leftovers(tmp_path) == []


def test_stopping_it_from_another_thread_leaves_nothing(tmp_path):
    os.mkfifo(tmp_path / "started")
    recorder(tmp_path, "npm", f'mkdir -p "$3/x"; echo > {tmp_path}/started; exec sleep 600')
    stop = threading.Event()

    def stop_it():
        (tmp_path / "started").read_text()
        stop.set()

    threading.Thread(target=stop_it, daemon=True).start()
    with pytest.raises(Fail) as caught:
        installation(
            tmp_path, agent(install=(Install(method="npm", package="a"), VENDORED)), tmp_path, stop=stop
        ).install()
    assert caught.value.category == "cancelled"
    assert leftovers(tmp_path) == []


INSTALL = """
import sys
from pathlib import Path
from typing import Any
from tests.cli.drive import alive
from tests.host.launch.making import agent, launch
from operable.manifest.blocks import Install
folder = Path(sys.argv[1])
found = launch(folder, agent(install=(Install(method="npm", package="a"),)), folder).installation().install()
print(found.binary)
"""


def start(tmp_path):
    return subprocess.Popen(
        [sys.executable, "-c", INSTALL, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )


@pytest.mark.timeout(400)
def test_killing_the_host_leaves_nothing_that_counts(tmp_path):
    os.mkfifo(tmp_path / "started")
    recorder(tmp_path, "npm", f'mkdir -p "$3/half"; echo $$ > {tmp_path}/started; exec sleep 600')
    host = start(tmp_path)
    try:
        installer = int((tmp_path / "started").read_text())
    finally:
        host.send_signal(signal.SIGKILL)
        host.communicate(timeout=200)
    eventually(lambda: not alive(installer), "the end of what the installer ran")
    assert len(leftovers(tmp_path)) == 1
    recorder(tmp_path, "npm", NPM)
    work = installation(tmp_path, agent(install=(Install(method="npm", package="a"),)), tmp_path)
    assert work.locate() is None
    binary = work.install().binary
    assert [os.path.join(tmp_path, "state", "installs", "agent@1", name) for name in leftovers(tmp_path)] == [
        binary.removesuffix("/node_modules/.bin/agent")
    ]


@pytest.mark.timeout(400)
def test_two_hosts_at_once_install_once(tmp_path):
    recorder(tmp_path, "npm", NPM)
    hosts = [start(tmp_path) for _ in range(3)]
    binaries = {host.communicate(timeout=300)[0] for host in hosts}
    assert len(binaries) == 1
    assert len(calls(tmp_path, "npm")) == 1


FULL = """
import resource, sys
from pathlib import Path
from tests.cli.drive import alive
from tests.host.launch.making import agent, launch
from operable.kernel.errors import Fail
from operable.manifest.blocks import Install
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
download = Install(method="download", url=sys.argv[2], extract_bin="agent", verify_sha256="0" * 64)
try:
    launch(Path(sys.argv[1]), agent(install=(download,))).installation().install()
except Fail as fail:
    print(fail.code, fail.details["attempts"][0]["reason"])
"""


def test_a_disk_that_is_full_is_a_reason_and_leaves_nothing(tmp_path):
    with server({"/agent": b"x" * 1_000_000}) as url:
        host = subprocess.run(
            [sys.executable, "-c", FULL, tmp_path, f"{url}/agent"],
            capture_output=True,
            text=True,
            timeout=200,
            check=True,
            cwd=Path(__file__).parents[3],
        )
    assert host.stdout.startswith("INSTALL_FAILED cannot fetch")
    assert "File too large" in host.stdout
    assert leftovers(tmp_path) == []


def test_installing_again_replaces_what_is_there(tmp_path):
    recorder(tmp_path, "npm", NPM)
    work = installation(tmp_path, agent(install=(Install(method="npm", package="a"),)), tmp_path)
    first = work.install().binary
    assert work.install().binary == first
    second = work.install(again=True).binary
    assert second != first
    assert work.locate().binary == second
    assert len(calls(tmp_path, "npm")) == 2


def test_the_machine_decides_what_fits(tmp_path):
    recorder(tmp_path, "choco", f"cp {program(tmp_path / 'made')} {tmp_path}/agent")
    manifest = agent(install=(Install(method="brew", package="x"), Install(method="choco", package="agent")))
    work = installation(tmp_path, manifest, tmp_path, machine=machine(tmp_path, system="windows"))
    assert work.install().binary == str(tmp_path / "agent")
