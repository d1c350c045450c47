"""The matrix: real agents × rules. No rule is passed, and what each agent does under each rule is what is kept.

A scripted model makes each agent call its own tools: run a command, write a file, delete one, fetch an address of this
machine, write outside the workspace. Each is tried under allow, deny and ask, by kind, by tool and by argument, and without
a rule. What became of it is kept in rules/*.json, which is the table of docs/reference/agent-rules.md. After a change of the
gate, of a manifest or of a pin

    ./dev test tests/agents/test_agent_rules.py -n 4 --keep-verdicts

keeps what this run found, and `./dev fix` makes the page of it. A call that was passed is never kept. This run, and one with
`--live`, starts a session for each set of rules and makes each call in a turn of its own; other runs give one session one set
after the other, and make the calls that are carried out together (`rule_scene`).
"""

import asyncio
import fcntl
import json
import os
import sys
from pathlib import Path

import pytest

from operable.testing.models import ModelServer
from tests.agents.install import BIN, PINS, missing
from tests.agents.rule_cases import CASES, Case, tried
from tests.agents.rule_cells import PASSED, RAN, Cell, expected
from tests.agents.rule_scene import Listener, Scene, matrix
from tests.agents.rule_subjects import RULES, Subject, subjects

SUBJECTS = {subject.row: subject for subject in subjects()}
# A row is fifty turns, in eight sessions with --live, on a machine that does much else.
LIMIT = 600
CASE_LIMIT = 240


def kept(row: str) -> dict[str, str]:
    path = RULES / f"{row}.json"
    found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def keep(row: str, found: dict[str, str]) -> None:
    # Another worker may keep another part of the same row.
    with open(RULES / "agents.toml", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = json.dumps({**kept(row), **found}, indent=1, sort_keys=True, ensure_ascii=False)
        (RULES / f"{row}.json").write_text(f"{text}\n", "utf-8")


def is_loose(cell: Cell, seen: str) -> bool:
    """Whether a rule did not hold: a denied call ran or could have been said yes to, or one ran before its question."""
    return seen == PASSED or (cell.effect != "allow" and seen not in expected(cell))


@pytest.fixture
def driven(monkeypatch):
    """Makes the programs of the agents be found; says why one is not there."""

    def drive(subject: Subject) -> None:
        if subject.agent in PINS and (reason := missing(subject.agent)):
            pytest.skip(reason)
        folders = [str(BIN), str(Path(sys.executable).parent), os.environ["PATH"]]
        monkeypatch.setenv("PATH", os.pathsep.join(folders))

    return drive


@pytest.mark.needs("curl")
@pytest.mark.timeout(LIMIT + 30)
@pytest.mark.parametrize("row", SUBJECTS)
def test_no_rule_is_passed_by_a_real_agent_and_each_does_what_is_kept(row, tmp_path, driven, request):
    subject = SUBJECTS[row]
    driven(subject)
    apart = any(map(request.config.getoption, ("--live", "--keep-verdicts")))
    with ModelServer() as models:
        cells = asyncio.run(
            asyncio.wait_for(matrix(subject, tmp_path, models, kept(row), apart=apart), LIMIT)
        )

    assert [f"{cell.key}: {seen}" for cell, seen in cells.items() if is_loose(cell, seen)] == []
    found = {cell.key: seen for cell, seen in cells.items()}
    if request.config.getoption("--keep-verdicts"):
        keep(row, found)
    differing = [
        f"{key}: {kept(row).get(key)} is kept, {seen} was found"
        for key, seen in found.items()
        if kept(row).get(key) != seen
    ]
    assert differing == []


@pytest.mark.timeout(CASE_LIMIT + 30)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row} {case.key}")
def test_a_rule_that_was_once_passed_holds(case: Case, tmp_path, driven, request):
    subject = SUBJECTS[case.row]
    driven(subject)

    async def play() -> str:
        async with Listener() as listener:
            return await tried(case, Scene(subject, tmp_path, models, listener))

    with ModelServer() as models:
        seen = asyncio.run(asyncio.wait_for(play(), CASE_LIMIT))

    assert seen != PASSED
    if request.config.getoption("--keep-verdicts"):
        keep(case.row, {case.key: seen})
    assert kept(case.row).get(case.key) == seen


@pytest.mark.parametrize("row", SUBJECTS)
def test_what_is_kept_is_whole_and_passes_no_rule(row):
    cases = {case.key for case in CASES if case.row == row}
    found = kept(row)

    cells = _cells(SUBJECTS[row])
    assert set(found) == {cell.key for cell in cells} | cases
    assert [cell.key for cell in cells if is_loose(cell, found[cell.key])] == []
    assert PASSED not in found.values()


@pytest.mark.parametrize("row", SUBJECTS)
def test_what_is_stricter_than_its_rule_says_has_its_reason(row):
    subject = SUBJECTS[row]
    strict = [cell.key for cell in _cells(subject) if kept(row)[cell.key] != expected(cell)[0]]
    strict += [
        case.key for case in CASES if case.row == row and case.means == RAN and kept(row)[case.key] != RAN
    ]

    assert [key for key in strict if not subject.reason(key)] == []
    assert [
        pattern for pattern in subject.why if not any(subject.matches(pattern, key) for key in strict)
    ] == []


def test_what_happened_is_looked_up_in_the_world(tmp_path):
    """The matrix can fail: an agent that does not keep to a no is seen, whatever it says."""
    cell = Cell("edit", "kind", "deny")
    with ModelServer() as models:
        scene = Scene(SUBJECTS["goose"], tmp_path, models, Listener())
        (scene.work / cell.name).write_text("made although it was denied\n")

    assert scene.outcome(cell, connections=0, asked=True) == PASSED
    assert scene.outcome(Cell("edit", "kind", "ask"), connections=0, asked=True) == "asked"


def _cells(subject: Subject) -> list[Cell]:
    from tests.agents.rule_cells import ACTIONS, rounds

    return [cell for each in rounds(subject.ways, dict.fromkeys(ACTIONS, "")) for cell in each.cells]
