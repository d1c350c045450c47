"""The clouds on loopback as tests use them: started in the environment of their SDK, and found by it."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.install import DIRECTORY, missing
from tests.proc.clouds.room import KEY

NAMES = ("blaxel", "daytona", "e2b", "modal")
# A loaded machine imports an SDK in seconds, not minutes.
PATIENCE = 120.0
ROOT = Path(__file__).parents[3]
# How each SDK is told where its provider is; {port} and {folder} are the cloud's.
VARIABLES = {
    "e2b": {
        "E2B_API_URL": "http://127.0.0.1:{port}",
        "E2B_SANDBOX_URL": "http://127.0.0.1:{port}",
        "E2B_HTTP_VERSION": "1.1",
    },
    "daytona": {"DAYTONA_API_URL": "http://127.0.0.1:{port}/api"},
    "blaxel": {
        "HTTPS_PROXY": "http://127.0.0.1:{port}",
        "SSL_CERT_FILE": "{folder}/ca.pem",
        "BL_WORKSPACE": "ws",
        "BL_REGION": "eu-lon-1",
    },
    "modal": {"MODAL_SERVER_URL": "http://127.0.0.1:{port}"},
}
KEYS = {
    "e2b": {"E2B_API_KEY": KEY},
    "daytona": {"DAYTONA_API_KEY": KEY},
    "blaxel": {"BL_API_KEY": KEY},
    "modal": {"MODAL_TOKEN_ID": "ak-id", "MODAL_TOKEN_SECRET": KEY},
}


class Sky:
    """One running cloud."""

    def __init__(self, name: str, folder: Path, port: int, packages: Path) -> None:
        self.name = name
        self.folder = folder
        self._port = port
        self._packages = packages

    def known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """For one test: the SDK can be imported, and finds this cloud, which remembers nothing of the tests before."""
        (self.folder / "journal").write_bytes(b"")
        monkeypatch.syspath_prepend(str(self._packages))
        for variable, text in {**VARIABLES[self.name], **KEYS[self.name]}.items():
            monkeypatch.setenv(variable, text.format(port=self._port, folder=self.folder))

    def journal(self, what: str) -> list[dict[str, Any]]:
        lines = (self.folder / "journal").read_bytes().splitlines()
        return [found for found in map(json.loads, lines) if found["what"] == what]

    def wait_for(self, what: str, count: int = 1) -> list[dict[str, Any]]:
        """What was asked of the cloud, once it was asked so often."""
        deadline = time.monotonic() + PATIENCE
        while len(found := self.journal(what)) < count:
            assert time.monotonic() < deadline, f"{self.name} was never asked: {what}"
            time.sleep(0.02)
        return found


@contextmanager
def sky(name: str, folder: Path) -> Iterator[Sky]:
    """The cloud of this name. Skips where its SDK is not installed."""
    reason = missing(f"cloud-{name}")
    if reason is not None:
        pytest.skip(reason)
    venv = DIRECTORY / f"cloud-{name}"
    (packages,) = (venv / "lib").glob("python*/site-packages")
    (folder / "bin").mkdir(parents=True)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(venv / "bin" / "python"), "-m", f"tests.proc.clouds.{name}_cloud", str(folder)],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield Sky(name, folder, _port(server, folder), packages)
    finally:
        server.kill()
        server.wait()


def _port(server: subprocess.Popen[bytes], folder: Path) -> int:
    deadline = time.monotonic() + PATIENCE
    while not (folder / "port").exists():
        log = (folder / "log").read_text("utf-8", "replace")
        assert server.poll() is None, log
        assert time.monotonic() < deadline, log
        time.sleep(0.02)
    return int((folder / "port").read_text())
