"""`./dev` tells what it can do and refuses what it cannot, on the plain Python of the machine."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.documentation import ROOT


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", ROOT / "dev", *arguments],
        capture_output=True,
        text=True,
        env={},
        stdin=subprocess.DEVNULL,
        timeout=200,
        check=False,
    )


@pytest.fixture(scope="module")
def source():
    loader = importlib.machinery.SourceFileLoader("dev", str(ROOT / "dev"))
    spec = importlib.util.spec_from_loader("dev", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_help_names_every_command(source):
    help = dev("help")

    assert help.returncode == 0
    for command in source.COMMANDS:
        assert f"./dev {command} " in help.stdout


@pytest.mark.parametrize("arguments", [["nonsense"], ["setup", "quickly"]])
def test_what_does_not_exist_is_refused_in_one_line(arguments):
    refused = dev(*arguments)

    assert refused.returncode == 1
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1


def test_what_setup_prepares_says_nothing_of_its_own(source, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # it is taken out, and is to be there again

    source.compile_sources()

    assert capfd.readouterr() == ("", "")


def test_the_lock_pins_every_package_by_hash_and_names_no_index(source):
    lock = (ROOT / "requirements.lock").read_text("utf-8")

    assert source.package_names(lock) >= {"msgspec", "rich", "jsonschema-rs", "pip", "hatchling", "pytest"}
    assert "://" not in lock
    options, pins = lock.split("\n\n", 1)
    assert options == "--no-binary claude-agent-sdk"  # its wheels bring an agent of 350 MB
    for pin in re.split(r"\n(?=\S)", pins):
        assert re.match(r"[\w.-]+(\[[\w, -]+\])?==", pin)
        assert "--hash=sha256:" in pin


def test_a_package_is_the_same_however_its_name_is_written(source):
    assert (
        source.package_names("ruamel.yaml==1\n")
        == source.package_names("ruamel-yaml==2\n")
        == {"ruamel-yaml"}
    )


def test_a_package_that_is_pinned_with_extras_is_not_surplus(source):
    assert source.package_names("psycopg[binary]==3.3.8\n") == {"psycopg"}


def test_every_extra_that_a_locked_package_asks_for_is_in_the_lock(source):
    """Pip refuses, with hashes, an extra of a package that is pinned without it."""
    lock = (ROOT / "requirements.lock").read_text("utf-8")

    pinned = set(re.findall(r"^[\w.-]+(?:\[[\w, -]+\])?(?===)", lock, re.MULTILINE))

    asked = {
        f"{name}[{', '.join(sorted(extras))}]" for name, extras in asked_extras(source.package_names(lock))
    }
    assert "psycopg[binary]" in asked
    assert asked <= pinned


def asked_extras(locked):
    """The extras that installed packages of the lock ask of other packages, here and now."""
    for name in locked:
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform or Python
        for text in requirements:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if requirement.extras and applies:
                yield requirement.name.lower(), requirement.extras


def test_a_changed_lock_changes_the_stamp(source, tmp_path, monkeypatch):
    before = source.wanted_stamp()
    lock = tmp_path / "requirements.lock"
    lock.write_text("msgspec==0.22.0")
    monkeypatch.setattr(source, "LOCK", str(lock))

    assert source.wanted_stamp() != before


@pytest.mark.parametrize(
    ("failures", "second", "code", "named"),
    [
        pytest.param(1, "passes", 0, ["test_unsteady.py::test_again[0]"], id="what passes alone is named"),
        pytest.param(1, "fails", 1, [], id="what fails again is broken"),
        pytest.param(6, "passes", 1, [], id="many failures are not run again"),
    ],
)
def test_few_failed_tests_run_once_more(source, tmp_path, monkeypatch, capfd, failures, second, code, named):
    """A project whose tests fail in their first run."""
    is_again = f"pathlib.Path(__file__).with_name(f'ran-{{number}}').exists() and {second == 'passes'}"
    (tmp_path / "test_unsteady.py").write_text(
        "import pathlib, pytest\n"
        f"@pytest.mark.parametrize('number', range({failures}), ids=str)\n"
        f"def test_again(number):\n    ok = {is_again}\n"
        "    pathlib.Path(__file__).with_name(f'ran-{number}').touch()\n    assert ok\n"
    )
    monkeypatch.setattr(source, "ROOT", str(tmp_path))
    monkeypatch.setattr(source, "PYTHON", sys.executable)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist"]
    assert subprocess.run(command, cwd=tmp_path, timeout=200, check=False).returncode == source.TESTS_FAILED
    capfd.readouterr()

    assert source.test_again("-p", "no:xdist", "--costs=x") == code

    shown = capfd.readouterr().err
    assert re.findall(r"^\[dev\]   (\S+)$", shown, re.MULTILINE) == named


@pytest.mark.needs("unshare")
def test_the_files_of_a_whole_run_are_in_memory_and_gone_with_it(source, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = 'cd "$0"/*/ && echo made > file && stat -f -c %T file'

    command = source.in_memory("sh", "-c", script, str(tmp_path))

    if command[0] != "unshare":
        pytest.skip("this machine does not let us mount, or has too little memory")
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout == "tmpfs\n"
    (folder,) = tmp_path.iterdir()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("gigabytes", "user"), [(9, 0), (99, 1000)])
def test_without_memory_or_the_right_to_mount_they_are_on_the_disk(
    source, tmp_path, monkeypatch, gigabytes, user
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(source, "free_memory", lambda: gigabytes << 30)
    monkeypatch.setattr(os, "geteuid", lambda: user)

    assert source.in_memory("sh", "-c", "true") == ["sh", "-c", "true"]
    assert list(tmp_path.iterdir()) == []
