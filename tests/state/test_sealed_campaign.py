"""Kill, full disk, read-only disk, lock, clock: at random points, with several writers. See tests/state/campaign.py.

OPERABLE_CAMPAIGN_KILLS makes it longer; the seed is printed by a violation, and repeats it as far as timing allows.
"""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.needs("unshare")
def test_no_crash_loses_what_was_acknowledged_or_looks_like_tampering():
    kills = int(os.environ.get("OPERABLE_CAMPAIGN_KILLS", "200"))
    seed = int(os.environ.get("OPERABLE_CAMPAIGN_SEED", "12"))

    ran = subprocess.run(
        [sys.executable, "-m", "tests.state.campaign", "--kills", str(kills), "--seed", str(seed)],
        capture_output=True,
        text=True,
        timeout=100 + kills,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = json.loads(ran.stdout)
    assert counts["kills"] >= kills
    assert counts["lost"] > 0, "no writer was killed between the start and the end of something"
    assert {name for name in counts if name.startswith("rounds ")} == {
        "rounds plain", "rounds clock", "rounds full", "rounds read-only", "rounds locked",
    }  # fmt: skip
