"""A request for a run of a job, as the gate judges it: the same call from the catalog, a route and the command line."""

import os
from typing import Final

from operable.engine.store.rows import Definition
from operable.gate.call import CallerId, GatedCall
from operable.offer.action import Action
from operable.offer.gate_call import effect_of

TRIGGER: Final = Action("trigger", "Run this job now. The same key is the same run.", idempotent=True)


def trigger_call(caller: CallerId, job: Definition, key: str | None) -> GatedCall:
    arguments = {} if key is None else {"key": key}
    return GatedCall(
        caller,
        "flow",
        job.label,
        TRIGGER.name,
        arguments,
        effect_of(TRIGGER, arguments),
        os.getcwd(),
        definition=job.digest,
    )
