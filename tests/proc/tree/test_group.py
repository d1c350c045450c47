"""A group that is given up: whoever outlives SIGKILL for longer than is waited for is reaped all the same, later."""

import gc
import os
import subprocess
import warnings
from collections.abc import Callable

import pytest

from operable.proc.tree.group import Group


def started(*argv: str) -> Group:
    return Group(subprocess.Popen(argv, start_new_session=True))


@pytest.mark.parametrize("give_up", [Group.abandon, Group.reap])
def test_nobody_complains_of_what_was_given_up_and_it_is_reaped_when_it_has_ended(
    give_up: Callable[[Group], None],
):
    group = started("sleep", "1000")
    pid = group.pid
    give_up(group)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del group
        gc.collect()
    assert [str(warning.message) for warning in told] == []

    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    other = started("true")
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    other.reap()
    other.release()

    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
