"""The installers whose programs cannot be run here are held to the words that they would be given."""

import pytest

from operable.host.launch.installer import MethodFailed, installer
from operable.kernel.catalogue import names
from operable.manifest.blocks import INSTALL_METHODS
from tests.host.installers.working import job, run
from tests.host.launch.making import calls, machine, recorder
from tests.requirement import requirement

WORDS = {
    "brew": [["install", "--quiet", "--", "thing"], ["--prefix"]],
    "apt": [
        ["-q", "-o", "DPkg::Lock::Timeout=60", "install", "-y", "--no-install-recommends", "--", "thing"]
    ],
    "dnf": [["install", "-y", "--setopt=install_weak_deps=False", "thing"]],
    "pacman": [["-S", "--noconfirm", "--needed", "--", "thing"]],
    "choco": [["install", "thing", "--yes", "--no-progress"]],
    "scoop": [["install", "thing"]],
}
PROGRAMS = {"apt": "apt-get"}
SYSTEMS = {"choco": "windows", "scoop": "windows"}


def test_every_method_of_the_standard_has_an_installer():
    package = __import__("operable.host.installers", fromlist=["x"])
    assert names(package.__path__[0]) == sorted(INSTALL_METHODS)
    assert [installer(name).name for name in sorted(INSTALL_METHODS)] == sorted(INSTALL_METHODS)


@pytest.mark.parametrize("method", WORDS)
def test_a_package_manager_gets_exactly_these_words(tmp_path, method):
    recorder(tmp_path, PROGRAMS.get(method, method), 'test "$1" = --prefix && echo /opt/brew || true')
    where = run(job(tmp_path, method, tmp_path, system=SYSTEMS.get(method, "linux"), package="thing"))
    assert calls(tmp_path, PROGRAMS.get(method, method)) == WORDS[method]
    assert where[:1] == (["/opt/brew/bin"] if method == "brew" else [])


def test_apt_never_asks(tmp_path):
    recorder(tmp_path, "apt-get", f'echo "$DEBIAN_FRONTEND" > {tmp_path}/asked')
    run(job(tmp_path, "apt", tmp_path, package="thing"))
    assert (tmp_path / "asked").read_text() == "noninteractive\n"


@requirement("aip-substrate:4.2:privilege")
@pytest.mark.parametrize("method", ["apt", "dnf", "pacman"])
def test_who_changes_the_system_needs_to_be_root_and_says_so(tmp_path, method):
    recorder(tmp_path, PROGRAMS.get(method, method))
    why = installer(method).unfit(machine(tmp_path, privileged=False))
    assert "root" in str(why)
    assert installer(method).unfit(machine(tmp_path, privileged=True)) is None


@pytest.mark.parametrize("method", [*WORDS, "npm", "cargo", "go"])
def test_a_manager_that_is_not_there_does_not_fit(tmp_path, method):
    empty = machine(tmp_path, system=SYSTEMS.get(method, "linux"), privileged=True)
    nowhere = type(empty)(empty.os, empty.arch, empty.privileged, path=str(tmp_path))
    assert "there is no" in str(installer(method).unfit(nowhere))


@pytest.mark.parametrize(
    "method, system", [("apt", "darwin"), ("choco", "linux"), ("brew", "windows"), ("pacman", "windows")]
)
def test_a_manager_of_another_system_does_not_fit(method, system):
    assert system in str(installer(method).unfit(machine(system=system, privileged=True)))


@pytest.mark.parametrize("package", ["-rf", "--global", "", "a\nb"])
def test_a_package_is_never_taken_for_an_option(tmp_path, package):
    recorder(tmp_path, "brew")
    with pytest.raises(MethodFailed):
        run(job(tmp_path, "brew", tmp_path, package=package))
    assert calls(tmp_path, "brew") == []


def test_what_a_failing_manager_said_is_kept_without_its_secrets(tmp_path):
    recorder(
        tmp_path, "dnf", "echo 'no such package; token=ghp_0123456789abcdefghijABCDEFGHIJ012345' >&2; exit 7"
    )
    with pytest.raises(MethodFailed) as caught:
        run(job(tmp_path, "dnf", tmp_path, package="thing"))
    assert "ended with 7: no such package" in str(caught.value)
    assert "ghp_0123456789" not in str(caught.value)


def test_an_installer_gets_no_secrets_of_its_host(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    recorder(tmp_path, "scoop", f"env > {tmp_path}/env")
    run(job(tmp_path, "scoop", tmp_path, system="windows", package="thing"))
    seen = (tmp_path / "env").read_text()
    assert "AWS_SECRET_ACCESS_KEY" not in seen
    assert "HTTPS_PROXY=http://proxy.example" in seen


@pytest.mark.needs("apt-get")
def test_the_real_apt_understands_these_words(tmp_path, monkeypatch):
    (tmp_path / "apt.conf").write_text('APT::Get::Simulate "true";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    assert run(job(tmp_path, "apt", real=True, package="coreutils")) == []
    with pytest.raises(MethodFailed, match="no-such-package-anywhere"):
        run(job(tmp_path, "apt", real=True, package="no-such-package-anywhere"))
