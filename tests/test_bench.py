"""`python -m bench`: names first, then the options of the one that is named."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def bench(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_an_unknown_benchmark_is_refused_with_the_names_of_all():
    done = bench("no-such")

    assert done.returncode == 64
    assert "enclosure" in done.stderr


def test_options_without_the_name_of_one_benchmark_are_refused():
    assert bench("--before", "x").returncode == 64
    assert bench("enclosure", "wire", "--before", "x").returncode == 64


def test_options_behind_a_name_are_those_of_that_benchmark():
    done = bench("enclosure", "--help")

    assert done.returncode == 0
    assert "--before CHECKOUT" in done.stdout
