"""Executions of tasks by the real command: every effect has a record, and what was reported as done is recorded."""

import json
import os
import random
import sys
from collections import Counter

from operable.flow.audit import log as audit_log
from operable.flow.canonical import hash_text
from tests.campaign.command import verify
from tests.campaign.store import Store, require
from tests.flow.callers import caller, script
from tests.flow.manifests import manifest

_MAIN = "from operable.cli import main; main()"


class Executions(Store):
    """Each writer becomes `operable flow exec`: with its signals, its keeper and its way to end."""

    span = 1.2
    writers = 2
    kills = 14
    conditions = ("full", "read-only", "locked")

    def prepare(self) -> None:
        self._by = caller(self.notes.folder.resolve())
        self._done: set[str] = set()
        self._audit = self.home / "flow" / "state" / "audit.ndjson"

    def locks(self) -> list[str]:
        return [f"{self._audit}.lock"] if self._audit.parent.exists() else []

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        path = self.notes.folder / f"{name}.json"
        value = manifest(script(f"echo {name} >> effects; {chance.choice(['true', 'sleep 0.2'])}"))
        path.write_text(json.dumps(value))
        output = os.open(self.notes.folder / f"{name}.out", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(self._by.cwd)
        words = ["flow", "exec", str(path), "a", "--confirm", "--output", "jsonl"]
        home = ["--home", str(self.home / "flow")]
        os.execve(sys.executable, [sys.executable, "-c", _MAIN, *words, *home], dict(self._by.environment))

    def progress(self) -> int:
        return sum(_is_done(path.read_text()) for path in self.notes.folder.glob("*.out"))

    def judge(self, counts: Counter[str]) -> None:
        found = audit_log.verify(str(self._audit))
        require(not found["problems"], "false alarm", found["problems"])
        records = audit_log.read(str(self._audit))[0] if self._audit.exists() else []
        texts = {record["command"]["args_hashes"][1]: record for record in records if record.get("command")}
        known = {
            path.stem: hash_text(json.loads(path.read_text())["workflows"][0]["tasks"][0]["shell"]["args"][1])
            for path in self.notes.folder.glob("*.json")
            if path.stat().st_size
        }
        path = self.notes.folder / "work" / "effects"
        effects = path.read_text().splitlines() if path.exists() else []
        for name in effects:
            require(known[name] in texts, "an effect without a record", name)
        counts["effects"] += len(effects) - counts["effects of this store"]
        counts["effects of this store"] = len(effects)
        for name, text in known.items():
            output = self.notes.folder / f"{name}.out"
            shown = output.read_text() if output.exists() else ""
            if _is_done(shown):
                counts["acknowledged"] += name not in self._done
                self._done.add(name)
                ended = texts.get(text, {}).get("result") or {}
                require(ended.get("exit_code") == 0, "reported as done, and not recorded", name)

    def finish(self) -> None:
        verify("flow", "audit", "verify", "--home", str(self.home / "flow"))


def _is_done(shown: str) -> bool:
    """Whether the command said to its caller that the task is done."""
    lines = [json.loads(line) for line in shown.splitlines() if line.startswith("{") and line.endswith("}")]
    return any(line.get("type") == "aoi:summary" and line.get("ok") is True for line in lines)


STORE = Executions
