"""Calls of the agentcli command line in this process: what it prints, or why it fails."""

import json
from pathlib import Path
from typing import Any

import pytest

from operable.cli.agentcli import answer
from operable.flow.errors import FlowError

VARIABLES = "OUTPUT TARGET SIGNER SIGNING_KEY ALLOWED_SIGNERS EVIDENCE_PROVIDER SCHEDULER_DB SCHEDULER_PREFIX SCHEDULER_BIN SANDBOX"


class Calls:
    """A folder, a home, and a user without a key."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.home = folder, folder / "agentcli"
        self.set = monkeypatch.setenv
        (folder / "user").mkdir()
        monkeypatch.chdir(folder)
        for name in VARIABLES.split():
            monkeypatch.delenv(f"AGENTCLI_{name}", raising=False)
        for name, value in {
            "AGENTCLI_HOME": self.home,
            "HOME": folder / "user",
            "USER": "tester",
            "HOSTNAME": "host",
        }.items():
            monkeypatch.setenv(name, str(value))

    def write(self, name: str, value: Any) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return str(path)

    def ok(self, *words: Any) -> Any:
        text = answer([str(word) for word in words])
        assert text is not None
        return json.loads(text)

    def refused(self, *words: Any) -> FlowError:
        with pytest.raises(FlowError) as caught:
            answer([str(word) for word in words])
        return caught.value

    def said(self, *words: Any) -> tuple[str, str]:
        """(code, message) of a call that fails."""
        problem = self.refused(*words)
        return problem.flow_code, problem.message
