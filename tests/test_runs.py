"""Kinds of runs: `--fast` leaves out tests that start processes, `--strict-skips` knows every reason for which one is skipped."""

import subprocess
import sys

import pytest

from tests.documentation import ROOT
from tests.skips import unknown
from tests.tool.drive import LIMIT


def ran(*words):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_a_fast_run_leaves_out_what_starts_processes_and_nothing_else():
    light, heavy = "tests/kernel/redact/test_shapes.py", "tests/cli/test_start.py"

    found = ran("--fast", "--collect-only", light, heavy).stdout

    assert f"{light}::" in found
    assert f"{heavy}::" not in found
    assert "deselected" in found


@pytest.mark.parametrize(
    "reason, strict, status",
    [
        ("nobody knows why", True, 1),
        ("nobody knows why", False, 0),
        ("shown in the documentation, not run: needs a key", True, 0),
    ],
)
def test_a_skip_for_an_unknown_reason_fails_a_strict_run(tmp_path, reason, strict, status):
    path = tmp_path / "test_it.py"
    path.write_text(f"import pytest\ndef test_a(): pytest.skip({reason!r})\ndef test_b(): pass\n")

    done = ran("-p", "tests.conftest", *(["--strict-skips"] if strict else []), str(path))

    assert done.returncode == status, done.stdout
    assert ("tests/skips.py does not have the reason 'nobody knows why'" in done.stdout) is bool(status)


def test_reasons_are_known_by_how_they_begin():
    assert unknown(["shown in the documentation, not run: it serves", "no bwrap here", "no bwrap here"]) == [
        "no bwrap here"
    ]
