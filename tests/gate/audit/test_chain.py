"""The audit chain: whatever is done to it afterwards is found."""

import json
import multiprocessing
import os
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.gate.audit.chain import Audit, Head, parse_head, read_audit, verify_audit
from operable.gate.audit.place import workspace_slug
from operable.host.session.registry import Registry, SessionMeta
from operable.kernel.canonical import canonical_json
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from tests.requirement import requirement


def chain(tmp_path, count=5, **facts):
    audit = Audit(str(tmp_path / "audit.jsonl"), actor="agent:test", **facts)
    for number in range(count):
        audit.record("agent.turn", subject={"kind": "session", "ref": "s"}, input={"number": number})
    return tmp_path / "audit.jsonl"


def codes(path, **facts):
    return [problem.code for problem in verify_audit(str(path), **facts).problems]


@requirement("aip-substrate:4.12:9-audit-chain")
def test_a_chain_that_nobody_touched_verifies_without_a_key(tmp_path):
    found = verify_audit(str(chain(tmp_path)))

    assert found.ok
    assert found.records == 5
    assert found.head is not None
    assert found.head.seq == 4


def test_records_have_the_form_of_the_standard(tmp_path):
    lines = chain(tmp_path, 2).read_bytes().splitlines()
    first, second = map(json.loads, lines)

    assert (first["$schema"], first["doctype"], first["seq"]) == ("agentgovernance/v1", "audit-event", 0)
    assert first["prevHash"] == "0" * 64
    assert second["prevHash"] == first["hash"]
    sealed = json.dumps(
        {k: v for k, v in first.items() if k != "hash"}, sort_keys=True, separators=(",", ":")
    )
    assert first["hash"] == sha256(sealed.encode()).hexdigest()


