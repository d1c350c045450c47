"""Announcements of ends: where the manifest says, tried again, without secrets, with a state of their own."""

import json
from pathlib import Path

from operable.engine.store.deliveries import DeliveryRow, find_delivery
from tests.cli.drive import operable
from tests.engine.manifests import manifest, task
from tests.engine.worker.engines import Engine, until
from tests.flow.loopback import Asked, Loopback, loopback

TOKEN = "zebra-quilt-ninety-one"
PROFILE = {
    "id": "deploy",
    "provider": "env-bearer",
    "auth": {"mode": "service", "provider_config": {"token_env": "DEPLOY_TOKEN"}},
    "subject": {"principal": "agent://deploy"},
    "presentation": {
        "bindings": [{"source": "credentials.access_token.value", "target": {"kind": "env", "name": "TOKEN"}}]
    },
}


def to(channel: str, where: str, mode: str = "announce-always") -> dict[str, str]:
    return {"mode": mode, "channel": channel, "to": where}


def delivery(engine: Engine, run_id: str) -> DeliveryRow | None:
    database = engine.place.read_store()
    assert database is not None
    try:
        with database.snapshot() as connection:
            return find_delivery(connection, run_id)
    finally:
        database.close()


def test_an_end_is_announced_where_the_manifest_says(tmp_path: Path) -> None:
    receiver = tmp_path / "receiver"
    receiver.write_text('#!/bin/sh\ncat > "$OPERABLE_RUN_ID.json"\n')
    receiver.chmod(0o755)
    failures = [503]

    def answer(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        if asked.path == "/moved":
            return 302, {"location": "/hook"}, b""
        return (failures.pop() if failures else 200), {}, b""

    with loopback(answer) as server:
        engine = Engine(
            tmp_path,
            task(
                "hook",
                "sh",
                "-c",
                "echo done with $TOKEN",
                identity={"ref": "deploy"},
                delivery=to("webhook", f"{server.url}/hook"),
            ),
            task("moved", "true", delivery=to("webhook", f"{server.url}/moved")),
            task("loud", "sh", "-c", "exit 3", delivery=to("file", "ends.jsonl", "announce")),
            task("quiet", "true", delivery=to("file", "ends.jsonl", "announce")),
            task("told", "true", delivery=to("command", str(receiver))),
            environment={"DEPLOY_TOKEN": TOKEN},
            identity_profiles=[PROFILE],
        )
        names = ("hook", "moved", "loud", "quiet", "told")
        runs = {name: engine.trigger(name) for name in names}
        with engine.worker():
            for run in runs.values():
                engine.wait_for(run, "succeeded", "failed")
            until(lambda: getattr(delivery(engine, runs["hook"]), "state", "") == "delivered")
            until(lambda: getattr(delivery(engine, runs["told"]), "state", "") == "delivered")
            until(lambda: (getattr(delivery(engine, runs["moved"]), "reason", "") or "").endswith("HTTP 302"))
            until((tmp_path / "ends.jsonl").exists)
    _check_hook(engine, server, runs["hook"])
    ends = [json.loads(line) for line in (tmp_path / "ends.jsonl").read_text().splitlines()]
    assert [(end["task_id"], end["state"], end["reason"]) for end in ends] == [
        ("loud", "failed", "exit status 3")
    ]
    assert delivery(engine, runs["quiet"]) is None
    assert json.loads((tmp_path / f"{runs['told']}.json").read_text())["state"] == "succeeded"
    moved = delivery(engine, runs["moved"])
    assert moved is not None
    assert moved.state == "pending"
    assert [asked.path for asked in server.asked].count("/hook") == 2


def _check_hook(engine: Engine, server: Loopback, run: str) -> None:
    """It was tried again after an error, with the same id, and the receiver got no secret."""
    first, second = (asked for asked in server.asked if asked.path == "/hook")
    assert first.body == second.body
    assert second.headers["idempotency-key"] == run
    told = json.loads(second.body)
    assert (told["run_id"], told["state"], told["output"]) == (run, "succeeded", "done with [redacted]\n")
    row = delivery(engine, run)
    assert row is not None
    assert (row.state, row.tries) == ("delivered", 2)
    events = [entry["event"] for entry in engine.call("logs", run)]
    assert [event for event in events if "announce" in event] == ["announcement failed", "announced"]
    # The identity of the run is kept with it, without its credential.
    facts = engine.facts(run)
    assert facts["principal_used"] == "agent://deploy"
    assert facts["resolved_identity"]["provider"] == "env-bearer"
    assert TOKEN not in json.dumps(facts)


def test_a_delivery_that_the_contract_does_not_allow_is_refused_at_apply(tmp_path: Path) -> None:
    tasks = [
        task("a", delivery=to("telegram", "chat:1")),
        task("b", delivery=to("webhook", "http://example.com/hook")),
        task("c", delivery=to("webhook", "https://example.com/hook"), contract={"network": "none"}),
        task("d", delivery=to("webhook", "https://example.com/hook"), contract={"network": "restricted"}),
    ]
    (tmp_path / "flow.json").write_text(json.dumps(manifest(*tasks)))
    environment = {"AGENTCLI_HOME": str(tmp_path / "home")}
    refused = operable("flow", "apply", "flow.json", env=environment, cwd=tmp_path)
    said = refused.stdout.decode()
    for index, words in enumerate(
        (
            "delivery.channel must be one of: webhook, file, command",
            "must be an https address",
            "contract.network is none",
            "contract.network is restricted",
        )
    ):
        assert f"tasks[{index}].delivery" in said
        assert words.removeprefix("delivery.channel ") in said
    assert not (tmp_path / "home" / "state" / "jobs.db").exists()
