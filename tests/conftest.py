"""What holds for every test: a home of its own, declared needs, and a closing word on everything that was skipped."""

import gc
import os
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import bytecode, needs, renewal, skips
from tests.cost import Account, CostLog
from tests.order import dealt
from tests.weight import asked_seconds, is_heavy

# No stopwatch in tests, and that includes the one that hypothesis brings: 200 ms for an example by default.
settings.register_profile("operable", deadline=None)
settings.load_profile("operable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--live",
        action="store_true",
        help="run every tool of the zoo, compare with what was recorded of it, and record it anew",
    )
    parser.addoption(
        "--fast", action="store_true", help="leave out the tests that start processes by themselves"
    )
    parser.addoption(
        "--strict-skips",
        action="store_true",
        help="fail when a test is skipped for a reason that tests/skips.py does not have",
    )
    parser.addoption(
        "--keep-verdicts",
        action="store_true",
        help="keep what tests/wrap/test_lint.py and tests/agents/test_agent_rules.py find, for the pages of docs/reference that"
        " show it, instead of comparing with it",
    )
    parser.addoption(
        "--costs",
        type=Path,
        metavar="FILE",
        help="append what each test costs (`python -m tests.cost FILE` ranks)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if path := config.getoption("--costs"):
        config.pluginmanager.register(CostLog(path, Account.opened()))


@pytest.fixture(scope="session", autouse=True)
def _private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test, and no process that a test starts, reads or writes the state of whoever runs the tests."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("XDG_", "OPERABLE_", "OUTLINE_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("OPERABLE_HOME", str(home / "operable"))
        yield


def interpreter_first(path: str) -> str:
    """A search path that leads to an interpreter, and not to what only chooses one.

    The `python3` of pyenv is a shell script: it costs five times what the start of the interpreter costs that it chooses, and
    thousands of programs of the tests begin with `#!/usr/bin/env python3`.
    """
    found = shutil.which("python3", path=path)
    if found is None:
        return path
    with open(found, "rb") as file:
        if file.read(2) != b"#!":
            return path
    return os.pathsep.join((os.path.dirname(os.path.realpath(sys.executable)), path))


os.environ["PATH"] = interpreter_first(os.environ.get("PATH", os.defpath))

# Whoever starts the tests in the background of a script (CI, nohup) has SIGINT ignored, and so would every process that
# the tests start and interrupt: an ignored signal is inherited, a handled one is back to its default after exec.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage: thousands of tests are made, and all of them stay until the end."""
    gc.disable()
    if (worker := getattr(session.config, "workerinput", None)) is not None:
        bytecode.write_share(
            session.config, int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        )
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Requirements select their tests: `pytest -k agentcli:cli:delegation` runs what proves that one."""
    for mark in item.iter_markers("requirement"):
        item.extra_keyword_matches.update(mark.args)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--fast"):
        heavy = [item for item in items if is_heavy(item)]
        config.hook.pytest_deselected(items=heavy)
        left_out = set(heavy)
        items[:] = [item for item in items if item not in left_out]
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = dealt(items, workers, asked_seconds, is_heavy)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if name not in needs.PACKAGES:
                pytest.fail(f"tests/needs.py does not know the program {name!r}")
            if reason := needs.missing(name):
                pytest.skip(reason)


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("--strict-skips"):
        return
    unknown = skips.unknown([_reason(report) for report in reporter.getreports("skipped")])
    if unknown and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name every skipped test with its reason: nothing is skipped silently; and what the next run would do in full again."""
    if old := renewal.lines(terminalreporter.getreports("passed")):
        terminalreporter.section("linted in full; keep the verdicts, and the next run does less")
        for line in old:
            terminalreporter.write_line(line)
    by_reason = defaultdict(list)
    for report in terminalreporter.getreports("skipped"):
        by_reason[_reason(report)].append(report.nodeid)
    if not by_reason:
        return
    terminalreporter.section("skipped tests")
    for reason, tests in sorted(by_reason.items()):
        plural = "" if len(tests) == 1 else "s"
        terminalreporter.write_line(f"Skipped {len(tests)} test{plural}: {reason}")
        for test in sorted(tests):
            terminalreporter.write_line(f"  {test}")
    if terminalreporter.config.getoption("--strict-skips"):
        for reason in skips.unknown(list(by_reason)):
            terminalreporter.write_line(f"Failed: tests/skips.py does not have the reason {reason!r}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")
