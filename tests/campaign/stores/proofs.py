"""The ledger of used proofs: of any number of claims of one nonce, one is the first, for ever."""

import os
import random
import time
from collections import Counter

from operable.flow.trust.proof_ledger import claim
from operable.kernel.errors import Fail
from tests.campaign.store import Store, require


class ProofLedger(Store):
    span = 0.03

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        nonce = (
            f"{len(self.notes.all('acknowledged')) + chance.randrange(3)}"  # several writers want the same
        )
        try:
            is_first = claim(str(self.home / "proofs"), nonce, time.monotonic() + self._end)
        except OSError as problem:  # what its callers take for a refusal
            raise Fail("io", "CLAIM", str(problem)) from problem
        if is_first:
            self.notes.add("acknowledged", nonce)

    def prepare(self) -> None:
        self._end = time.time() - time.monotonic() + 3600

    def judge(self, counts: Counter[str]) -> None:
        claimed = Counter(nonce for (nonce,) in self.notes.all("acknowledged"))
        twice = [nonce for nonce, times in claimed.items() if times > 1]
        require(not twice, "claimed twice", twice)
        folder = str(self.home / "proofs")
        for nonce in claimed:
            require(not claim(folder, nonce, time.time() + 3600), "a claim is gone", nonce)
        used = os.path.join(folder, "used")
        left = [name for name in os.listdir(used) if name.startswith(".")] if os.path.isdir(used) else []
        counts["drafts left"] = len(left)


STORE = ProofLedger
