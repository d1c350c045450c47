"""Approvals of flow tasks: used at most once, never after a revocation, and never without a record."""

import random
from collections import Counter
from typing import Any

from operable.flow.approve import local_approvals
from operable.flow.approve.audit_trail import known
from operable.flow.audit import log as audit_log
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.run.caller import Caller, bind, content_of
from operable.flow.run.executor import execute
from operable.flow.run.options import ExecOptions
from tests.campaign.command import verify
from tests.campaign.store import Store, require
from tests.flow.callers import caller, script
from tests.flow.executions import approve
from tests.flow.manifests import manifest


class ApprovalsOfTasks(Store):
    """Writers approve tasks, and use and revoke their own approvals and those of others, at the same time."""

    span = 0.4

    def prepare(self) -> None:
        self.by: Caller = caller(self.notes.folder.resolve())
        self.by = Caller(self.by.cwd, self.by.environment, str(self.home / "flow"))
        execute(manifest(script("true")), "a", self.by)

    def locks(self) -> list[str]:
        return [f"{self.by.place('audit')}.lock"]

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        if chance.random() < 0.5:
            made = approve(self.by, _task(name), signer="none")
            self.notes.add("acknowledged", name, made["approval_id"])
        granted = self.notes.all("acknowledged")[-6:]
        if not granted:
            return
        name, approval_id = chance.choice([*granted, granted[-1], granted[-1]])
        if chance.random() < 0.2:
            local_approvals.revoke(self.by.approvals, approval_id, by="me")
            self.notes.add("revoked", approval_id)
            return
        execute(_task(name), "a", self.by, ExecOptions(approval_id=approval_id))
        self.notes.add("used", approval_id)

    def judge(self, counts: Counter[str]) -> None:
        audit, granted = self.by.place("audit"), dict(self.notes.all("acknowledged"))
        found = audit_log.verify(audit)
        require(not found["problems"], "false alarm", found["problems"])
        uses = Counter(each["approval_id"] for each in known(audit).events if each["kind"] == "consume")
        used = {name for name, _ in uses.items()}
        recorded = audit_log.read(audit)[0]
        twice = Counter(
            each["approval"]["approval_id"] for each in recorded if each.get("status") == "approval_used"
        )
        require(not [name for name, times in twice.items() if times > 1], "used twice", twice)
        effects = Counter(self._effects())
        require(not [name for name, times in effects.items() if times > 1], "two effects", effects)
        for name in effects:
            require(granted.get(name) in used, "an effect without a recorded use", name)
        revoked = {name for (name,) in self.notes.all("revoked")}
        require(not revoked & used, "used and revoked", revoked & used)
        for (name,) in self.notes.all("used"):
            require(name in used, "an acknowledged use is gone", name)
        listed = {each["approval_id"]: each for each in local_approvals.listed(self.by.approvals)}
        for name, approval_id in granted.items():
            require(approval_id in listed, "an acknowledged approval is gone", name)
        for approval_id in revoked:
            require(listed[approval_id]["status"] == "revoked", "revoked, and not so", listed[approval_id])
        spent = [(name, each) for name, each in granted.items() if each in used | revoked]
        for name, approval_id in spent[-4:]:
            self._refuse(name, approval_id)
        counts["effects"] += len(effects) - counts["effects of this store"]
        counts["effects of this store"] = len(effects)

    def finish(self) -> None:
        verify("flow", "audit", "verify", "--home", str(self.by.home))

    def _effects(self) -> list[str]:
        try:
            with open(self.notes.folder / "effects") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def _refuse(self, name: str, approval_id: str) -> None:
        selected = select(_task(name), "a")
        bound = bind(selected, self.by)
        try:
            local_approvals.require_pending(
                self.by.approvals,
                selected,
                bound.binding,
                content=content_of(selected, bound, self.by),
                believing=self.by.believing(),
                approval_id=approval_id,
            )
        except FlowError:
            return
        require(False, "usable again", name, approval_id)


def _task(name: str) -> dict[str, Any]:
    limits = {"approval": {"policy": "manual"}, "budgets": {"max_pending_approvals": 10_000}}
    return manifest(script(f"cd .. && echo {name} >> effects", **limits))


STORE = ApprovalsOfTasks
