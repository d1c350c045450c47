import subprocess
import sys
import threading

import pytest

from operable.host.launch.lock import exclusive
from operable.kernel.errors import Fail

HOLD = "import sys, fcntl; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait(200)
    process.stdin.close()
    process.stdout.close()


def test_a_lock_that_another_process_holds_is_waited_for(tmp_path, holder):
    waited = []

    def tell():
        waited.append(True)
        holder.kill()  # also a lock whose holder is killed is free

    with exclusive(str(tmp_path / "lock"), timeout=200, what="it", on_wait=tell):
        assert waited == [True]


def test_waiting_has_a_limit(tmp_path, holder):
    with pytest.raises(Fail) as caught, exclusive(str(tmp_path / "lock"), timeout=0.05, what="installing x"):
        pytest.fail("the lock was held")
    assert caught.value.code == "LOCK_TIMEOUT"
    assert "installing x" in caught.value.message


def test_waiting_can_be_stopped(tmp_path, holder):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Fail) as caught, exclusive(str(tmp_path / "lock"), timeout=200, what="it", stop=stop):
        pytest.fail("the lock was held")
    assert caught.value.category == "cancelled"


def test_a_lock_is_free_again_afterwards(tmp_path):
    for _ in range(2):
        with exclusive(str(tmp_path / "lock"), timeout=0, what="it"):
            pass
