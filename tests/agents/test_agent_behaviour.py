"""The table: real agents × what a person does with one in a day. Each cell is right, or the agent's own documented limit.

What was seen is kept in behaviour/*.json, which is the table of docs/reference/agent-behaviour.md. A row costs four to nine
starts of an agent, so a usual run drives the rows whose package or manifest is not that of their outcomes, and one more,
another one each day; `--live` drives all. After a change of the host, of a manifest or of a pin

    ./dev test tests/agents/test_agent_behaviour.py -n 2 --keep-verdicts

drives all and keeps what it found; `./dev fix` makes the page of it, and `pytest -s -k printed` prints it.
"""

import asyncio
import os
import sys
import time
from importlib import import_module

import pytest

from operable.testing.models import ModelServer
from tests.agents.behaviour_rows import CELLS, FOLDER, NO_AIONRS, BehaviourRow, rows
from tests.agents.behaviour_scene import RIGHT, TRIES_ON, BehaviourScene
from tests.agents.install import BIN

ROWS = {row.row: row for row in rows()}
LIMIT = 900
NOT_TODAY = "the table of behaviour drives this row on another day"
# How long an agent tries again depends on the machine: neither outcome contradicts the other.
_BY_TIME = {RIGHT, TRIES_ON}


def is_due(row: BehaviourRow) -> bool:
    """Whether a usual run drives this row: what it was seen of has changed, or it is its day."""
    driven = [each.row for each in ROWS.values() if not each.release]
    today = driven[int(time.time() // 86400) % len(driven)]
    return row.is_old() or bool(row.release) or row.row == today


@pytest.mark.timeout(LIMIT + 30)
@pytest.mark.parametrize("name", ROWS)
def test_a_real_agent_behaves_as_the_table_says(name, tmp_path, monkeypatch, request):
    row = ROWS[name]
    if reason := row.absent():
        pytest.skip(reason)
    keeps = request.config.getoption("--keep-verdicts")
    if not keeps and not request.config.getoption("--live") and not is_due(row):
        pytest.skip(NOT_TODAY)
    monkeypatch.setenv("PATH", os.pathsep.join([*_programs(row, tmp_path), os.environ["PATH"]]))
    with ModelServer() as models:
        scene = BehaviourScene(row, tmp_path, models)
        found = asyncio.run(asyncio.wait_for(scene.played(), LIMIT))
    if keeps:
        row.keep(found)
    kept = row.kept()

    differing = [
        f"{cell}: {kept.get(cell)} is kept, {seen} was found"
        for cell, seen in found.items()
        if kept.get(cell) != seen and {kept.get(cell), seen} != _BY_TIME
    ]
    assert differing == []


def _programs(row: BehaviourRow, root) -> list[str]:
    """Where its programs are; of a release that AIONRS_BIN names, under the name that its manifest has."""
    from tests.agents.behaviour_rows import releases

    found = [str(BIN), os.path.dirname(sys.executable)]
    if row.release:
        (root / "bin").mkdir()
        (root / "bin" / "aionrs").symlink_to(releases()[row.release])
        found.insert(0, str(root / "bin"))
    return found


@pytest.mark.parametrize("name", ROWS)
def test_each_cell_of_the_table_is_right_or_a_documented_limit_of_the_agent(name):
    row = ROWS[name]
    kept = row.kept()

    assert list(kept) == list(CELLS)
    assert {cell for cell, seen in kept.items() if seen != RIGHT} == set(row.limits)
    assert [cell for cell, why in row.limits.items() if len(why) < 20] == []


def test_the_table_is_printed_and_has_fourteen_real_agents_and_three_releases_of_aionrs():
    table = import_module("tools.pages.agent_behaviour").render()
    print(table)
    real = [row for row in ROWS.values() if row.agent != "operable-agent"]

    assert len(real) >= 14
    assert sum(bool(row.release) for row in real) == 3
    assert {path.stem for path in FOLDER.glob("*.json")} == set(ROWS)
    assert all(f"| {name} |" in table for name in ROWS)
    assert NO_AIONRS in "".join(_known_skips())
    assert NOT_TODAY in _known_skips()


def _known_skips() -> tuple[str, ...]:
    from tests.skips import KNOWN

    return KNOWN
