"""The linter against its zoo: how many broken tools it catches, what it says of conforming ones, how long outline takes.

Every mutant of tests/zoo meets every check, on the commands in which its fault shows. Caught: the intended check fails.
False alarm: a check fails that neither is intended nor has the same fault on its list, or any check fails on a conforming
tool. The time of a full lint of outline is measured alone, before. With `--quick` every tenth mutant is looked at.
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from operable.lint.engine import LintOptions, Report, lint
from tests.zoo.breeding import BASES, Mutation, breed, mutations, variants

NEEDS = ("bwrap", "jq", "node")
ROOT = Path(__file__).parents[1]
OUTLINE_SECONDS = 20.0
# A run of the whole zoo takes minutes: it says how far it is.
_REPORTED = 20


def main() -> int:
    """Print the figures; 1 when a target is missed."""
    share = 10 if "--quick" in sys.argv[1:] else 1
    elapsed = _outline()
    zoo, odd = mutations()[::share], variants()[::share]
    caught = false = 0
    with ThreadPoolExecutor(2) as workers:
        for number, (mutation, (found, others)) in enumerate(
            zip(zoo, workers.map(_judge, zoo), strict=True), 1
        ):
            caught += found
            false += bool(others)
            if not found or others:
                also = "; also " + ", ".join(others) if others else ""
                print(f"  {mutation.id}: {'caught' if found else 'MISSED'}{also}", flush=True)
            if number % _REPORTED == 0:
                print(f"  so far: caught {caught}/{number}, false alarms {false}", flush=True)
        clean = [*workers.map(_alarms, BASES), *workers.map(_odd, odd)]
    false += sum(map(bool, clean))
    print(f"caught {caught}/{len(zoo)}, false alarms {false}/{len(zoo) + len(clean)}")
    return int(caught < len(zoo) or false > 0 or elapsed > OUTLINE_SECONDS)


def _outline() -> float:
    """Seconds of a full lint of outline."""
    began = time.perf_counter()
    report = lint(
        str(Path(sys.executable).with_name("outline")),
        LintOptions(profile=str(ROOT / "examples" / "outline" / "aoi-lint.toml")),
    )
    elapsed = time.perf_counter() - began
    slowest = sorted(report.seconds.items(), key=lambda item: -item[1])[:5]
    print(f"full lint of outline: {elapsed:.1f} s (target <= {OUTLINE_SECONDS:g} s), {report.runs} runs")
    print(
        "  most time: " + ", ".join(f"check {label} {seconds:.1f} s" for label, seconds in slowest),
        flush=True,
    )
    return elapsed


def _judge(mutation: Mutation) -> tuple[bool, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        program = breed(mutation.base, Path(folder), mutation)
        failed = _failed(lint(str(program), LintOptions(commands=mutation.commands)))
    return mutation.check in failed, sorted(failed - {mutation.check, *mutation.also})


def _alarms(base: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return sorted(_failed(lint(str(breed(base, Path(folder))), LintOptions())))


def _odd(variant: Mutation) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        program = breed(variant.base, Path(folder), variant)
        return sorted(_failed(lint(str(program), LintOptions(commands=variant.commands))))


def _failed(report: Report) -> set[str]:
    return {finding.label for finding in report.findings if finding.result == "fail"}


if __name__ == "__main__":
    sys.exit(main())
