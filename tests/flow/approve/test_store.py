"""The file of approvals stays small, and loses nothing that can still be used."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from operable.flow.approve.records import folded
from operable.flow.approve.store import ApprovalStore
from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import timestamp

DAY = 86_400.0


def granted(name, ends=DAY):
    """A grant of about two kilobytes, as real ones are; it expires so many seconds from now."""
    now = time.time()
    return {
        "v": 2,
        "kind": "grant",
        "approval_id": name,
        "workflow_id": "w",
        "task_id": "t",
        "granted_at": timestamp(now - 40 * DAY),
        "expires_at": timestamp(now + ends),
        "bound": {"command": "x" * 2000},
    }


def used(name):
    return {"v": 2, "kind": "consume", "approval_id": name, "execution_id": f"e-{name}"}


def revoked(name):
    return {"v": 2, "kind": "revoke", "approval_id": name, "revoked_by": None}


@pytest.fixture
def store(tmp_path):
    return ApprovalStore(
        str(tmp_path / "approvals.ndjson"), str(tmp_path / "audit"), compact_at=20_000, kept_ended=3
    )


def written(store, *events):
    with open(store.path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def statuses(store):
    return {each["approval_id"]: each["status"] for each in folded(store.events(), time.time())}


def test_what_has_ended_leaves_a_large_file_and_what_can_be_used_stays(store):
    ended = [event for number in range(20) for event in (granted(f"u{number}"), used(f"u{number}"))]
    written(store, granted("first"), *ended, granted("r"), revoked("r"), granted("old", -31 * DAY))
    written(store, granted("expired", -1), granted("last"))
    before = lines(store.path)
    with store.locked():
        store.append(granted("new"))

    assert statuses(store) == {
        "first": "pending",
        "u19": "consumed",
        "r": "revoked",
        "old": "expired",
        "expired": "expired",
        "last": "pending",
        "new": "pending",
    }
    gone = lines(f"{store.path}.ended")
    assert [event["approval_id"] for event in gone if event["kind"] == "grant"] == [
        f"u{n}" for n in range(19)
    ]
    assert [event for event in before if event not in lines(store.path)] == gone
    assert {os.stat(path).st_mode & 0o777 for path in (store.path, f"{store.path}.ended")} == {0o600}


def test_a_small_file_and_one_of_approvals_that_wait_are_left_as_they_are(store):
    written(store, *(event for number in range(4) for event in (granted(f"u{number}"), used(f"u{number}"))))
    small = os.stat(store.path)
    with store.locked():
        pass
    assert os.stat(store.path).st_ino == small.st_ino

    written(store, *(granted(f"p{number}") for number in range(40)))
    large = os.stat(store.path)
    with store.locked():
        pass
    assert (os.stat(store.path).st_ino, os.stat(store.path).st_size) == (large.st_ino, large.st_size)
    assert not os.path.exists(f"{store.path}.ended")


def test_the_second_record_of_an_id_neither_ends_an_approval_nor_keeps_it(store):
    filler = [event for number in range(30) for event in (granted(f"u{number}"), used(f"u{number}"))]
    written(store, granted("a"), granted("a", -31 * DAY), granted("b", -31 * DAY), granted("b"), *filler)
    with store.locked():
        pass

    assert statuses(store)["a"] == "pending"
    assert "b" not in statuses(store)


def test_lines_that_are_no_events_and_a_torn_one_go_and_spoil_nothing(store):
    written(store, *(event for number in range(20) for event in (granted(f"u{number}"), used(f"u{number}"))))
    with open(store.path, "a", encoding="utf-8") as file:
        file.write('nonsense\n{"kind":"consume","approval_id":["u0"]}\n')
    written(store, granted("waits"))
    with open(store.path, "a", encoding="utf-8") as file:
        file.write('{"kind":"consume","approval_id":"wai')
    with store.locked():
        store.append(granted("next"))

    assert {name for name, status in statuses(store).items() if status == "pending"} == {"waits", "next"}


def test_a_use_that_does_not_count_does_not_end_an_approval(store):
    """A member that is not a text makes an event one that no reader believes; compaction believes it neither."""
    filler = [event for number in range(30) for event in (granted(f"u{number}"), used(f"u{number}"))]
    written(store, granted("a"), {**used("a"), "execution_id": {"not": "a text"}}, *filler)
    with store.locked():
        pass

    assert statuses(store)["a"] == "pending"


def test_a_file_that_grew_too_large_to_be_read_is_compacted_by_the_next_who_locks_it(tmp_path):
    store = ApprovalStore(str(tmp_path / "approvals.ndjson"), str(tmp_path / "audit"))
    with open(store.path, "w", encoding="utf-8") as file:
        for number in range(700):
            large = {**granted(f"u{number}"), "bound": {"command": "x" * 100_000}}
            file.writelines(json.dumps(event) + "\n" for event in (large, used(f"u{number}")))
        file.write(json.dumps(granted("waits")) + "\n")
    with pytest.raises(FlowError) as caught:
        store.events()
    assert "the next approval or its use compacts them" in caught.value.message

    small = ApprovalStore(store.path, store.audit, kept_ended=10)
    with small.locked():
        assert statuses(small)["waits"] == "pending"
        assert len(small.events()) == 21


# A writer that reports each event once it is on disk: every grant is used but each fifth, which waits for good.
WRITER = """
import json, sys
sys.path[:0] = [sys.argv[3]]
from operable.flow.approve.store import ApprovalStore
from tests.flow.approve.test_store import granted, used
store = ApprovalStore(sys.argv[1], sys.argv[1] + ".audit", compact_at=20_000, kept_ended=3)
number = 0
while True:
    name = f"{sys.argv[2]}-{number}"
    for event in (granted(name), used(name))[: 1 if number % 5 == 0 else 2]:
        with store.locked():
            store.append(event)
        print(event["kind"], name, flush=True)
    number += 1
"""


def test_a_kill_at_any_moment_of_compacting_loses_nothing_that_was_acknowledged(store):
    acknowledged = []
    for turn in range(12):
        words = [sys.executable, "-c", WRITER, store.path, str(turn), os.getcwd()]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(25 + 3 * turn):  # about where a compaction falls moves on with each turn
                acknowledged.append(writer.stdout.readline().split())
            writer.send_signal(signal.SIGKILL)
            acknowledged += [line.split() for line in writer.stdout if line.endswith("\n")]
    everything = [*lines_of_both(store)]

    for kind, name in acknowledged:
        assert (kind, name) in everything
    waiting = {
        name for kind, name in acknowledged if kind == "grant" and int(name.partition("-")[2]) % 5 == 0
    }
    found = statuses(store)
    assert {name: found.get(name) for name in waiting} == dict.fromkeys(waiting, "pending")
    spent = {name for kind, name in acknowledged if kind == "consume"}
    assert not [name for name in spent if found.get(name, "consumed") != "consumed"]
    assert os.path.getsize(store.path) < 2 * 2300 * (len(waiting) + 24)
    assert os.path.exists(f"{store.path}.ended")


def lines_of_both(store):
    for path in (store.path, f"{store.path}.ended"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue  # torn by a kill
                yield event["kind"], event["approval_id"]
