"""Callers for tests: a folder, an environment with nothing of whoever runs the tests, a home, and a key to sign with."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from operable.flow.audit import log as audit_log
from operable.flow.run.caller import Caller
from operable.gate.signatures.ssh_signatures import public_line
from tests.flow.manifests import Json, shell_task
from tests.flow.ssh_keys import written

ME = "me@example.com"
PATH = os.environ.get("PATH", os.defpath)


def caller(folder: Path, **variables: str) -> Caller:
    """Somebody without a key, working in `folder`/work."""
    work, user = folder / "work", folder / "user"
    work.mkdir(exist_ok=True)
    user.mkdir(exist_ok=True)
    environment = {"PATH": PATH, "HOME": str(user), "USER": "me", "HOSTNAME": "example.com", **variables}
    return Caller(str(work), environment, str(folder / "home"))


def signing_caller(folder: Path, **variables: str) -> Caller:
    """The same with an SSH key of their own."""
    made = caller(folder, **variables)
    keys = folder / "user" / ".ssh"
    keys.mkdir()
    _, key = written(keys, name="id_ed25519")
    (keys / "id_ed25519.pub").write_text(public_line(key.public_key()) + "\n")
    return made


def script(text: str, **members: Any) -> Json:
    """A shell task that runs these lines."""
    return shell_task(shell={"program": "sh", "args": ["-c", text]}, **members)


def audited(by: Caller) -> list[Json]:
    return audit_log.read(by.place("audit"))[0]


def until(holds: Callable[[], object], patience: float = 120.0) -> None:
    """Wait for something that takes milliseconds, on a machine that may be very busy."""
    ends = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)
