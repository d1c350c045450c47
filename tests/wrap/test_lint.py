"""Every wrapper is linted, and its program as it is; the linter says of both what is kept beside the wrapper.

A wrapper that is not what it was when its verdicts were found (`linted.json`) is linted whole, and so are two of them in
every run. Of the others a run looks at the tool as a whole and at the command with the most passes: the runtime that all of
them share is the same, and a command of any of them is some fifty runs of its program. Where the program itself takes long
to start, that command is one that we add: it says what the wrapper declares, and the program is not run for it; that it is
run as declared is what the tests of these wrappers and of the runtime show. `--live` lints all of them whole.

What is kept is the table of docs/reference/wrappers.md. After a change of a wrapper, of its profile or of the linter

    ./dev test tests/wrap/test_lint.py -n 3 --keep-verdicts

keeps what this run found, and `./dev fix` makes the page of it. A wrapper whose program is not here, or in a version that
the wrapper does not know, is skipped with the reason, and what was kept of it stays.
"""

import json
import os
import shutil

import pytest

from operable.wrap.doctor import binary, version
from operable.wrap.places import folder_of
from operable.wrap.plan.cache import plan_of
from tests import renewal
from tools.wrapper_lint import (
    SERVERS,
    WRAPPERS,
    behaviour,
    both,
    digest,
    keep,
    linted_as,
    search_path,
    wrappers,
)

# What a profile puts beside the tool, where that is more than Python.
_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root gives a room of the linter interfaces, or a systemd"
)
_BESIDE = {
    "ip": [_ROOT],
    "journalctl": [pytest.mark.needs("/lib/systemd/systemd-journal-remote")],
    "psql": [_ROOT, pytest.mark.needs("pg_ctlcluster", "unshare")],
    "ssh": [_ROOT, pytest.mark.needs("sshd", "ssh-keygen", "unshare")],
    "systemctl": [_ROOT, pytest.mark.needs("dbus-daemon", "unshare")],
}

# Linted whole in every run: one with a server beside it that it changes, and one that only computes.
WHOLE = {"curl", "jq"}
# Programs of half a second and more for each start: a command of theirs takes as long as ten of the others.
SLOW = {"eslint", "jest", "kubectl", "mypy", "npm", "pip", "psql", "pytest", "restic", "ssh", "terraform"}
# What each wrapped tool has from us.
BUILT_IN = {"schema", "input-schema", "capabilities", "doctor", "completion"}

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


def changed(name: str) -> bool:
    """Whether a wrapper is another than the one whose verdicts are kept."""
    return linted_as().get(name) != digest(WRAPPERS / name)


def most_told(name: str) -> str:
    """The command of its own that passes in most; of a slow one, what we add to it."""
    if name in SLOW:
        return "capabilities"
    own = {
        command: pairs for command, pairs in kept(name)["wrapped"].items() if command not in {*BUILT_IN, "*"}
    }
    return max(sorted(own), key=lambda command: list(own[command].values()).count("pass"))


@pytest.mark.parametrize("file", ["CLI.md", "aoi-lint.toml", "parser.py", "tools/get/TOOL.md", "server"])
def test_a_wrapper_that_differs_in_anything_is_another_one(tmp_path, file):
    folder, servers = tmp_path / "curl", tmp_path / SERVERS.name
    shutil.copytree(WRAPPERS / "curl", folder)
    shutil.copytree(SERVERS, servers)
    assert digest(folder, servers) == digest(WRAPPERS / "curl")
    (folder / "lint.json").write_text("{}")
    assert digest(folder, servers) == digest(WRAPPERS / "curl")

    path = servers / "known_pages.py" if file == "server" else folder / file
    path.write_text(path.read_text() + ("MORE = 1\n" if path.suffix == ".py" else "\n"))

    assert digest(folder, servers) != digest(WRAPPERS / "curl")


def test_a_parser_that_only_says_it_differently_is_the_same(tmp_path):
    path = tmp_path / "parser.py"
    path.write_text('"""One."""\nfrom operable.a import b\n\ndef c():\n    """Two."""\n    return b(1)\n')
    before = behaviour(path)

    path.write_text('"""Uno."""\nfrom operable.d.e import b\n\ndef c():\n    # A reason.\n    return b(1)\n')
    assert behaviour(path) == before
    path.write_text("from operable.d.e import b\n\ndef c():\n    return b(2)\n")
    assert behaviour(path) != before
    path.write_text("from elsewhere import b\n\ndef c():\n    return b(1)\n")
    assert behaviour(path) != before


# Some hundred processes, and for some wrappers of compilers; minutes, on a machine that does much else.
@pytest.mark.timeout(1800)
@pytest.mark.needs("bwrap", "nsenter")
@pytest.mark.parametrize("name", [pytest.param(name, marks=_BESIDE.get(name, ())) for name in wrappers()])
def test_the_linter_says_what_is_kept(name, monkeypatch, request, record_property):
    monkeypatch.setenv("PATH", PATH)
    skip_unless_known(name)

    renewed = request.config.getoption("--keep-verdicts")
    whole = renewed or request.config.getoption("--live") or name in WHOLE or changed(name)
    command = most_told(name)
    if changed(name) and not renewed:
        record_property(
            renewal.PROPERTY, f"wrapper {name}: ./dev test tests/wrap/test_lint.py -k {name} --keep-verdicts"
        )
    found = both(name, () if whole else [command])
    if renewed:
        keep(name, found)

    for kind, linting in found.items():
        if linting is None:  # there is no program of this name to lint as it is
            assert kept(name)[kind] is None
            continue
        before, now = kept(name)[kind], linting.pairs
        if kind == "wrapped" and not whole:
            before = {looked_at: before[looked_at] for looked_at in (command, "*")}
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
    judges = (binary,) if plan.syscalls else (binary, version)
    for judge in judges:
        check = judge(plan)
        if not check.fields["ok"]:
            pytest.skip(f"wrapped {name}: {check.fields['detail']}")
