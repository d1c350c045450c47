"""Every example of the protocol's section 3 and every error of its section 4, played against the real process."""

from pathlib import Path

import pytest

from tests.agent.transcript import FOLDER, play
from tests.requirement import requirement


@requirement(
    "jsonstream:1:one-object-per-line",
    "jsonstream:2:events-complete",
    "jsonstream:2:commands-complete",
    "jsonstream:3:startup",
    "jsonstream:3:simple-exchange",
    "jsonstream:3:approval-flow",
    "jsonstream:3:several-tools",
    "jsonstream:3:shutdown",
    "jsonstream:4:protocol-error",
    "jsonstream:4:provider-error",
    "jsonstream:4:fatal-error",
)
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_agent_answers_as_the_transcript_says(path: Path, tmp_path: Path) -> None:
    play(path, tmp_path)
