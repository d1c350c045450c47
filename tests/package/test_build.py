"""`./dev build`: that what it makes is whole, and that it says what is missing when it is not."""

import shutil
import zipfile
from pathlib import Path

import pytest

from tools import distribution
from tools.distribution import Distribution


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Distribution:
    return distribution.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture
def altered(made: Distribution, tmp_path):
    """`altered(drop, add)`: the same two files, with a wheel that lacks some and has others."""

    def alter(drop: str, add: str = "") -> Distribution:
        wheel = tmp_path / made.wheel.name
        with zipfile.ZipFile(made.wheel) as old, zipfile.ZipFile(wheel, "w") as new:
            for name in old.namelist():
                if not drop or drop not in name:
                    new.writestr(name, old.read(name))
            if add:
                new.writestr(add, "raise RuntimeError('no')\n")
        return made._replace(wheel=wheel)

    return alter


def test_sdist_and_wheel_are_whole_and_every_module_can_be_imported(made):
    assert distribution.problems(made) == []


@pytest.mark.parametrize(
    "name",
    ["operable/serve/web/index.html", "operable/host/agents/claude-code/AGENT-CLI.md", "operable/py.typed"],
)
def test_a_wheel_without_a_data_file_is_refused(altered, monkeypatch, name):
    monkeypatch.setattr(distribution, "_import_problems", lambda _: [])

    assert distribution.problems(altered(name)) == [f"the wheel lacks {name}"]


def test_a_file_that_git_does_not_know_and_a_module_that_fails_are_refused(altered):
    assert distribution.problems(altered("", "operable/surplus.py")) == [
        "the wheel has operable/surplus.py, which git does not know",
        "cannot be imported: operable.surplus: RuntimeError: no",
    ]


def test_a_wheel_without_the_license_is_refused(altered, monkeypatch):
    monkeypatch.setattr(distribution, "_import_problems", lambda _: [])

    assert distribution.problems(altered("licenses/LICENSE")) == [
        "metadata: the text of the license is missing"
    ]


def test_the_image_is_built_from_the_files_that_it_is_given(tmp_path):
    """The steps of the Dockerfile that need no engine: what is copied is enough to build, and the start is a script."""
    lines = (distribution.ROOT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [
        word
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    allowed = (distribution.ROOT / ".dockerignore").read_text("utf-8").split()
    for name in copied:
        assert f"!{name}" in allowed
        source = distribution.ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)

    distribution._hatchling(tmp_path, "wheel", tmp_path / "dist")

    (wheel,) = Path(tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.read(
            next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        ).decode()
    entrypoint = next(line for line in lines if line.startswith("ENTRYPOINT"))
    assert '"operable"]' in entrypoint
    assert "\noperable = " in entries
    stages = "\n".join(lines).split("\nFROM ")
    assert "\nUSER operable\n" in stages[-1]
    assert stages[-1].index("RUN apt-get") < stages[-1].index("USER operable")
