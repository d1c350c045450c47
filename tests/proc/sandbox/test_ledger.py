"""The report names every class of things, held or open."""

from itertools import combinations

import pytest

from operable.proc.sandbox.ledger import given_up_items
from operable.proc.sandbox.restriction import WORDS

CLASSES = {
    "writes": "writes outside",
    "network": "network",
    "sockets": "unix sockets",
    "processes": "other programs",
    "signals": "other processes",
}
ALWAYS_OPEN = {
    *("files outside", "process information", "memory", "number of processes", "processor time", "time"),
    *("disk space", "kernel objects", "facts of the machine", "kernel"),
}


@pytest.mark.parametrize("count", range(len(WORDS) + 1))
def test_what_is_not_given_up_is_named_as_open(count):
    for given_up in combinations(sorted(WORDS), count):
        told = {item.item: item.outcome for item in given_up_items(frozenset(given_up))}

        held = {CLASSES[word] for word in given_up}
        assert {item for item, outcome in told.items() if outcome == "enforced"} == held
        assert {item for item, outcome in told.items() if outcome == "unconfined"} == (
            ALWAYS_OPEN | set(CLASSES.values()) - held
        )
