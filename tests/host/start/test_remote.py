"""From a manifest whose sandbox is a machine of a cloud provider to a conversation there."""

import asyncio
import os

import msgspec
import pytest

from operable.gate.audit.chain import Audit
from operable.gate.policy.pattern import ALLOW
from operable.gate.policy.rules import Policy
from operable.host import define_agent_cli
from operable.host.arms.json_stream import ARM as JSON_STREAM
from operable.host.arms.print import ARM as PRINT
from operable.host.start.placement import Placing, needed, place, vault_of
from operable.host.start.remote import admit, key_reference, place_elsewhere
from operable.host.start.secret_delivery import Delivered
from operable.kernel.errors import Fail
from operable.manifest.blocks import SandboxBlock
from operable.proc.sandbox.egress.placeholders import Substitute
from tests.host.agents import calls, manifest
from tests.proc.clouds.room import KEY
from tests.proc.clouds.sky import sky
from tests.requirement import requirement

# Every start is two machines, each with an SDK that is imported by a process of its own.
pytestmark = pytest.mark.timeout(600)
SECRETS = """\
---
secrets:
  - {slug: cloud-key, name: Cloud key, description: Of the provider.}
  - {slug: model-key, name: Model key, description: Of the model.}
---
"""


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    with sky("e2b", tmp_path / "cloud") as found:
        found.known(monkeypatch)
        yield found


def elsewhere(tmp_path, sandbox=None, **more):
    there = {
        "provider": "e2b",
        "config": {"template": "agents"},
        "mounts": [{"source": "workspace", "at": str(tmp_path / "inside"), "mode": "read-only"}],
        "network": {"egress": ["api.example.com"]},
    }
    return manifest(tmp_path, None, sandbox=there | (sandbox or {}), **more)


async def said(agent, tmp_path, **options):
    async with await agent.start(
        workspace=str(tmp_path / "work"), state=str(tmp_path / "state"), **options
    ) as talk:
        events = [event async for event in talk.send("hello")]
    return events, [record.event async for record in talk.log.reader(0)]


def started(agent, tmp_path, **options):
    (tmp_path / "work").mkdir(exist_ok=True)
    return asyncio.run(asyncio.wait_for(said(agent, tmp_path, **options), 300))


@requirement("aip-substrate:4.6:cloud-providers")
def test_an_agent_on_another_machine_converses_and_nothing_is_left_of_it(tmp_path, cloud):
    events, log = started(define_agent_cli(elsewhere(tmp_path)), tmp_path)

    assert "hello" in "".join(event.text for event in events if type(event).__name__ == "TextDelta")
    report = next(event for event in log if getattr(event, "code", "") == "enforcement")
    assert {item["outcome"] for item in report.data} == {"enforced"}
    created, destroyed = cloud.journal("created"), cloud.journal("destroyed")
    # One machine was asked for the version, one had the conversation.
    assert len(created) == 2
    assert [each["id"] for each in created] == [each["id"] for each in destroyed]
    assert created[1]["asked"]["templateID"] == "agents"
    (call,) = calls(tmp_path)
    assert call["cwd"] == os.path.realpath(tmp_path / "inside")
    assert KEY not in msgspec.json.encode(call["env"]).decode()


def test_another_version_on_that_machine_is_a_mismatch(tmp_path, cloud):
    found = elsewhere(tmp_path)
    found["version_check"]["range"] = ">=99.0.0"

    with pytest.raises(Fail) as caught:
        started(define_agent_cli(found), tmp_path)

    assert caught.value.code == "VERSION_MISMATCH"
    assert "on that machine" in caught.value.message
    assert len(cloud.journal("destroyed")) == 1


def test_a_machine_that_cannot_be_had_says_why(tmp_path, cloud, monkeypatch):
    monkeypatch.setenv("E2B_API_KEY", "wrong-key-0815")

    with pytest.raises(Fail) as caught:
        started(define_agent_cli(elsewhere(tmp_path)), tmp_path)

    assert caught.value.code == "VERSION_MISMATCH"
    assert "operable: e2b: " in caught.value.message
    assert "wrong-key-0815" not in caught.value.message


@pytest.mark.parametrize(
    "more, why",
    [
        ({"mounts": [{"source": "workspace", "at": "/inside"}]}, "does not come back"),
        ({"network": {"egress": ["db.example.com:5432"]}}, "not support ports"),
        ({"limits": {"memory_mb": 512}}, "template"),
        ({"config": {"template": "t", "region": "eu"}}, "region"),
    ],
)
def test_what_cannot_be_held_there_is_refused_before_anything_is_made(tmp_path, cloud, more, why):
    with pytest.raises(Fail, match=why) as caught:
        started(define_agent_cli(elsewhere(tmp_path, more)), tmp_path)

    assert caught.value.code == "SANDBOX_CANNOT_ENFORCE"
    assert cloud.journal("created") == []


def test_setup_steps_and_one_process_per_turn_are_refused(tmp_path):
    steps = [{"id": "daemon", "kind": "cmd", "cmd": "true"}]
    with_steps = define_agent_cli(elsewhere(tmp_path, setup=steps)).manifest
    plain = define_agent_cli(elsewhere(tmp_path)).manifest

    with pytest.raises(Fail, match="set up this machine"):
        admit(with_steps, JSON_STREAM, True)
    with pytest.raises(Fail, match="each turn"):
        admit(plain, PRINT, True)
    admit(plain, JSON_STREAM, False)


