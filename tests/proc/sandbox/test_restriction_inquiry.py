"""A program that is only asked what it is has no effect, with or without a home."""

import os
import sys

import pytest

from operable.proc.run import output
from operable.proc.sandbox.restriction import keeps_effects, without_effects
from operable.proc.spawn import prepare
from tests.proc.sandbox.kernel import needs_scopes

WRITES = "import os, sys; open(os.path.expanduser('~/mark'), 'w').close(); open('mark', 'w').close()"


@needs_scopes
def test_the_kernel_here_takes_the_effects_away():
    assert keeps_effects() is None


@needs_scopes
@pytest.mark.parametrize("homes", [0, 1])
def test_it_writes_to_its_scratch_home_at_most(tmp_path, homes):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    command = prepare([sys.executable, "-c", WRITES], env={"HOME": str(tmp_path)}, cwd=str(work))
    done = output(without_effects(command, str(home) if homes else None), timeout=200)
    assert (done.status, "PermissionError" in done.stderr) == (1, True), done
    assert (len(os.listdir(home)), os.listdir(work), sorted(os.listdir(tmp_path))) == (
        homes,
        [],
        ["home", "work"],
    )


@needs_scopes
def test_no_variable_leads_it_out_of_its_scratch_home(tmp_path):
    command = prepare([sys.executable, "-c", "pass"], env={"XDG_CACHE_HOME": "/somewhere", "HOME": "/home"})
    env = without_effects(command, str(tmp_path)).env
    assert (env.get("XDG_CACHE_HOME"), env["HOME"], env["TMPDIR"]) == (None, str(tmp_path), str(tmp_path))
