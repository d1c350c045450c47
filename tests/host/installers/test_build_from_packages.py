"""The installers that can be run here are: on packages made by the test, without a network."""

import base64
import hashlib
import json
import os
import pwd
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from operable.host.launch.installer import MethodFailed
from tests.agents.install import DIRECTORY
from tests.host.installers.working import job, run
from tests.host.launch.making import calls, program, recorder
from tests.requirement import requirement


def says(path):
    return subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=200, check=True
    ).stdout.strip()


def npm_package(folder):
    folder.mkdir()
    (folder / "package.json").write_text(
        json.dumps({"name": "an-agent", "version": "1.4.0", "bin": {"agent": "./cli.js"}})
    )
    (folder / "cli.js").write_text("#!/usr/bin/env node\nconsole.log('agent 1.4.0')\n")
    (folder / "cli.js").chmod(0o755)
    return folder


@pytest.mark.needs("node", "npm")
@pytest.mark.timeout(300)
def test_npm_installs_into_a_private_folder(tmp_path):
    package = npm_package(tmp_path / "package")
    (where,) = run(job(tmp_path, "npm", real=True, package=f"file:{package}"))
    assert where == f"{tmp_path}/prefix/node_modules/.bin"
    (package / "cli.js").unlink()  # copied, not linked
    assert says(f"{where}/agent") == "agent 1.4.0"


def test_npm_installs_globally_only_when_the_manifest_says_so(tmp_path):
    recorder(tmp_path, "npm", 'test "$1" = prefix && echo /usr/global || true')
    (where,) = run(job(tmp_path, "npm", tmp_path, package="an-agent@1.2", global_=True))
    installing, asking = calls(tmp_path, "npm")
    assert installing[:2] == ["install", "--global"]
    assert installing[-2:] == ["--", "an-agent@1.2"]
    assert (asking, where) == (["prefix", "--global"], "/usr/global/bin")


def wheel(folder, needs=""):
    """The smallest wheel that has a program; `needs`: a Python."""
    info = "an_agent-1.4.0.dist-info"
    files = {
        "an_agent.py": "def main():\n    print('agent 1.4.0')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: an-agent\nVersion: 1.4.0\n"
        + (f"Requires-Python: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nagent = an_agent:main\n",
    }
    record = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(text)}")
    path = folder / "an_agent-1.4.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]))
    return path


@pytest.mark.timeout(300)
def test_pip_installs_into_a_virtual_environment_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (where,) = run(job(tmp_path, "pip", real=True, package=str(wheel(tmp_path))))
    assert where == f"{tmp_path}/prefix/bin"
    assert says(f"{where}/agent") == "agent 1.4.0"


@pytest.mark.timeout(300)
def test_pip_that_cannot_install_says_why(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(MethodFailed) as caught:
        run(job(tmp_path, "pip", real=True, package="no-such-package-anywhere"))
    assert "no-such-package-anywhere" in str(caught.value)


def other_pythons():
    """(minor version, path) of the Pythons of this machine that are not the one of the tests, and work."""
    folders = [
        *os.get_exec_path(),
        *map(str, (Path(os.path.expanduser("~root")) / ".pyenv/versions").glob("*/bin")),
    ]
    for minor in range(8, 30):
        for folder in folders:
            path = f"{folder}/python3.{minor}"
            check = [path, "-c", "import venv, ensurepip"]
            if minor != sys.version_info.minor and os.path.exists(path):
                if subprocess.run(check, capture_output=True, timeout=200, check=False).returncode == 0:
                    yield minor, path
                    break


@pytest.mark.timeout(300)
def test_pip_takes_another_python_where_the_package_needs_one(tmp_path, monkeypatch):
    others = list(other_pythons())
    if not others:
        pytest.skip("no other Python is installed")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    minor, path = others[-1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / f"python3.{minor}").symlink_to(path)
    # A name without a working program behind it is passed over, as a shim of pyenv is.
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / f"python3.{minor}").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "shims" / f"python3.{minor}").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/shims:{tmp_path}/bin:{os.environ['PATH']}")

    (where,) = run(job(tmp_path, "pip", real=True, package=str(wheel(tmp_path, f"==3.{minor}.*"))))

    assert says(f"{where}/agent") == "agent 1.4.0"
    assert os.path.exists(f"{where}/python3.{minor}")


