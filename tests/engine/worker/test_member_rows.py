"""Members that a decision, a gate or an enclosure carries out: what each does to a run that a worker starts."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.manifests import task
from tests.engine.worker.engines import Engine

ENDS = ("succeeded", "failed", "timed_out", "refused", "skipped", "rejected")


def overlap(policy: str) -> dict[str, str]:
    return {"overlap_policy": policy}


@contextmanager
def listener() -> Iterator[int]:
    """A port of this machine that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_budgets_and_overlap_decide_about_a_run_when_it_is_made(tmp_path: Path) -> None:
    asks = {"approval": {"policy": "manual", "risk_level": "high"}, "reliability": overlap("allow")}
    engine = Engine(
        tmp_path,
        task("skips", reliability=overlap("skip")),
        task("queues", "sh", "-c", "echo begin >> q; echo end >> q", reliability=overlap("queue")),
        task("allows", reliability=overlap("allow")),
        task("full", reliability=overlap("queue"), budgets={"max_queued_dispatches": 1}),
        task("asks", budgets={"max_pending_approvals": 1}, **asks),
    )
    runs = {
        name: [engine.trigger(name, "--key", key) for key in "123"]
        for name in ("skips", "queues", "allows", "full", "asks")
    }
    assert [engine.state(run) for run in runs["skips"]] == ["ready", "skipped", "skipped"]
    assert [engine.state(run) for run in runs["queues"]] == ["ready", "blocked", "blocked"]
    assert [engine.state(run) for run in runs["allows"]] == ["ready"] * 3
    assert [engine.state(run) for run in runs["full"]] == ["ready", "refused", "refused"]
    assert [engine.state(run) for run in runs["asks"]] == ["asking", "refused", "refused"]
    assert "budgets.max_queued_dispatches" in str(engine.runs(run_id=runs["full"][1])[0].reason)
    assert "budgets.max_pending_approvals" in str(engine.runs(run_id=runs["asks"][1])[0].reason)
    engine.call("start", "--until-idle")
    made = [engine.state(run) for name in ("skips", "queues", "allows", "full") for run in runs[name]]
    assert made == [
        *("succeeded", "skipped", "skipped"),
        *(["succeeded"] * 6),
        *("succeeded", "refused", "refused"),
    ]
    assert (tmp_path / "q").read_text().split() == ["begin", "end"] * 3
    planned = engine.planned("approve", runs["asks"][0])
    assert '"risk_level":"high"' in planned
    assert '"runs":["true"]' in planned


def test_limits_and_contracts_end_or_enclose_what_runs(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    program = {"program": "sh", "args": ["-c", f"echo x > {inside}/x; echo x > {outside}/x"]}
    only = {"sandbox": "strict", "allowed_paths": [str(inside)], "network": "unrestricted"}
    trusted = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
    with listener() as port:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('connected')"
        engine = Engine(
            tmp_path,
            task("endless", "sleep", "600", runtime={"timeout_ms": 300}),
            task("unverified", "echo", "made", verify={"shell": "sleep 600", "timeout_seconds": 1}),
            task("paths", contract=only, shell={**program, "cwd": str(inside)}),
            task("elsewhere", "true", contract=only),
            task("alone", "python3", "-c", connect, contract={"sandbox": "strict", "network": "none"}),
            task("linked", "python3", "-c", connect),
            task("trusted", contract=trusted),
            task("unrecorded", "echo", "quiet", contract={"audit": "none"}),
            task("text", "echo", "{not json", output={"format": "json"}),
            task("parent"),
            task("later", trigger={"parent": "parent", "on": "success", "delay_s": 1}),
            task("repeats", "false", reliability={"max_retries": 1}),
            task(
                "remembers",
                *("printenv", "OPERABLE_CONTEXT"),
                context={"retrieval": "recent"},
                budgets={"max_context_items": 1},
                reliability=overlap("queue"),
            ),
        )
        names = (
            "endless unverified paths elsewhere alone linked trusted unrecorded text parent repeats".split()
        )
        runs = {name: engine.trigger(name) for name in names}
        memory = [engine.trigger("remembers", "--key", key) for key in "123"]
        with engine.worker():
            ends = {name: engine.wait_for(run, *ENDS) for name, run in runs.items()}
            engine.wait_for(memory[2], *ENDS)
            (later,) = engine.runs(parent_run_id=runs["parent"])
            assert engine.wait_for(later.run_id, *ENDS) == "succeeded"
    assert ends == {
        "endless": "timed_out",
        "unverified": "failed",
        "paths": "failed",
        "elsewhere": "failed",
        "alone": "failed",
        "linked": "succeeded",
        "trusted": "failed",
        "unrecorded": "succeeded",
        "text": "succeeded",
        "parent": "succeeded",
        "repeats": "failed",
    }
    assert ((inside / "x").exists(), (outside / "x").exists()) == (True, False)
    assert engine.outputs(runs["unverified"]) == ["made\n"]
    assert engine.runs(run_id=runs["unverified"])[0].reason == "Verify command failed (exit none) (timed out)"
    assert "not under any allowed path" in str(engine.runs(run_id=runs["elsewhere"])[0].reason)
    assert engine.facts(runs["unverified"])["verify"]["timed_out"] is True
    assert "trust" in str(engine.runs(run_id=runs["trusted"])[0].reason).lower()
    assert any("json" in each.lower() for each in engine.facts(runs["text"])["warnings"])
    audit = (tmp_path / "home" / "state" / "audit.ndjson").read_text()
    assert ('"task_id":"unrecorded"' in audit, '"task_id":"linked"' in audit) == (False, True)
    parent, child = (engine.runs(run_id=run)[0] for run in (runs["parent"], later.run_id))
    assert parent.ended_at is not None
    assert child.changed_at - parent.ended_at >= 1000
    assert engine.runs(run_id=runs["repeats"])[0].attempts == 2
    (context,) = engine.outputs(memory[2])
    assert context.count('"run_id"') == 1
