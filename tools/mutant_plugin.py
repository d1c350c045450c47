"""A plugin of pytest for the tests of one break: the cheap ones first, and none begins after the time is up.

Time is that of the processor, so that a busy machine runs as many tests as an idle one. Children count when they have
ended; for those that have not there is a second limit, of the clock. A test that asks for more time than others is left out.
"""

import math
import os
import time

import pytest

from tests.weight import asked_seconds, is_heavy

# The exit code of a run in which no test failed and some were left out.
TIME_UP = 100
# How much longer a run may take by the clock: a machine that eight others use.
_CLOCK = 10.0
_BEGAN = time.monotonic()
_left_out = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-seconds", type=float, default=math.inf, help="after so many no test begins")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    usual = float(session.config.getini("timeout"))
    short = [item for item in items if asked_seconds(item) <= usual]
    session.stash[_left_out] = len(items) - len(short)
    items[:] = sorted(short, key=is_heavy)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """True leaves a test out, and all that follow; None lets pytest run it."""
    limit: float = item.config.getoption("--cpu-seconds")
    if sum(os.times()[:4]) < limit and time.monotonic() - _BEGAN < limit * _CLOCK:
        return None
    item.session.stash[_left_out] += 1
    return True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.stash.get(_left_out, 0) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = TIME_UP
