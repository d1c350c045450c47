"""`./dev mutants`: what is broken, which tests are asked, and that the tree itself stays as it is."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documentation import ROOT
from tests.tool.drive import LIMIT
from tools.breaks import breaks, excerpt
from tools.mutant_plugin import TIME_UP
from tools.mutant_tests import nearest
from tools.mutants import Point, Results, chosen

MUTANTS = [sys.executable, "-m", "tools.mutants"]
BROKEN = [
    ("if a:\n    b = c\n", "negate a condition", "if (not (a)):"),
    ("def f():\n    raise ValueError\n", "do not raise", "pass"),
    ("def f():\n    return a\n", "return nothing", "return None"),
    ("run(a)\n", "do not call", "pass"),
    ("b = a == c\n", "compare the other way", "b = (a != c)"),
    ("b = a < c\n", "compare the other way", "b = (a <= c)"),
    ("b = time.monotonic() < c\n", "compare the other way", "b = (time.monotonic() >= c)"),
    ("b = a in c\n", "compare the other way", "b = (a not in c)"),
    ("b = a and c\n", "swap and and or", "b = (a or c)"),
    ("a = True\n", "flip a constant", "a = False"),
    ("a = 7\n", "change a number", "a = (8)"),
    # A limit that is one higher is the same limit.
    ("a = 4096\n", "change a number", "a = (16384)"),
]


@pytest.mark.parametrize("source, what, line", BROKEN)
def test_each_kind_of_break_changes_one_thing(source, what, line):
    (found,) = (each for each in breaks(source.encode()) if each.what == what)

    changed = found.apply(source.encode()).decode()

    assert line in changed
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
    assert excerpt(source.encode(), found).endswith(f"+ {line}")


def test_what_cannot_matter_is_left_alone():
    source = (
        '"""Text."""\nfrom a import b\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n    c = 1\n'
        "def f(x: Literal[1]) -> Literal[2]:\n    assert x == 3\n    return None\n"
    )

    assert breaks(source.encode()) == []


def test_every_break_of_a_real_module_compiles_and_differs():
    source = (ROOT / "src/operable/kernel/redact/names.py").read_bytes()
    found = breaks(source)

    assert len(found) > 20
    assert len({each.apply(source) for each in found} | {source}) == len(found) + 1
    for each in found:
        compile(each.apply(source), "names.py", "exec")


def test_the_tests_that_mirror_a_module_are_asked_first():
    asked = nearest(Path("src/operable/kernel/redact/names.py"), 3)

    assert asked[0] == Path("tests/kernel/redact/test_names.py")
    assert len(asked) == len(set(asked)) > 1


def test_a_module_that_no_test_imports_is_asked_about_by_the_tests_of_its_users():
    asked = nearest(Path("src/operable/host/claude/content.py"), 6)

    assert Path("tests/host/arms/test_claude_stream_json.py") in asked


def test_an_entry_of_a_catalogue_is_asked_about_by_the_tests_that_name_it():
    assert Path("tests/agent/test_abilities.py") in nearest(Path("src/operable/agent/abilities/edit.py"), 9)


@pytest.mark.timeout(300)
def test_breaks_are_made_in_a_copy_and_the_tests_there_notice_those_without_a_kept_verdict(tmp_path):
    module, kept = ROOT / "src/operable/kernel/redact/names.py", tmp_path / "results"
    before = (module.read_bytes(), module.stat().st_mtime_ns)
    # As if an earlier run had judged the second point and then been interrupted.
    points = chosen([module.relative_to(ROOT)], 4, seed=13)
    Results(kept).keep(points[1], "a word of the earlier run")

    done = subprocess.run(
        [
            *MUTANTS,
            str(module),
            "--points",
            "4",
            "--files",
            "1",
            "--at-least",
            "99.9",
            "--results",
            str(kept),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    verdicts = [line.rpartition(": ")[0] for line in done.stderr.splitlines()]
    assert done.stderr.splitlines() == [
        f"{verdict}: {point}" for verdict, point in zip(verdicts, points, strict=True)
    ]
    assert verdicts.pop(1) == "a word of the earlier run"
    assert {verdict.partition("::")[0] for verdict in verdicts} <= {
        "noticed by tests/kernel/redact/test_names.py",
        "survived",
    }
    noticed = len([verdict for verdict in verdicts if verdict.startswith("noticed")])
    assert noticed > 0
    assert done.stdout.splitlines()[-1].startswith(f"{noticed} of 4 breaks were noticed")
    assert done.returncode == 1
    assert sorted(json.loads(line)[1:] for line in kept.read_text().splitlines()) == sorted(
        [verdict, str(point)]
        for verdict, point in zip(
            ["a word of the earlier run", *verdicts], [points[1], points[0], *points[2:]], strict=True
        )
    )
    assert (module.read_bytes(), module.stat().st_mtime_ns) == before


def test_a_kept_verdict_is_of_the_module_as_it_was(tmp_path):
    (each,) = breaks(b"a = 7\n")
    point = Point(Path("a.py"), each, b"a = 7\n")
    Results(tmp_path / "results").keep(point, "survived")

    kept = Results(tmp_path / "results")
    assert kept.get(point) == "survived"
    assert kept.get(Point(Path("a.py"), each, b"a = 7\nb()\n")) is None


def test_what_was_not_noticed_can_be_asked_about_again(tmp_path):
    points = [Point(Path("a.py"), each, b"a = 7 + 8\n") for each in breaks(b"a = 7 + 8\n")]
    for point, verdict in zip(points, ["survived", "noticed by tests/test_a.py::test_a"], strict=True):
        Results(tmp_path / "results").keep(point, verdict)

    again = Results(tmp_path / "results", again=True)

    assert [again.get(point) for point in points] == [None, "noticed by tests/test_a.py::test_a"]


TIMED = """
import subprocess, pytest
def test_that_starts_nothing(): print("near")
@pytest.mark.timeout(900)
def test_of_minutes(): print("minutes")
"""


@pytest.mark.parametrize("seconds, ran", [("60", ["test_near.py", "test_far.py"]), ("0", [])])
def test_no_test_begins_after_the_time_is_up_and_none_that_takes_minutes(tmp_path, seconds, ran):
    (tmp_path / "test_far.py").write_text(TIMED)
    (tmp_path / "test_near.py").write_text(TIMED)
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\ntimeout = 300\naddopts = --disable-plugin-autoload -ptimeout -v\n")
    words = [f"-c{settings}", "-p", "tools.mutant_plugin", f"--cpu-seconds={seconds}"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, tmp_path / "test_near.py", tmp_path / "test_far.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    passed = [line.partition("::")[0] for line in done.stdout.splitlines() if "PASSED" in line]
    assert [Path(name).name for name in passed] == ran
    assert "test_of_minutes PASSED" not in done.stdout
    assert done.returncode == TIME_UP


def test_the_same_seed_draws_the_same_points_and_fewer_are_the_first_of_them():
    modules = [Path("src/operable/kernel/redact/names.py"), Path("src/operable/kernel/errors.py")]

    many = chosen(modules, 12, seed=1)

    assert chosen(modules, 12, seed=1) == many
    assert chosen(modules, 5, seed=1) == many[:5]
    assert chosen(modules, 12, seed=2) != many
    assert len(set(many)) == 12
    assert {point.module for point in many} == set(modules)


def test_nothing_to_break_is_bad_usage(tmp_path):
    nothing = tmp_path / "other.py"
    nothing.write_text("a = 1\n")

    usage = subprocess.run(
        [*MUTANTS, str(nothing)], cwd=ROOT, timeout=LIMIT, check=False, capture_output=True
    )

    assert (usage.returncode, usage.stdout) == (64, b"")
    assert b"No module of src/operable" in usage.stderr
