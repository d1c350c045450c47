"""Every wrapper is linted whole, and its program as it is; the linter says of both what is kept beside the wrapper.

What is kept is the table of docs/reference/wrappers.md. After a change of a wrapper, of its profile or of the linter

    ./dev test tests/wrap/test_lint.py -n 3 --keep-verdicts

keeps what this run found, and `./dev fix` makes the page of it. A wrapper whose program is not here, or in a version that
the wrapper does not know, is skipped with the reason, and what was kept of it stays.
"""

import json
import os

import pytest

from operable.wrap.doctor import binary, version
from operable.wrap.places import folder_of
from operable.wrap.plan.cache import plan_of
from tools.wrapper_lint import WRAPPERS, both, keep, search_path, wrappers

# What a profile puts beside the tool, where that is more than Python.
_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root gives a room of the linter interfaces, or a systemd"
)
_BESIDE = {
    "ip": [_ROOT],
    "journalctl": [pytest.mark.needs("/lib/systemd/systemd-journal-remote")],
    "systemctl": [_ROOT, pytest.mark.needs("dbus-daemon", "unshare")],
}

# Asked here and not by a test: in a home of its own, as every test has one, rustup knows no compiler.
PATH = search_path()


def kept(name: str) -> dict[str, dict[str, dict[str, str]]]:
    path = WRAPPERS / name / "lint.json"
    found: dict[str, dict[str, dict[str, str]]] = json.loads(path.read_text()) if path.exists() else {}
    return found


@pytest.mark.parametrize("name", wrappers())
def test_nothing_that_is_kept_failed(name):
    failed = [
        (command, characteristic)
        for command, pairs in kept(name)["wrapped"].items()
        for characteristic, result in pairs.items()
        if result == "fail"
    ]

    assert failed == []


# Some hundred processes, and for some wrappers of compilers; minutes, on a machine that does much else.
@pytest.mark.timeout(1800)
@pytest.mark.needs("bwrap", "nsenter")
@pytest.mark.parametrize("name", [pytest.param(name, marks=_BESIDE.get(name, ())) for name in wrappers()])
def test_the_linter_says_what_is_kept(name, monkeypatch, request):
    monkeypatch.setenv("PATH", PATH)
    skip_unless_known(name)

    found = both(name)
    if request.config.getoption("--keep-verdicts"):
        keep(name, found)

    for kind, linting in found.items():
        assert linting is not None
        before, now = kept(name)[kind], linting.pairs
        differing = [
            f"{kind} {command}, {characteristic}: {was} is kept, {result} was found; "
            + "; ".join(linting.reasons(command, characteristic))
            for command, results in now.items()
            for characteristic, result in results.items()
            if (was := before.get(command, {}).get(characteristic)) != result
        ]
        assert not differing, "\n".join(differing)
        assert now == before  # neither are there fewer


def skip_unless_known(name: str) -> None:
    """Without the program that the wrapper was made for there is nothing to say."""
    plan = plan_of(folder_of(name))
    judges = (binary,) if plan["syscalls"] else (binary, version)
    for judge in judges:
        check = judge(plan)
        if not check.fields["ok"]:
            pytest.skip(f"wrapped {name}: {check.fields['detail']}")
