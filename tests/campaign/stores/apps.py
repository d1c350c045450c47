"""Approvals of applications: one file for all of them; what was approved or revoked stays so."""

import random
from collections import Counter

from operable.app.trust import Approvals
from tests.app.making import made, package_at
from tests.campaign.store import Store, require, settled

_PACKAGES = 2


class ApprovalsOfApps(Store):
    def prepare(self) -> None:
        names = [f"{writer}-{number}" for writer in range(self.writers) for number in range(_PACKAGES)]
        self._packages = {name: package_at(made(self.notes.folder / f"app-{name}")) for name in names}
        self._path = str(self.home / "apps" / "approvals.json")

    def locks(self) -> list[str]:
        path = self.home / "apps" / "approvals.json.lock"
        return [str(path)] if path.parent.exists() else []

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        place = f"{writer}-{chance.randrange(_PACKAGES)}"
        is_approved = chance.random() < 0.7
        number = len(self.notes.all("begun"))
        self.notes.add("begun", number, place, is_approved)
        if is_approved:
            Approvals(self._path).approve(self._packages[place])
        else:
            Approvals(self._path).revoke(self._packages[place])
        self.notes.add("acknowledged", number, place, is_approved)

    def judge(self, counts: Counter[str]) -> None:
        begun, acknowledged = self.notes.all("begun"), self.notes.all("acknowledged")
        for place, package in self._packages.items():
            standing = Approvals(self._path).standing(package)
            right = {bool(value) for value in settled(begun, acknowledged, place)}
            require(standing.trusted in right, "not what was acknowledged", place, standing, right)


STORE = ApprovalsOfApps
