"""`./dev build`: the sdist and the wheel in `dist/`, and whether they are whole.

The wheel is made from the unpacked sdist, as an installer makes it: what the sdist lacks, the wheel lacks too. Then both are
compared with the sources that git knows, the metadata with pyproject.toml and the command line with its entry points, and
every module of the wheel is imported by an interpreter that sees the wheel and the packages of .venv, but not the sources.

    python -m tools.distribution [FOLDER]
"""

import email
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from configparser import RawConfigParser
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
LIMIT = 300  # seconds for one step
# Without these the product starts and then fails: the page, the schemas, agents, wrappers, templates, skills.
DATA = (
    "operable/py.typed",
    "operable/serve/web/index.html",
    "operable/spec/requirements.toml",
    "operable/spec/schemas/manifest-agent-cli.schema.json",
    "operable/host/agents/claude-code/AGENT-CLI.md",
    "operable/host/agents/operable-agent/AGENT-CLI.md",
    "operable/wrap/wrappers/git/CLI.md",
    "operable/wrap/wrappers/git/history.py",
    "operable/app/template/APP.md.in",
    "operable/cli/starter/client.py.in",
    "operable/cli/starter/template/NAME.py.in",
    "operable/flow/skills/manifest-authoring/SKILL.md",
    "operable/examples/outline/cli.py",
)
# Every module that can be imported by its name; wrappers and templates are data.
IMPORT_ALL = """
import os, sys
root = sys.argv[1]
sys.path.insert(0, root)
failed = []
for folder, folders, files in os.walk(os.path.join(root, "operable")):
    folders[:] = sorted(name for name in folders if os.path.exists(os.path.join(folder, name, "__init__.py")))
    for file in sorted(files):
        name = os.path.relpath(os.path.join(folder, file), root)
        if not name.endswith(".py") or file == "__main__.py":
            continue
        name = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        try:
            __import__(name)
        except Exception as error:
            if getattr(error, "code", "") != "EXTRA_MISSING":
                failed.append(f"{name}: {type(error).__name__}: {error}")
assert sys.modules["operable"].__file__.startswith(root), sys.modules["operable"].__file__
print(*failed, sep="\\n")
"""


class Distribution(NamedTuple):
    sdist: Path
    wheel: Path


def build(folder: Path) -> Distribution:
    """The two files, in a folder that is made. Raises CalledProcessError with what hatchling said."""
    folder.mkdir(parents=True, exist_ok=True)
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    made = Distribution(folder / f"{stem}.tar.gz", folder / f"{stem}-py3-none-any.whl")
    _hatchling(ROOT, "sdist", folder)
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(made.sdist) as archive:
            archive.extractall(scratch, filter="data")
        _hatchling(Path(scratch) / stem, "wheel", folder)
    return made


def problems(made: Distribution) -> list[str]:
    """What is wrong with them, one line each; nothing if they can be given to others."""
    with tarfile.open(made.sdist) as archive:
        prefix = made.sdist.name.removesuffix(".tar.gz") + "/"
        packed = {member.name.removeprefix(prefix) for member in archive if member.isfile()}
    found = [f"the sdist lacks {name}" for name in sorted({*_sources(), *_project_files()} - packed)]
    with zipfile.ZipFile(made.wheel) as archive:
        names = set(archive.namelist())
        wanted = {name.removeprefix("src/") for name in _sources()} | set(DATA) | _manuals()
        found += [f"the wheel lacks {name}" for name in sorted(wanted - names)]
        ours = {name for name in names if ".dist-info/" not in name}
        found += [f"the wheel has {name}, which git does not know" for name in sorted(ours - wanted)]
        found += _metadata_problems(archive)
        with tempfile.TemporaryDirectory() as scratch:
            archive.extractall(scratch)
            found += _import_problems(scratch)
    return found


def _metadata_problems(archive: zipfile.ZipFile) -> list[str]:
    project = _project()
    info = f"{project['name']}-{project['version']}.dist-info"
    metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    scripts = RawConfigParser()
    scripts.optionxform = str  # type: ignore[assignment]  # names keep their case
    scripts.read_string(archive.read(f"{info}/entry_points.txt").decode())
    wanted: dict[str, Any] = {
        "version": project["version"],
        "requires": project["requires-python"],
        "extras": sorted(project["optional-dependencies"]),
        "scripts": project["scripts"],
        "license": "Apache-2.0",
        "readme": "text/markdown",
        "base packages": len(project["dependencies"]),
    }
    stated = {
        "version": metadata["Version"],
        "requires": metadata["Requires-Python"],
        "extras": sorted(metadata.get_all("Provides-Extra", [])),
        "scripts": dict(scripts["console_scripts"]),
        "license": metadata["License-Expression"],
        "readme": metadata["Description-Content-Type"],
        "base packages": sum(";" not in line for line in metadata.get_all("Requires-Dist", [])),
    }
    wrong = [
        f"metadata: {name} is {stated[name]!r}, not {value!r}"
        for name, value in wanted.items()
        if stated[name] != value
    ]
    licensed = f"{info}/licenses/LICENSE" in archive.namelist()
    return wrong if licensed else [*wrong, "metadata: the text of the license is missing"]


def _import_problems(unpacked: str) -> list[str]:
    # -I: neither the folder of this process nor PYTHONPATH; .venv's path to the sources comes after the wheel.
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", IMPORT_ALL, os.path.realpath(unpacked)],
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    if done.returncode:
        return [f"importing all modules ended with {done.returncode}: {done.stderr[-2000:]}"]
    return [f"cannot be imported: {line}" for line in done.stdout.splitlines() if line]


def _sources() -> list[str]:
    return [name for name in _tracked("src") if os.path.exists(ROOT / name)]


def _manuals() -> set[str]:
    """Where the wheel has the manual pages, which an installer puts below its prefix."""
    project = _project()
    folder = f"{project['name']}-{project['version']}.data/data/share/man/man1"
    return {f"{folder}/{Path(name).name}" for name in _tracked("docs/man")}


def _project_files() -> tuple[str, ...]:
    return ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO")


def _tracked(folder: str) -> list[str]:
    """What git knows or would take: a new file counts before it is committed."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder)
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=True)
    return [name for name in listed.stdout.split("\0") if name]


def _hatchling(source: Path, target: str, folder: Path) -> None:
    command = (sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder))
    subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=LIMIT, check=True)


def _project() -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    return project


def main() -> int:
    made = build(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "dist")
    wrong = problems(made)
    for path in made:
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