@pytest.mark.timeout(300)
def test_pip_says_which_python_to_install_where_none_fits(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(MethodFailed, match=r"needs Python >=3\.39; this is 3\.") as caught:
        run(job(tmp_path, "pip", real=True, package=str(wheel(tmp_path, ">=3.39"))))
    assert "`python3.39` is on the PATH" in str(caught.value)


@pytest.mark.needs("go")
@pytest.mark.timeout(300)
def test_go_builds_into_a_private_folder(tmp_path, monkeypatch):
    module, version = "example.test/agent", "v1.4.0"
    proxy = tmp_path / "proxy" / module / "@v"
    proxy.mkdir(parents=True)
    (proxy / "list").write_text(f"{version}\n")
    (proxy / f"{version}.info").write_text(json.dumps({"Version": version}))
    (proxy / f"{version}.mod").write_text(f"module {module}\n\ngo 1.19\n")
    with zipfile.ZipFile(proxy / f"{version}.zip", "w") as archive:
        archive.writestr(f"{module}@{version}/go.mod", f"module {module}\n\ngo 1.19\n")
        archive.writestr(
            f"{module}@{version}/main.go", 'package main\n\nfunc main() { println("agent 1.4.0") }\n'
        )
    for name, value in {
        "GOPROXY": f"file://{tmp_path}/proxy",
        "GOSUMDB": "off",
        "GOFLAGS": "-modcacherw",
        "GOPATH": str(tmp_path / "gopath"),
        # What it compiles of Go itself, once for all runs: six seconds.
        "GOCACHE": str(DIRECTORY / "go-build"),
        "GOTOOLCHAIN": "local",
    }.items():
        monkeypatch.setenv(name, value)
    (where,) = run(job(tmp_path, "go", real=True, package=module))
    done = subprocess.run([f"{where}/agent"], capture_output=True, text=True, timeout=200, check=True)
    assert (where, done.stderr) == (f"{tmp_path}/prefix/bin", "agent 1.4.0\n")


@pytest.mark.needs("cargo")
@pytest.mark.timeout(300)
def test_cargo_builds_into_a_private_folder(tmp_path, monkeypatch):
    crate = tmp_path / "vendor" / "an-agent"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(
        '[package]\nname = "an-agent"\nversion = "1.4.0"\nedition = "2021"\n[[bin]]\nname = "agent"\npath = "src/main.rs"\n'
    )
    (crate / "src" / "main.rs").write_text('fn main() { println!("agent 1.4.0"); }\n')
    (crate / ".cargo-checksum.json").write_text('{"files": {}}')
    home = tmp_path / "cargo-home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "{tmp_path}/vendor"\n'
    )
    monkeypatch.setenv("CARGO_HOME", str(home))
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    if "RUSTUP_HOME" not in os.environ:  # rustup finds its toolchains by HOME, which is another one in tests
        monkeypatch.setenv("RUSTUP_HOME", os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".rustup"))
    (where,) = run(job(tmp_path, "cargo", real=True, package="an-agent@1.4.0"))
    assert where == f"{tmp_path}/prefix/bin"
    assert says(f"{where}/agent") == "agent 1.4.0"


@pytest.mark.needs("cargo")
@pytest.mark.timeout(300)
def test_cargo_builds_what_is_on_no_registry_from_its_repository(tmp_path, monkeypatch):
    source = tmp_path / "an-agent"
    (source / "src").mkdir(parents=True)
    (source / "Cargo.toml").write_text('[package]\nname = "an-agent"\nversion = "1.4.0"\nedition = "2021"\n')
    (source / "Cargo.lock").write_text('version = 3\n[[package]]\nname = "an-agent"\nversion = "1.4.0"\n')
    (source / "src" / "main.rs").write_text('fn main() { println!("agent 1.4.0"); }\n')
    git = ["git", "-C", str(source), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v1.4.0"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo-home"))
    if "RUSTUP_HOME" not in os.environ:  # as above
        monkeypatch.setenv("RUSTUP_HOME", os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".rustup"))
    package = f"git+file://{source}?tag=v1.4.0#an-agent"
    (where,) = run(job(tmp_path, "cargo", real=True, package=package))
    assert says(f"{where}/an-agent") == "agent 1.4.0"


@pytest.mark.parametrize(
    "package", ["git+http://h/x", "git+--config=x", "git+https://h/x?depth=1", "git+/tmp/x"]
)
def test_cargo_builds_from_no_address_that_it_would_read_as_something_else(tmp_path, package):
    with pytest.raises(MethodFailed, match="not an address"):
        run(job(tmp_path, "cargo", package=package))


def test_what_comes_with_the_manifest_is_run_where_it_is(tmp_path):
    vendored = program(tmp_path / "vendor" / "agent-bin")
    assert run(job(tmp_path, "vendored", path="vendor/agent-bin")) == [str(vendored)]


@requirement("aip-substrate:4.2:vendored-inside")
@pytest.mark.parametrize("path", ["/bin/sh", "../../bin/sh", "missing", "plain.txt", "link", "folder"])
def test_a_vendored_program_must_be_inside_and_executable(tmp_path, path):
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / "link").symlink_to("/bin/sh")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MethodFailed):
        run(job(tmp_path, "vendored", path=path))
