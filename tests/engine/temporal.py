"""A throw-away Temporal server on loopback: the one that `temporal server start-dev` runs, with its data in a file."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests import needs
from tests.engine.postgres import free_port
from tests.engine.worker.engines import until

_TIMEOUT = 60


class TemporalServer:
    def __init__(self, folder: Path) -> None:
        self._data = folder / "temporal.db"
        self.address = f"127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Self]:
        folder = Path(tempfile.mkdtemp(prefix="operable-temporal-", dir="/tmp"))
        server = cls(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def queue(self) -> str:
        return f"temporal://{self.address}/default"

    def start(self) -> None:
        port = self.address.rpartition(":")[2]
        words = f"server start-dev --headless --ip 127.0.0.1 --port {port} --db-filename {self._data} --log-level never"
        self._process = subprocess.Popen(
            [needs.path_of("temporal"), *words.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._is_ready)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(_TIMEOUT)

    def forget_everything(self) -> None:
        """Start again without what it knew, as a server without a file does."""
        self.stop()
        self._data.unlink()
        self.start()

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server has ended"
        words = ("operator", "namespace", "describe", "-n", "default", "--address", self.address)
        done = subprocess.run(
            [needs.path_of("temporal"), *words], capture_output=True, timeout=_TIMEOUT, check=False
        )
        return done.returncode == 0
