"""Break the code at random points and say which breaks no test notices: `./dev mutants [PATHS] [--points N] [--seed S]`.

    ./dev mutants src/operable/serve                20 points of one package
    ./dev mutants --points 300 --at-least 90        the whole tree; fails when fewer than 90 % are noticed

Works in a copy of the tree with commands of its own, never in the tree itself. A break is shown to the file of tests that
mirrors its module, and if that does not notice it, to those that import the module, at most `--files` in all. Before
anything is broken, a file must pass; a break may take it three times as long before it counts as noticed by that. A break
that survives is one that these tests do not notice: read it. The same seed gives the same points.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tools.breaks import Break, breaks, excerpt

ROOT = Path(__file__).parents[1]
_SOURCE = Path("src/operable")
# What a module's own tests may take before anything is broken.
_LONGEST = 300.0
_NOT_JUDGED = "not judged: no test imports it, or all that do fail without the break"


def main(words: Sequence[str]) -> int:
    asked = _arguments(words)
    points = _chosen(_modules(asked.paths), asked.points, asked.seed)
    if not points:
        print("No module of src/operable is meant.", file=sys.stderr)
        return 64
    with tempfile.TemporaryDirectory(prefix="operable-mutants-") as folder:
        ground = Ground(Path(folder) / "tree")
        judged = [(module, each, _judge(ground, module, each, asked.files)) for module, each in points]
    return _report(judged, asked.at_least)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, help="modules and folders below src/operable")
    parser.add_argument("--points", type=int, default=20, help="how many breaks (20)")
    parser.add_argument("--seed", type=int, default=13, help="which breaks (13)")
    parser.add_argument(
        "--files", type=int, default=6, help="how many files of tests a break is shown to (6)"
    )
    parser.add_argument("--at-least", type=float, default=0.0, help="fail when fewer percent are noticed")
    return parser.parse_args(words)


def _modules(paths: Sequence[Path]) -> list[Path]:
    """The modules below these paths, seen from the root."""
    found = [
        path.resolve()
        for place in paths or [ROOT / _SOURCE]
        for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]
    return [path.relative_to(ROOT) for path in found if path.is_relative_to(ROOT / _SOURCE)]


def _chosen(modules: Sequence[Path], count: int, seed: int) -> list[tuple[Path, Break]]:
    """Points, each as likely as any other; those of one module together, so that its tests are tried once."""
    every = [(module, each) for module in modules for each in breaks((ROOT / module).read_bytes())]
    return sorted(
        random.Random(seed).sample(every, min(count, len(every))),
        key=lambda point: (point[0], point[1].start),
    )


class Ground:
    """A copy of the tree in which tests run, with a `.venv` that has our packages and its sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        self._equip(Path(sys.prefix), folder / ".venv")
        path = f"{folder}/.venv/bin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        # A module that is broken and healed within a second would be taken from its bytecode.
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
            "PATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._look()

    def _look(self) -> None:
        """Nothing would be noticed if the tests ran our own sources."""
        asked = [".venv/bin/python", "-c", "import operable; print(operable.__file__)"]
        told = subprocess.run(
            asked, cwd=self.folder, env=self.env, check=True, capture_output=True, text=True
        )
        if not Path(told.stdout.strip()).is_relative_to(self.folder):
            sys.exit(f"The copy of the tree runs other sources: {told.stdout.strip()}")

    def _equip(self, ours: Path, theirs: Path) -> None:
        """A virtual environment like ours: the same packages, the commands rewritten, the sources of the copy first."""
        packages = Path("lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
        (theirs / packages).mkdir(parents=True)
        (theirs / "bin").mkdir()
        shutil.copy2(ours / "pyvenv.cfg", theirs)
        (theirs / packages / "0-copy.pth").write_text(f"{self.folder / 'src'}\n")
        (theirs / packages / "1-ours.pth").write_text(
            f"import site; site.addsitedir({str(ours / packages)!r})\n"
        )
        for path in (ours / "bin").iterdir():
            if path.name.startswith("python"):
                os.symlink(os.path.realpath(path), theirs / "bin" / path.name)
            elif path.is_file():
                text = path.read_bytes().replace(os.fsencode(ours / "bin"), os.fsencode(theirs / "bin"))
                (theirs / "bin" / path.name).write_bytes(text)
                (theirs / "bin" / path.name).chmod(0o755)

    def fails(self, tests: Path, limit: float) -> bool:
        """Whether one of the tests of a file fails, or they do not end in time."""
        command = [".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(tests)]
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0

    @cache  # noqa: B019 - one for the whole run
    def limit(self, tests: Path) -> float | None:
        """How long a file of tests may take with a break; None when it fails, or takes too long, without one."""
        began = time.monotonic()
        failed = self.fails(tests, _LONGEST)
        return None if failed else 3 * (time.monotonic() - began) + 10


def _judge(ground: Ground, module: Path, each: Break, files: int) -> str:
    """noticed, survived, or why neither can be said."""
    limits = ((tests, ground.limit(tests)) for tests in nearest(module, files))
    path, verdict = ground.folder / module, _NOT_JUDGED
    source = path.read_bytes()
    for tests, limit in limits:
        if limit is None:
            continue
        path.write_bytes(each.apply(source))
        try:
            verdict = "noticed" if ground.fails(tests, limit) else "survived"
        finally:
            path.write_bytes(source)
        if verdict == "noticed":
            break
    print(f"{verdict}: {module}:{each.line}, {each.what}", file=sys.stderr, flush=True)
    return verdict


def nearest(module: Path, count: int) -> tuple[Path, ...]:
    """The tests of a module, seen from the root: the file that mirrors it, then those that import it, the nearest first."""
    place = module.relative_to(_SOURCE)
    mirror = Path("tests", place.parent, f"test_{place.stem}.py")
    name = ".".join(["operable", *place.with_suffix("").parts]).removesuffix(".__init__")
    found = [path for path, imported in _imports().items() if name in imported]
    near = sorted(found, key=lambda path: -len(os.path.commonpath([path, mirror])))
    return tuple(dict.fromkeys([*([mirror] if (ROOT / mirror).exists() else []), *near]))[:count]


@cache
def _imports() -> dict[Path, set[str]]:
    """Each file of tests, seen from the root, and the modules whose names it imports."""
    return {
        path.relative_to(ROOT): set(_imported(ast.parse(path.read_bytes())))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _report(judged: Sequence[tuple[Path, Break, str]], at_least: float) -> int:
    verdicts = [verdict for _, _, verdict in judged]
    for module, each, verdict in judged:
        if verdict != "noticed":
            print(f"{module}:{each.line}: {each.what} ({verdict})")
            print(f"{excerpt((ROOT / module).read_bytes(), each)}\n")
    noticed, counted = verdicts.count("noticed"), len(verdicts) - verdicts.count(_NOT_JUDGED)
    share = 100 * noticed / counted if counted else 0.0
    print(f"{noticed} of {counted} breaks were noticed ({share:.0f} %); {len(verdicts) - counted} not judged")
    return 1 if share < at_least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