def test_a_login_counts_by_its_variables_only(tmp_path):
    found = define_agent_cli(elsewhere(tmp_path, auth={"state": {"env": ["MODEL_KEY"]}})).manifest

    with pytest.raises(Fail, match="only its variables") as caught:
        admit(found, JSON_STREAM, False)
    assert caught.value.details["aip_code"] == "auth_required"
    admit(found, JSON_STREAM, True)


@pytest.mark.parametrize(
    "more, code, why",
    [
        (
            {"setup": [{"id": "daemon", "kind": "cmd", "cmd": "true"}]},
            "SANDBOX_CANNOT_ENFORCE",
            "set up this machine",
        ),
        ({"adapter": "operable/print"}, "SANDBOX_CANNOT_ENFORCE", "each turn"),
        ({"auth": {"state": {"env": ["MODEL_KEY"]}}}, "AUTH_REQUIRED", "only its variables"),
    ],
)
def test_an_agent_that_cannot_run_on_another_machine_is_refused_at_its_start_and_no_machine_is_made(
    tmp_path, cloud, monkeypatch, more, code, why
):
    monkeypatch.delenv("MODEL_KEY", raising=False)

    with pytest.raises(Fail, match=why) as caught:
        # An agent of one process per turn never asks, so it starts only where everything is allowed.
        started(define_agent_cli(elsewhere(tmp_path, **more)), tmp_path, policy=Policy(default=ALLOW))

    assert caught.value.code == code
    assert cloud.journal("created") == []
    assert not (tmp_path / "calls").exists() or calls(tmp_path) == []  # asked for its version at most


def test_a_placeholder_that_only_our_proxy_would_fill_is_refused():
    block = msgspec.convert({"provider": "e2b", "config": {}}, SandboxBlock)
    delivered = Delivered(substitutes=[Substitute("KEY", ("api.example.com",), lambda: "value")])

    with pytest.raises(Fail, match="egress-substitute"):
        place_elsewhere(block, ({}, {}, "/tmp"), delivered, None, None)


def inventoried(tmp_path, config, **more):
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "SECRETS.md").write_text(SECRETS)
    found = elsewhere(
        tmp_path, {"config": config}, auth={"ref": "./SECRETS.md", "state": {"env": ["MODEL_KEY"]}}, **more
    )
    lines = [f"{key}: {msgspec.json.encode(value).decode()}" for key, value in found.items()]
    (folder / "AGENT-CLI.md").write_text("---\n" + "\n".join(lines) + "\n---\n")
    return define_agent_cli(folder / "AGENT-CLI.md", strict=False, trusted=True)


def test_the_key_of_the_provider_comes_from_the_vault_and_is_not_the_agents(tmp_path, cloud, monkeypatch):
    monkeypatch.delenv("E2B_API_KEY")
    monkeypatch.setenv("CLOUD_KEY", KEY)
    monkeypatch.setenv("MODEL_KEY", "model-key-1234")
    agent = inventoried(tmp_path, {"template": "t", "api_key_ref": "cloud-key"})

    started(agent, tmp_path)

    (call,) = calls(tmp_path)
    assert call["env"]["MODEL_KEY"] == "model-key-1234"
    assert "CLOUD_KEY" not in call["env"]
    assert KEY not in "".join(path.read_text() for path in (tmp_path / "state").rglob("*.jsonl"))


def test_what_a_program_there_says_instead_of_its_version_is_told_without_its_secrets(
    tmp_path, cloud, monkeypatch
):
    monkeypatch.setenv("CLOUD_KEY", KEY)
    monkeypatch.setenv("MODEL_KEY", "model-key-1234")
    script = tmp_path / "speaks"
    script.write_text('#!/bin/sh\necho "no licence with $MODEL_KEY" >&2\n')
    script.chmod(0o755)
    agent = inventoried(
        tmp_path, {"template": "t"}, version_check={"cmd": str(script), "parse": "version (x)", "range": "*"}
    )

    with pytest.raises(Fail) as caught:
        started(agent, tmp_path)

    assert caught.value.code == "VERSION_MISMATCH"
    assert "no licence with [redacted]" in caught.value.message


def test_a_key_that_no_inventory_has_is_not_guessed(tmp_path, cloud):
    agent = define_agent_cli(elsewhere(tmp_path, {"config": {"api_key_ref": "cloud-key"}}))
    placing = Placing(str(tmp_path), Audit(str(tmp_path / "audit.jsonl"), actor="a"))

    with pytest.raises(Fail) as caught:
        place(agent.loaded, placing, "agent")

    assert caught.value.code == "SECRET_UNKNOWN"


def test_only_the_key_of_the_provider_is_left_out_of_what_the_agent_needs(tmp_path):
    agent = inventoried(tmp_path, {"api_key_ref": "cloud-key"})
    placing = Placing(str(tmp_path), Audit(str(tmp_path / "audit.jsonl"), actor="a"))
    vault = vault_of(agent.loaded, placing)
    block = msgspec.convert({"provider": "modal", "config": {"api_token_ref": "model-key"}}, SandboxBlock)

    assert [entry.slug for entry in needed(vault, placing, "cloud-key")] == ["model-key"]
    assert key_reference(block) == "model-key"
