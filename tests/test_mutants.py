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
from tools.mutants import Results, chosen, nearest

MUTANTS = [sys.executable, "-m", "tools.mutants"]
BROKEN = [
    ("if a:\n    b = c\n", "negate a condition", "if (not (a)):"),
    ("def f():\n    raise ValueError\n", "do not raise", "pass"),
    ("def f():\n    return a\n", "return nothing", "return None"),
    ("run(a)\n", "do not call", "pass"),
    ("b = a == c\n", "compare the other way", "b = (a != c)"),
    ("b = a < c\n", "compare the other way", "b = (a <= c)"),
    ("b = a in c\n", "compare the other way", "b = (a not in c)"),
    ("b = a and c\n", "swap and and or", "b = (a or c)"),
    ("a = True\n", "flip a constant", "a = False"),
    ("a = 7\n", "change a number", "a = (8)"),
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
        '"""Text."""\nfrom a import b\nif TYPE_CHECKING:\n    c = 1\n'
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


@pytest.mark.timeout(300)
def test_breaks_are_made_in_a_copy_and_the_tests_there_notice_those_without_a_kept_verdict(tmp_path):
    module, kept = ROOT / "src/operable/kernel/redact/names.py", tmp_path / "results"
    before = (module.read_bytes(), module.stat().st_mtime_ns)
    # As if an earlier run had judged the second point and then been interrupted.
    name = module.relative_to(ROOT)
    points = [each for _, each in chosen([name], 4, seed=13)]
    Results(kept).keep(Results.key(name, points[1], before[0]), "a word of the earlier run")

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

    verdicts = [line.partition(": ")[0] for line in done.stderr.splitlines()]
    assert done.stderr.splitlines() == [
        f"{verdict}: {name}:{each.line}, {each.what}" for verdict, each in zip(verdicts, points, strict=True)
    ]
    assert verdicts.pop(1) == "a word of the earlier run"
    assert set(verdicts) <= {"noticed", "survived"}
    noticed = verdicts.count("noticed")
    assert noticed > 0
    assert done.stdout.splitlines()[-1].startswith(f"{noticed} of 4 breaks were noticed")
    assert done.returncode == 1
    assert sorted(json.loads(line)[1] for line in kept.read_text().splitlines()) == sorted(
        ["a word of the earlier run", *verdicts]
    )
    assert (module.read_bytes(), module.stat().st_mtime_ns) == before


def test_a_kept_verdict_is_of_the_module_as_it_was(tmp_path):
    (each,) = breaks(b"a = 7\n")
    results = Results(tmp_path / "results")
    results.keep(Results.key(Path("a.py"), each, b"a = 7\n"), "survived")

    again = Results(tmp_path / "results")
    assert again.get(Results.key(Path("a.py"), each, b"a = 7\n")) == "survived"
    assert again.get(Results.key(Path("a.py"), each, b"a = 7\nb()\n")) is None


def test_the_same_seed_draws_the_same_points_and_fewer_are_the_first_of_them():
    modules = [Path("src/operable/kernel/redact/names.py"), Path("src/operable/kernel/errors.py")]

    many = chosen(modules, 12, seed=1)

    assert chosen(modules, 12, seed=1) == many
    assert chosen(modules, 5, seed=1) == many[:5]
    assert chosen(modules, 12, seed=2) != many
    assert len(set(many)) == 12
    assert {module for module, _ in many} == set(modules)


def test_nothing_to_break_is_bad_usage(tmp_path):
    nothing = tmp_path / "other.py"
    nothing.write_text("a = 1\n")

    usage = subprocess.run(
        [*MUTANTS, str(nothing)], cwd=ROOT, timeout=LIMIT, check=False, capture_output=True
    )

    assert (usage.returncode, usage.stdout) == (64, b"")
    assert b"No module of src/operable" in usage.stderr
