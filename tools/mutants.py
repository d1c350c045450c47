"""Break the code at random points and say which breaks no test notices: `./dev mutants [PATHS] [--points N] [--seed S]`.

    ./dev mutants src/operable/serve                20 points of one package
    ./dev mutants --points 300 --at-least 90        the whole tree; fails when fewer than 90 % are noticed
    ./dev mutants --points 300 --results FILE       keeps every verdict; the same command again goes on where it ended
    ./dev mutants --points 300 --results FILE --again    asks again about those that no test noticed

Works in copies of the tree (`tools/mutant_tree.py`), never in the tree itself. A break is shown to the files of tests that
are nearest to its module (`tools/mutant_tests.py`), at most `--files` of them, those that start no process first, for
`--seconds` of the processor. It is noticed when a test fails, or does not end in its time, that passes without the break;
the tests that noticed one run again at the end, without any. A break that survives is one that these tests do not notice:
read it. The same seed gives the same points; an edit of a module moves only the points that it touches.
"""

import argparse
import hashlib
import itertools
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tools.breaks import Break, candidates, compiles, excerpt
from tools.mutant_tests import ROOT, SOURCE, nearest
from tools.mutant_tree import MutantTree

# To compile the whole copy costs as much as the starts of a few breaks without bytecode.
_MANY = 10
_NOT_JUDGED = "not judged"


def main(words: Sequence[str]) -> int:
    asked = _arguments(words)
    points = chosen(_modules(asked.paths), asked.points, asked.seed)
    if not points:
        print("No module of src/operable is meant.", file=sys.stderr)
        return 64
    results = Results(asked.results, again=asked.again)
    with tempfile.TemporaryDirectory(prefix="operable-mutants-") as folder:
        trees: SimpleQueue[MutantTree] = SimpleQueue()
        compiled = len(points) >= _MANY
        for number in range(asked.jobs):
            place = Path(folder) / str(number) / "tree"
            trees.put(MutantTree(ROOT, place, compiled=compiled, seconds=asked.seconds))
        with ThreadPoolExecutor(asked.jobs) as pool:
            asked_tests = {point.module: nearest(point.module, asked.files) for point in points}
            verdicts = [
                pool.submit(_judge, trees, point, asked_tests[point.module], results) for point in points
            ]
            judged = dict(_ended(points, verdicts))
            _judge_again(trees.get(), judged, asked_tests, results)
    return _report(list(judged.items()), asked.at_least)


@dataclass(frozen=True)
class Point:
    """One change of one module, with the module as it was when the run began."""

    module: Path
    change: Break
    source: bytes

    @property
    def broken(self) -> bytes:
        return self.change.apply(self.source)

    @property
    def key(self) -> str:
        """A break of these very bytes: after an edit of the module it is another one."""
        return hashlib.sha256(f"{self.module}\0{self.change}\0".encode() + self.source).hexdigest()

    def __str__(self) -> str:
        return f"{self.module}:{self.change.line}, {self.change.what}"


def _ended(points: Sequence[Point], verdicts: Sequence[Future[str]]) -> Iterator[tuple[Point, str]]:
    """Each point with its verdict, up to an interrupt: what is known by then is reported."""
    try:
        for point, verdict in zip(points, verdicts, strict=True):
            yield point, verdict.result()
    except KeyboardInterrupt:
        for verdict in verdicts:
            verdict.cancel()


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, help="modules and folders below src/operable")
    parser.add_argument("--points", type=int, default=20, help="how many breaks (20)")
    parser.add_argument("--seed", type=int, default=13, help="which breaks (13)")
    parser.add_argument(
        "--files", type=int, default=9, help="how many files of tests a break is shown to (9)"
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of the processor, for the tests of a break (10)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many breaks at a time (1)")
    parser.add_argument(
        "--results", type=Path, help="keep each verdict in this file, and try no point of it again"
    )
    parser.add_argument("--again", action="store_true", help="try those of the file that were not noticed")
    parser.add_argument("--at-least", type=float, default=0.0, help="fail when fewer percent are noticed")
    return parser.parse_args(words)


class Results:
    """The verdicts of earlier runs and of this one, one JSON line each; in memory only without a file."""

    def __init__(self, path: Path | None, *, again: bool = False) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path and path.exists() else []
        kept = {key: verdict for key, verdict, *_ in map(json.loads, lines)}
        self._kept = {key: verdict for key, verdict in kept.items() if not again or is_noticed(verdict)}

    def get(self, point: Point) -> str | None:
        return self._kept.get(point.key)

    def keep(self, point: Point, verdict: str) -> None:
        self._kept[point.key] = verdict
        if self._path:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([point.key, verdict, str(point)]) + "\n")


