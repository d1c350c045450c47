"""The report names every class of things, held or open."""

from itertools import combinations

import pytest

from operable.proc.sandbox.confinement import Confinement, ResourceLimits
from operable.proc.sandbox.ledger import given_up_items, open_items
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


QUANTITIES = {
    "memory": ResourceLimits(memory_mb=100),
    "number of processes": ResourceLimits(pids=10),
    "processor time": ResourceLimits(cpu_ms=1000),
    "time": ResourceLimits(timeout_ms=1000),
}


def unconfined(**facts):
    items = open_items(Confinement(cwd="/", **facts), scopes=True)
    return {item.item for item in items if item.outcome == "unconfined"}


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_without_a_limit_is_named_and_one_with_a_limit_is_not(name):
    assert name in unconfined()
    assert name not in unconfined(limits=QUANTITIES[name])
    assert set(QUANTITIES) - {name} <= unconfined(limits=QUANTITIES[name])


def test_what_no_limit_holds_is_always_named():
    always = {"disk space", "kernel objects", "facts of the machine", "kernel"}
    assert always <= unconfined(limits=ResourceLimits(memory_mb=1, pids=1, cpu_ms=1, timeout_ms=1))


def test_sockets_and_namespaces_are_named_where_they_are_declared():
    assert unconfined(sockets=True, namespaces=True) - unconfined() == {"unix sockets", "namespaces"}


def test_a_root_that_shows_the_host_is_named():
    assert "files outside" in unconfined(root="host")
    assert "files outside" not in unconfined(root="system")