def test_an_edit_is_found(tmp_path):
    path = chain(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"number":2', b'"number":9'))

    assert codes(path) == ["chain.tampered"]


def test_an_edit_with_a_new_hash_is_found_by_the_next_record(tmp_path):
    path = chain(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    record = msgspec.json.decode(lines[2])
    del record["hash"]
    record["input"] = {"number": 9}
    record["hash"] = sha256(canonical_json(record)).hexdigest()
    lines[2] = canonical_json(record) + b"\n"
    path.write_bytes(b"".join(lines))

    assert codes(path) == ["chain.broken"]


@pytest.mark.parametrize("removed", range(4))
def test_a_removed_line_is_found(tmp_path, removed):
    path = chain(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[removed]
    path.write_bytes(b"".join(lines))

    assert "chain.seq_gap" in codes(path)


def test_a_chain_that_was_cut_short_is_found_by_its_head(tmp_path):
    path = chain(tmp_path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))

    assert codes(path) == ["chain.truncated"]


def test_a_chain_that_was_removed_is_found_by_its_head(tmp_path):
    path = chain(tmp_path)
    path.unlink()

    assert codes(path) == ["chain.truncated"]


def test_two_lines_that_changed_places_are_found(tmp_path):
    path = chain(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1], lines[2] = lines[2], lines[1]
    path.write_bytes(b"".join(lines))

    assert "chain.seq_gap" in codes(path)


def test_a_history_made_anew_is_found_only_by_an_anchor_kept_elsewhere(tmp_path):
    path = chain(tmp_path)
    anchor = parse_head((tmp_path / "audit.jsonl.head").read_text())
    path.unlink()
    (tmp_path / "audit.jsonl.head").unlink()
    chain(tmp_path, 7, secrets=())
    lines = path.read_bytes()
    path.write_bytes(lines)

    assert codes(path) == []  # what a chain alone cannot show
    assert codes(path, anchor=anchor) == ["chain.tampered"]


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_any_flipped_bit_is_found(tmp_path_factory, place, bit):
    path = chain(tmp_path_factory.mktemp("chain"), 3)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 1 << bit
    path.write_bytes(bytes(data))

    assert codes(path) != []


def test_a_line_that_a_crash_tore_is_replaced_by_the_next_record(tmp_path):
    path = chain(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"$schema":"agentgovern')

    chain(tmp_path, 2)

    assert codes(path) == []
    assert verify_audit(str(path)).records == 7


def test_a_damaged_end_is_not_built_upon(tmp_path):
    path = chain(tmp_path)
    with path.open("ab") as file:
        file.write(b"something else\n")

    with pytest.raises(Fail) as failure:
        chain(tmp_path, 1)

    assert failure.value.code == "AUDIT_DAMAGED"


def begun(registry, workspace, protocol="acp"):
    """A session that had an agent, or (without a protocol) one that is about to start it."""
    meta = SessionMeta(f"ses_{protocol}", "test", workspace_slug(workspace), workspace, protocol=protocol)
    return registry.create(meta)


def record_in(registry, workspace):
    audit = registry.audit(workspace, actor="agent:test", secrets=Known(()))
    audit.record("agent.turn", subject={"kind": "session", "ref": "s"})
    return audit.path


def test_a_chain_that_was_removed_from_a_workspace_with_sessions_stays_truncated(tmp_path, monkeypatch):
    registry, workspace = Registry(str(tmp_path)), str(tmp_path / "work")
    begun(registry, workspace, protocol="")
    path = record_in(registry, workspace)
    begun(registry, workspace)
    record_in(registry, workspace)
    assert codes(path) == []
    for file in (tmp_path / workspace_slug(workspace)).glob("audit.jsonl*"):
        file.unlink()

    with monkeypatch.context() as refusing:
        refusing.setenv("OPERABLE_AUDIT_DAMAGED", "refuse")
        with pytest.raises(Fail, match="had 1 session") as failure:
            record_in(registry, workspace)
    assert failure.value.code == "AUDIT_DAMAGED"
    for _ in range(3):
        record_in(registry, workspace)
        assert codes(path) == ["chain.truncated"]
    actions = [json.loads(line)["action"] for _, _, line in read_audit(path)]
    assert actions == ["audit.restarted", *["agent.turn"] * 3]


def test_processes_share_one_chain(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=chain, args=(tmp_path, 20)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(50)

    found = verify_audit(str(tmp_path / "audit.jsonl"))

    assert found.ok
    assert found.records == 80


def test_secrets_and_large_values_do_not_reach_the_chain(tmp_path):
    audit = Audit(str(tmp_path / "audit.jsonl"), actor="a", secrets=["correct-horse"])
    audit.record(
        "agent.tool-call",
        subject={"kind": "tool", "ref": "Bash"},
        input={"command": "login correct-horse", "password": "hunter2", "file": "x" * 100_000},
        output={"Authorization": "Bearer abcdefghijklmnop"},
    )
    text = (tmp_path / "audit.jsonl").read_text()

    assert "correct-horse" not in text
    assert "hunter2" not in text
    assert "abcdefghijklmnop" not in text
    assert '"$redacted":true' in text
    assert len(text) < 2000


def test_time_never_runs_backwards_in_a_chain_and_what_the_clock_said_is_kept(tmp_path):
    path = chain(tmp_path, 1)
    chain(tmp_path, 1, clock=lambda: 0.0)
    first, second = map(json.loads, path.read_bytes().splitlines())

    assert codes(path) == []
    assert second["ts"] == first["ts"]
    assert second["metadata"]["clock"] == "1970-01-01T00:00:00.000Z"


def test_a_record_of_the_future_is_counted_and_is_not_tampering(tmp_path):
    path = chain(tmp_path, 1, clock=lambda: 4_000_000_000.0)
    chain(tmp_path, 1)

    found = verify_audit(str(path))
    assert (found.ok, found.times_ahead) == (True, 2)


def test_a_chain_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "audit.jsonl").mkdir()

    with pytest.raises(Fail) as failure:
        chain(tmp_path, 1)

    assert failure.value.code == "AUDIT_UNWRITABLE"


def test_files_are_private(tmp_path):
    path = chain(tmp_path)

    assert [os.stat(name).st_mode & 0o777 for name in (path, f"{path}.head")] == [0o600, 0o600]


@pytest.mark.parametrize("text", ["", "x", "1", "1 abc"])
def test_an_anchor_that_is_none_is_refused(text):
    with pytest.raises(Fail):
        parse_head(text)
    assert parse_head(f"3 {'a' * 64}\n") == Head(3, "a" * 64)


def test_names_titles_and_references_are_bounded_and_masked_like_values(tmp_path):
    audit = Audit(str(tmp_path / "audit.jsonl"), actor="a" * 5000, secrets=["correct-horse"])
    audit.record(
        "agent.decision",
        subject={"kind": "tool", "ref": "x" * 100_000, "path": "/correct-horse/y"},
        decision=("policy:deny " + "z" * 9000, "deny"),
        metadata={"call": "\ud800" + "c" * 9000},
    )
    text = (tmp_path / "audit.jsonl").read_text()

    assert len(text) < 2000
    assert "correct-horse" not in text
    assert text.count("sha256:") >= 3
    assert codes(tmp_path / "audit.jsonl") == []


def test_a_full_chain_goes_on_in_another_file_and_is_read_and_checked_as_one(tmp_path):
    path = chain(tmp_path, 20, rotate_at=1000)

    assert len(list(tmp_path.glob("audit.jsonl.0*"))) > 2
    assert [json.loads(line)["seq"] for _, _, line in read_audit(str(path))] == list(range(20))
    assert (codes(path), verify_audit(str(path)).records) == ([], 20)
    sorted(tmp_path.glob("audit.jsonl.0*"))[1].unlink()
    assert codes(path) == ["chain.seq_gap"]


def test_a_chain_of_the_version_before_is_verified_and_continued(tmp_path):
    """Records without phases, a head of one line, no lock file: as 0.1 wrote them."""
    path, previous, lines = tmp_path / "audit.jsonl", "0" * 64, b""
    for seq in range(3):
        record = {
            "$schema": "agentgovernance/v1", "doctype": "audit-event", "actor": {"id": "agent:x"}, "action": "agent.turn",
            "subject": {"kind": "session", "ref": "s"}, "seq": seq, "ts": "2026-01-01T00:00:00.000Z", "prevHash": previous,
        }  # fmt: skip
        previous = sha256(canonical_json(record)).hexdigest()
        lines += canonical_json({**record, "hash": previous}) + b"\n"
    path.write_bytes(lines)
    (tmp_path / "audit.jsonl.head").write_text(f"2 {previous}\n")
    assert codes(path) == []

    chain(tmp_path, 2)
    assert (codes(path), verify_audit(str(path)).records) == ([], 5)