def is_noticed(verdict: str) -> bool:
    return verdict.startswith("noticed")


def _noticer(verdict: str) -> str | None:
    """The test, or the file of tests, that noticed it."""
    named = verdict.removeprefix("noticed by ")
    return named if named.startswith("tests/") else None


def _modules(paths: Sequence[Path]) -> list[Path]:
    """The modules below these paths, seen from the root."""
    found = [
        path.resolve()
        for place in paths or [ROOT / SOURCE]
        for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]
    return [path.relative_to(ROOT) for path in found if path.is_relative_to(ROOT / SOURCE)]


def chosen(modules: Sequence[Path], count: int, seed: int) -> list[Point]:
    """Points, each as likely as any other and in no order, so that the first of them stand for all."""
    drawn = {lot: point for module in modules for lot, point in _lots(module, seed)}
    return list(itertools.islice((drawn[lot] for lot in sorted(drawn) if compiles(drawn[lot].broken)), count))


def _lots(module: Path, seed: int) -> Iterator[tuple[str, Point]]:
    """Each point with the number that it draws: by what is changed and how, so that edits elsewhere do not change it."""
    source = (ROOT / module).read_bytes()
    equal: Counter[tuple[str, bytes]] = Counter()
    for each in candidates(source):
        kind = each.what, source[each.start : each.end]
        equal[kind] += 1
        lot = hashlib.sha256(f"{seed} {module} {kind} {equal[kind]}".encode()).hexdigest()
        yield lot, Point(module, each, source)


def _judge(trees: SimpleQueue[MutantTree], point: Point, tests: Sequence[Path], results: Results) -> str:
    """Noticed, survived, or why neither can be said."""
    if (known := results.get(point)) is None:
        tree = trees.get()
        try:
            known = tree.judge(point.module, point.broken, tests) if tests else f"{_NOT_JUDGED}: no tests"
        finally:
            trees.put(tree)
        results.keep(point, known)
    print(f"{known}: {point}", file=sys.stderr, flush=True)
    return known


def _judge_again(
    tree: MutantTree, judged: dict[Point, str], tests: Mapping[Path, Sequence[Path]], results: Results
) -> None:
    """What was noticed by tests that fail without a break is shown to the others."""
    unchecked = set(map(_noticer, judged.values()))
    while failing := tree.failing({test for test in unchecked if test is not None}):
        unchecked = set()
        for point, verdict in judged.items():
            if _noticer(verdict) in failing:
                judged[point] = tree.judge(point.module, point.broken, tests[point.module])
                results.keep(point, judged[point])
                unchecked.add(_noticer(judged[point]))


def _report(judged: Sequence[tuple[Point, str]], at_least: float) -> int:
    verdicts = [verdict for _, verdict in judged]
    for point, verdict in sorted(judged, key=lambda each: (each[0].module, each[0].change.start)):
        if not is_noticed(verdict):
            print(f"{point} ({verdict})\n{excerpt(point.source, point.change)}\n")
    noticed = sum(map(is_noticed, verdicts))
    counted = sum(not verdict.startswith(_NOT_JUDGED) for verdict in verdicts)
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
