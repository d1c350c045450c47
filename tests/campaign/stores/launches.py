"""The ledger of launches: what it acknowledged about setup steps, it still knows."""

import random
from collections import Counter

from operable.host.launch.ledger import Ledger, Scope, StepRecord
from tests.campaign.store import Store, require, settled

_PLACES = 4
_SCOPE = Scope("b", "w", "u")


class LaunchLedger(Store):
    conditions = ("clock", "full", "read-only", "no locks")  # its locks are SQLite's

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        place = f"/{writer}/{chance.randrange(_PLACES)}"
        value = None if chance.random() < 0.2 else name
        number = len(self.notes.all("begun"))
        self.notes.add("begun", number, place, value)
        ledger = Ledger(str(self.home / "ledger.db"))
        if value is None:
            ledger.reopen(_SCOPE, place)
        else:
            ledger.completed(_SCOPE, place, StepRecord(value, "done"))
        self.notes.add("acknowledged", number, place, value)
        ledger.completed(_SCOPE, name, StepRecord("d", "done"))
        self.notes.add("completed", name)

    def judge(self, counts: Counter[str]) -> None:
        ledger = Ledger(str(self.home / "ledger.db"))
        begun, acknowledged = self.notes.all("begun"), self.notes.all("acknowledged")
        steps = ledger.steps(_SCOPE)
        digests = {step: record.digest for step, record in steps.items()}
        for place in sorted({where for _, where, _ in begun}):
            found, right = digests.get(place), settled(begun, acknowledged, place)
            require(found in right, "not what was acknowledged", place, found, right)
        gone = [name for (name,) in self.notes.all("completed") if name not in steps]
        require(not gone, "a completed step is gone", gone)


STORE = LaunchLedger
