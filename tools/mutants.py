"""Break the code at random points and say which breaks no test notices: `./dev mutants [PATHS] [--points N] [--seed S]`.

    ./dev mutants src/operable/serve                20 points of one package
    ./dev mutants --points 300 --at-least 90        the whole tree; fails when fewer than 90 % are noticed
    ./dev mutants --points 300 --results FILE       keeps every verdict; the same command again goes on where it ended

Works in a copy of the tree (`tools/mutant_tree.py`), never in the tree itself. A break is shown to the file of tests that
mirrors its module, then to those that import the module or a user of it, at most `--files` in all. It is noticed when a test
fails, or does not end in its time, that passes without the break. A break that survives is one that these tests do not
notice: read it. The same seed gives the same points.
"""

import argparse
import ast
import contextlib
import hashlib
import itertools
import json
import math
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tools.breaks import Break, candidates, compiles, excerpt
from tools.mutant_tree import MutantTree

ROOT = Path(__file__).parents[1]
_SOURCE = Path("src/operable")
# To compile the whole copy costs as much as the starts of a few breaks without bytecode.
_MANY = 10
_NOT_JUDGED = "not judged: no test imports it, or its tests fail without the break"


def main(words: Sequence[str]) -> int:
    asked = _arguments(words)
    points = chosen(_modules(asked.paths), asked.points, asked.seed)
    if not points:
        print("No module of src/operable is meant.", file=sys.stderr)
        return 64
    results = Results(asked.results)
    with tempfile.TemporaryDirectory(prefix="operable-mutants-") as folder:
        tree = MutantTree(ROOT, Path(folder) / "tree", compiled=len(points) >= _MANY)
        judged = []
        with contextlib.suppress(KeyboardInterrupt):  # what is known by then is reported
            for module, each in points:
                judged.append((module, each, _judge(tree, module, each, asked.files, results)))
    return _report(judged, asked.at_least)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, help="modules and folders below src/operable")
    parser.add_argument("--points", type=int, default=20, help="how many breaks (20)")
    parser.add_argument("--seed", type=int, default=13, help="which breaks (13)")
    parser.add_argument(
        "--files", type=int, default=6, help="how many files of tests a break is shown to (6)"
    )
    parser.add_argument(
        "--results", type=Path, help="keep each verdict in this file, and try no point of it again"
    )
    parser.add_argument("--at-least", type=float, default=0.0, help="fail when fewer percent are noticed")
    return parser.parse_args(words)


class Results:
    """The verdicts of earlier runs and of this one, one JSON line each; in memory only without a file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path and path.exists() else []
        self._kept: dict[str, str] = dict(json.loads(line) for line in lines)

    @staticmethod
    def key(module: Path, each: Break, source: bytes) -> str:
        """A break of these very bytes: after an edit of the module it is another one."""
        return hashlib.sha256(f"{module}\0{each}\0".encode() + source).hexdigest()

    def get(self, key: str) -> str | None:
        return self._kept.get(key)

    def keep(self, key: str, verdict: str) -> None:
        self._kept[key] = verdict
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, verdict]) + "\n")


def _modules(paths: Sequence[Path]) -> list[Path]:
    """The modules below these paths, seen from the root."""
    found = [
        path.resolve()
        for place in paths or [ROOT / _SOURCE]
        for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]
    return [path.relative_to(ROOT) for path in found if path.is_relative_to(ROOT / _SOURCE)]


def chosen(modules: Sequence[Path], count: int, seed: int) -> list[tuple[Path, Break]]:
    """Points, each as likely as any other and in no order, so that the first of them stand for all."""
    sources = {module: (ROOT / module).read_bytes() for module in modules}
    every = [(module, each) for module, source in sources.items() for each in candidates(source)]
    random.Random(seed).shuffle(every)
    found = ((module, each) for module, each in every if compiles(each.apply(sources[module])))
    return list(itertools.islice(found, count))


def _judge(tree: MutantTree, module: Path, each: Break, files: int, results: Results) -> str:
    """noticed, survived, or why neither can be said."""
    source = (ROOT / module).read_bytes()
    key = results.key(module, each, source)
    if (known := results.get(key)) is None:
        tests = nearest(module, files)
        known = _NOT_JUDGED if not tests else tree.judge(module, each.apply(source), tests) or _NOT_JUDGED
        results.keep(key, known)
    print(f"{known}: {module}:{each.line}, {each.what}", file=sys.stderr, flush=True)
    return known


def nearest(module: Path, count: int) -> tuple[Path, ...]:
    """The tests of a module, seen from the root: the file that mirrors it, then those that import it, the nearest first.

    Where these are fewer, the tests of the modules that import it follow, then those of the modules that import these.
    """
    found: dict[Path, None] = {}
    level, seen = [_name(module)], {_name(module)}
    while level and len(found) < count:
        mirrors = [_mirror(name) for name in level]
        importing = [path for path, names in _imports("tests").items() if names.intersection(level)]
        near = sorted(importing, key=lambda path: -len(os.path.commonpath([path, mirrors[0]])))
        found |= dict.fromkeys([*(path for path in mirrors if (ROOT / path).exists()), *near])
        users = [_name(path) for path, names in _imports(str(_SOURCE)).items() if names.intersection(level)]
        level = sorted(set(users) - seen)
        seen.update(level)
    return tuple(found)[:count]


def _name(module: Path) -> str:
    return ".".join(module.relative_to("src").with_suffix("").parts).removesuffix(".__init__")


def _mirror(name: str) -> Path:
    *folders, last = name.split(".")[1:]
    return Path("tests", *folders, f"test_{last}.py")


@cache
def _imports(folder: str) -> dict[Path, set[str]]:
    """Each module of the source tree, or each file of tests, seen from the root, and the modules whose names it imports."""
    pattern = "test_*.py" if folder == "tests" else "*.py"
    return {
        path.relative_to(ROOT): set(_imported(ast.parse(path.read_bytes())))
        for path in sorted((ROOT / folder).rglob(pattern))
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
    for module, each, verdict in sorted(judged, key=lambda point: (point[0], point[1].start)):
        if verdict != "noticed":
            print(f"{module}:{each.line}: {each.what} ({verdict})")
            print(f"{excerpt((ROOT / module).read_bytes(), each)}\n")
    noticed, counted = verdicts.count("noticed"), len(verdicts) - verdicts.count(_NOT_JUDGED)
    share = 100 * noticed / counted if counted else 0.0
    low, high = _interval(noticed, counted)
    print(
        f"{noticed} of {counted} breaks were noticed ({share:.0f} %, 95 % confidence {low:.0f} to {high:.0f} %);"
        f" {len(verdicts) - counted} not judged"
    )
    return 1 if share < at_least else 0


def _interval(hits: int, count: int) -> tuple[float, float]:
    """The share of all breaks with 95 % confidence, from and to, in percent (Wilson's interval)."""
    if not count:
        return 0.0, 100.0
    z = 1.96
    share, spread = hits / count, z * z / count
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / count + spread / 4 / count)
    return 100 * (middle - half) / (1 + spread), 100 * (middle + half) / (1 + spread)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
