"""The file of a long result goes with the process that made it, however that ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.tool.drive import LIMIT

MAKES = """
import sys, time
from operable.offer.spool import Spool
spool = Spool(10)
for _ in range(100):
    spool.add(b"line\\n")
print(spool.finish(), flush=True)
time.sleep(600 if sys.argv[1] == "stay" else 0)
"""


@pytest.mark.parametrize("ends", ["by itself", "kill -9"])
def test_it_is_gone_with_its_process(ends, tmp_path):
    word = "stay" if ends == "kill -9" else "go"
    with subprocess.Popen(
        [sys.executable, "-c", MAKES, word],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        path = process.stdout.readline().decode().strip()
        if ends == "kill -9":
            assert os.path.getsize(path) == 500
            process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)
    deadline = time.monotonic() + LIMIT
    while os.listdir(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert path.startswith(str(tmp_path))
    assert os.listdir(tmp_path) == []
