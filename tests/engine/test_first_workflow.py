"""The first workflow of the manual, followed until a schedule has fired. Other runs of the page leave that part out."""

import re
from pathlib import Path

import pytest

from tests import documentation
from tests.documentation import ROOT, blocks, run_page


@pytest.mark.timeout(900)
def test_the_first_workflow_can_be_followed_until_a_schedule_fires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "BLOCK_TIMEOUT", 400)
    text = (ROOT / "docs/learn/first-workflow.md").read_text()
    assert text.count("timeout --preserve-status 75") == 1
    # The words of the page; a busy machine has twice the time until the full minute.
    text = text.replace("timeout --preserve-status 75", "timeout --preserve-status 150")
    shown = [block for block in blocks(text) if block.reason == "waits for the next full minute"]
    assert len(shown) == 2
    run_page(list(blocks(re.sub(r' norun reason="waits for the next full minute"', "", text))), tmp_path)
