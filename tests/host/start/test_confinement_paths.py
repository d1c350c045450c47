"""What a sandbox must show for a program to run: the chain of files that real installations are made of."""

import os
import sys
from pathlib import Path

import pytest

from operable.host.start.confinement_paths import program_folders


def script(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


def test_a_link_shows_both_of_its_folders(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "agent").write_bytes(b"\x7fELF")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(tmp_path / "real" / "agent")
    assert program_folders(str(tmp_path / "bin" / "agent")) == (str(tmp_path / "bin"), str(tmp_path / "real"))


def test_a_launcher_shows_what_it_starts_and_the_packages_beside_it(tmp_path: Path) -> None:
    modules = tmp_path / "store" / "node_modules"
    entry = script(modules / "@a" / "agent" / "dist" / "index.js", "#!/usr/bin/env node")
    node = script(tmp_path / "node" / "bin" / "node", "#!/bin/sh")
    launcher = script(tmp_path / "bin" / "agent", "#!/bin/sh", f'exec "{node}" "{entry}" "$@"')
    assert set(program_folders(str(launcher))) == {
        str(tmp_path / "bin"),
        str(tmp_path / "node" / "bin"),
        str(modules),
    }


def test_an_interpreter_that_is_found_by_name_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = script(tmp_path / "runtime" / "bin" / "odd", "#!/bin/sh")
    monkeypatch.setenv("PATH", f"{interpreter.parent}:{os.environ['PATH']}")
    program = script(tmp_path / "bin" / "agent", "#!/usr/bin/env -S odd --flag")
    assert set(program_folders(str(program))) == {str(tmp_path / "bin"), str(interpreter.parent)}


def test_a_virtual_environment_is_shown_with_its_base_and_its_editable_packages(tmp_path: Path) -> None:
    environment, source = tmp_path / "venv", tmp_path / "source"
    source.mkdir()
    script(environment / "pyvenv.cfg", "home = x")
    packages = environment / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "_editable.pth").write_text(f"{source}\nimport os\n")
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(sys.executable)
    program = script(environment / "bin" / "agent", f"#!{environment}/bin/python")
    folders = program_folders(str(program))
    assert {str(environment), str(source)} <= set(folders)
    real = os.path.realpath(sys.executable)
    if not real.startswith("/usr/"):
        assert os.path.dirname(os.path.dirname(real)) in folders


@pytest.mark.parametrize("name", ["python", "python3"])
def test_an_interpreter_that_is_the_program_is_shown_with_its_editable_packages(
    tmp_path: Path, name: str
) -> None:
    environment, source, mapped = tmp_path / "venv", tmp_path / "source", tmp_path / "mapped" / "package"
    packages = environment / "lib" / "python3.11" / "site-packages"
    for folder in (source, mapped, packages, environment / "bin"):
        folder.mkdir(parents=True)
    script(environment / "pyvenv.cfg", "home = x")
    (packages / "_editable.pth").write_text(f"{source}\n{os.path.expanduser('~')}\n")
    (packages / "__editable__x.pth").write_text(
        "import __editable___x_finder; __editable___x_finder.install()"
    )
    (packages / "__editable___x_finder.py").write_text(f"MAPPING = {{'package': '{mapped}'}}\n")
    (environment / "bin" / name).symlink_to(sys.executable)

    folders = program_folders(str(environment / "bin" / name))

    assert {str(environment), str(source), str(mapped)} <= set(folders)
    assert os.path.expanduser("~") not in folders  # nothing makes a home visible


def test_what_lies_in_a_private_place_is_shown_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    program = script(tmp_path / "agent", "#!/bin/sh", "exec /etc/passwd")
    assert program_folders(str(program)) == (str(program), "/etc/passwd")


def test_a_system_program_needs_nothing() -> None:
    assert program_folders("/usr/bin/env") == ()


def test_a_chain_in_a_circle_ends(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "x", tmp_path / "b" / "y"
    script(first, "#!/bin/sh", f"exec {second}")
    script(second, "#!/bin/sh", f"exec {first}")
    assert set(program_folders(str(first))) == {str(first.parent), str(second.parent)}


def test_a_script_is_shown_with_the_folders_of_its_interpreter_and_packages(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "agent" / "dist"
    package.mkdir(parents=True)
    (package / "cli.js").write_text(f"#!{sys.executable}\n")
    link = tmp_path / "bin" / "agent"
    link.parent.mkdir()
    os.symlink(package / "cli.js", link)

    found = program_folders(str(link))

    assert str(tmp_path / "lib" / "node_modules") in found
    assert os.path.dirname(os.path.dirname(sys.executable)) in found
