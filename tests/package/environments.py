"""Environments with the built wheel and nothing that it did not ask for.

Packages are not downloaded: the wheel's own metadata says what it needs, and the files of these distributions are hard links to
those of the environment that runs the tests, which has the versions of the lock. An extra is one more folder on the path.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import distribution

DRIVER = Path(__file__).with_name("driver.py")
LIMIT = 300


class Environment(NamedTuple):
    """What a user has after `pip install operable` or `operable[EXTRA]`."""

    python: Path
    extra: str
    packages: tuple[str, ...]
    megabytes: float

    def variables(self, home: Path) -> dict[str, str]:
        return {
            "HOME": str(home),
            "PATH": f"{self.python.parent}:/usr/bin:/bin",
            "OPERABLE_HOME": str(home / "operable"),
            "OUTLINE_HOME": str(home / "notes"),
            "XDG_RUNTIME_DIR": str(home),
            "LANG": "C.UTF-8",
        }

    def run(
        self, tasks: Iterable[Mapping[str, Any]], home: Path, more: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, dict[str, Any]]:
        """What each command said and how it ended, by its words."""
        done = subprocess.run(
            [self.python, DRIVER],
            input=json.dumps(list(tasks)), env=self.variables(home) | dict(more), capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {" ".join(result["words"]): result for result in map(json.loads, done.stdout.splitlines())}


def bare(folder: Path) -> Environment:
    """The wheel, built from this tree, in a virtual environment with its base packages."""
    wheel = distribution.build(folder / "dist").wheel
    python, site = empty(folder / "bare")
    command = (
        "uv",
        "--quiet",
        "--offline",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--python",
        python,
        wheel,
    )
    subprocess.run([sys.executable, "-m", *command], timeout=LIMIT, check=True)
    needed = needs("", {})
    size = sum(map(link, needed.values(), [site] * len(needed)))
    subprocess.run([python, "-m", "compileall", "-q", site / "operable"], timeout=LIMIT, check=True)
    size += sum(
        path.stat().st_size
        for path in (site / "operable").rglob("*")
        if path.suffix != ".pyc" and path.is_file()
    )
    return Environment(python, "", tuple(sorted(needed)), size / 1e6)


def with_extra(base: Environment, extra: str, folder: Path, beside: Iterable[str] = ()) -> Environment:
    """The same with what an extra adds, and with other distributions `beside` it that its user has installed."""
    present = {name: metadata.distribution(name) for name in base.packages}
    added = needs(extra, present)
    for name in beside:
        added |= {name: metadata.distribution(name), **needs("", present | added, of=name)}
    python, site = empty(folder)
    size = sum(link(found, site) for found in added.values())
    # Behind its own packages, those of the bare environment, with its bytecode.
    (home,) = (base.python.parents[1] / "lib").glob("python*/site-packages")
    (site / "base.pth").write_text(f"{home}\n")
    for script in base.python.parent.iterdir():
        if not script.is_symlink() and (text := script.read_text("utf-8")).startswith(f"#!{base.python}"):
            own = python.with_name(script.name)
            own.write_text(text.replace(str(base.python), str(python), 1))
            own.chmod(0o755)
    names = tuple(sorted({*base.packages, *added}))
    return Environment(python, extra, names, base.megabytes + size / 1e6)


def empty(folder: Path) -> tuple[Path, Path]:
    """A virtual environment without a package: its interpreter, and its folder of packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    return folder / "bin" / "python", site


def needs(
    extra: str, present: Mapping[str, metadata.Distribution], of: str = "operable"
) -> dict[str, metadata.Distribution]:
    """What the requirements of a distribution (read from its metadata) bring that is not present, by canonical name."""
    found: dict[str, metadata.Distribution] = {}
    seen = set()
    queue = [(of, extra)]
    while queue:
        name, wanted = queue.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for line in metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": wanted}):
                continue
            inner = canonicalize_name(requirement.name)
            queue += [(inner, part) for part in ("", *requirement.extras)]
            if inner not in present and inner != "operable":
                found[inner] = metadata.distribution(inner)
    return found


def link(found: metadata.Distribution, folder: Path) -> int:
    """The files of a distribution, hard-linked into a folder of packages. Returns their size in bytes."""
    size = 0
    for file in found.files or []:
        source = Path(str(file.locate()))
        if ".." in file.parts or file.suffix == ".pyc" or not source.is_file():
            continue
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            continue
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copyfile(source, target)
        size += source.stat().st_size
    return size


def import_time(environment: Environment, module: str) -> float:
    """Milliseconds that an import takes, the best of ten starts, measured inside."""
    program = f"from time import perf_counter as now; t = now(); import {module}; print((now() - t) * 1000)"
    command = (environment.python, "-I", "-c", program)
    starts = [
        subprocess.run(command, capture_output=True, text=True, timeout=60, check=True) for _ in range(10)
    ]
    return min(float(start.stdout) for start in starts)


def import_check(environment: Environment, modules: Iterable[str]) -> str:
    """What the interpreter of an environment says when it imports these; nothing when all of them are there."""
    program = "".join(f"import {module}\n" for module in modules)
    command = (environment.python, "-I", "-W", "ignore", "-c", program)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    return str(done.stderr)
