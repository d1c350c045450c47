"""`operable wrap shim`."""

import json
import subprocess

from tests.cli.drive import operable
from tests.tool.drive import LIMIT


def test_a_shim_is_the_wrapped_tool_and_refuses_an_unknown_command(tmp_path):
    shim = tmp_path / "ls-aoi"
    shim.write_bytes(operable("wrap", "shim", "ls", output=None).stdout)
    shim.chmod(0o755)

    good = subprocess.run(
        [shim, "list", tmp_path, "--output", "jsonl"], capture_output=True, timeout=LIMIT, check=True
    )
    bad = subprocess.run(
        [shim, "nothing", "--output", "jsonl"], capture_output=True, timeout=LIMIT, check=False
    )

    assert json.loads(good.stdout.splitlines()[1])["name"] == "ls-aoi"
    assert json.loads(bad.stdout.splitlines()[1])["code"] == "UNKNOWN_COMMAND"


def test_for_machines_the_program_is_one_event():
    (event,) = operable("wrap", "shim", "ls").results

    assert event["program"].startswith("#!")
