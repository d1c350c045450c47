"""The judgement of the product's own command, from outside."""

import json
import subprocess
import sys

from tests.campaign.store import require

_MAIN = "from operable.cli import main; main()"


def verify(*words: str) -> None:
    """ViolationError unless `operable WORDS --output jsonl` says that all is well."""
    ran = subprocess.run(
        [sys.executable, "-c", _MAIN, *words, "--output", "jsonl"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    lines = ran.stdout.splitlines()
    is_well = ran.returncode == 0 and bool(lines) and json.loads(lines[-1]).get("ok") is True
    require(is_well, "false alarm of the command", words, ran.returncode, ran.stdout, ran.stderr)
