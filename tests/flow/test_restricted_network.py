"""`network: restricted`, against names and hosts of our own in a network that has nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.requirement import requirement

_ALONE = (
    ["unshare", "--net", "--mount"]
    if os.geteuid() == 0
    else ["unshare", "--map-root-user", "--net", "--mount"]
)
_PUBLIC = "93.184.215.14"


@pytest.mark.needs("bwrap", "ip", "unshare")
@requirement("agentcli:exec:sandbox-on-linux")
def test_public_hosts_are_reached_by_names_that_are_resolved_once_and_nothing_leads_back_inside(tmp_path):
    words = [*_ALONE, sys.executable, "-m", "tests.flow.public_hosts", str(tmp_path)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    reached = [address for address, text in found["got"] if text == _PUBLIC]
    refused = {text for address, text in found["got"] if text != _PUBLIC}
    # Of a host with two addresses the public one is used; the name that moved inside was reached before it did.
    assert reached == ["http://public.example/", "http://both.example/", "http://moves.example/"]
    # 403: not on the list, or leads inside; 400: not a name, but an address in an old spelling.
    assert refused == {"refused 400", "refused 403"}
    assert len(found["got"]) == 18
    assert found["private"] == 0
    # Once for each connection: what was judged is what was connected to.
    assert found["asked"].count("both.example") == 1
    assert found["asked"].count("moves.example") == 3
