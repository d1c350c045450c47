"""Kill, full disk, read-only disk, locks, clock, at random points over every store. See tests/campaign/__main__.py.

OPERABLE_CAMPAIGN_KILLS makes it longer; the seed is printed by a violation, and repeats it as far as timing allows.
"""

import json
import os
import subprocess
import sys

import pytest

from operable.kernel import catalogue
from tests.campaign.__main__ import STORES

# Read when this module is loaded: no test sees the variables of the user that begin with OPERABLE_.
_SEED = os.environ.get("OPERABLE_CAMPAIGN_SEED", "12")
_KILLS = os.environ.get("OPERABLE_CAMPAIGN_KILLS")
# A kill costs a second or so; those of applications, on a machine that does much else, up to twenty.
_LIMIT = 300 + 20 * int(_KILLS or 24)
_FOLDER = os.path.join(os.path.dirname(__file__), "stores")


@pytest.mark.needs("unshare")
@pytest.mark.timeout(_LIMIT + 30)
@pytest.mark.parametrize("name", catalogue.names(_FOLDER))
def test_no_crash_loses_what_was_acknowledged_and_no_effect_is_without_a_record(name):
    kind = catalogue.load(STORES, name, "STORE")
    kills = int(_KILLS or kind.kills)
    words = ["--store", name, "--kills", str(kills), "--seed", _SEED]

    ran = subprocess.run(
        [sys.executable, "-m", "tests.campaign", *words],
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = json.loads(ran.stdout)
    assert counts["kills"] >= kills
    assert counts["acknowledged"] > 0, "nothing was ever acknowledged: nothing could be lost"
    assert {f"rounds {each}" for each in ("plain", *kind.conditions)} <= set(counts)
    assert counts.get("effects", 1) > 0, "nothing ever happened"
