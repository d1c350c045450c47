"""The table of members: every member of the contract has a row, and every test that a row names exists."""

import re
from pathlib import Path

from operable.flow.manifest import vocabulary

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explain" / "manifest-members.md"
# Blocks whose members belong to another page, as this one says.
ELSEWHERE = ("authorization_proof", "authorization", "evidence")
# A block has a row of its own, or rows of its members.
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| `")
]


def test_every_member_of_a_task_has_a_row() -> None:
    known = {member for row in ROWS for member in re.findall(r"`([^`]+)`", row[0])}
    wanted = {member for member in vocabulary.TASK if member not in vocabulary.BLOCKS}
    for block, members in vocabulary.BLOCKS.items():
        wanted |= {block} if block in ELSEWHERE else {f"{block}.{member}" for member in members}
    assert wanted <= known, wanted - known
    assert known - wanted <= {"shell", "contract"}


def test_every_test_of_a_row_exists() -> None:
    for row in ROWS:
        assert len(row) == 3, row
        path, _, name = row[2].strip(" `|").partition("::")
        assert (ROOT / "tests" / path).exists(), path
        assert not name or f"def {name}(" in (ROOT / "tests" / path).read_text(), row
