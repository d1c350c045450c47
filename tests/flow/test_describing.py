"""What the program says of itself: topics, commands, methods, targets."""

import pytest

from operable.flow.contracts import FlowError
from operable.flow.describing import describe, targets, topics
from operable.flow.method import listed_methods
from tests.requirement import requirement

COMMANDS = (
    "version schema describe validate compile convert apply inspect targets paths init exec run identity "
    "authorization-proof authorization evidence audit approve approvals signing verify whoami skill-path registry import "
    "merge serve"
).split()
METHODS = (
    "ping version schema describe targets paths validate compile apply inspect audit approvals.list registry.list "
    "registry.show convert identity.providers identity.schema identity.resolve identity.validateDelegation "
    "authorizationProof.methods authorizationProof.schema authorizationProof.verify authorization.providers "
    "authorization.schema authorization.evaluate evidence.providers evidence.schema"
).split()


@requirement("agentcli:rpc:describe")
@pytest.mark.parametrize("topic", ["manifest", "workflow", "task"])
def test_things_have_a_name_a_summary_and_notes(topic):
    found = describe(topic)

    assert list(found) == ["name", "summary", "notes"]
    assert found["name"] == topic


@requirement("agentcli:rpc:describe")
def test_commands_are_listed_in_their_order_and_inspect_says_how():
    items = describe("commands")["items"]

    assert [item["command"] for item in items] == COMMANDS
    [inspect] = [item for item in items if "usage" in item]
    assert inspect["entities"] == (
        "jobs runs queue approvals evidence artifacts events provider_sessions credential_presentations".split()
    )


@requirement("agentcli:rpc:describe")
def test_methods_and_notifications_are_those_that_there_are():
    found = describe("rpc")

    names = [entry["method"] for entry in found["methods"]]
    assert names == [method.name for method in listed_methods()]
    assert names[: len(METHODS)] == [f"agentcli.{name}" for name in METHODS]
    assert all(entry["summary"] for entry in found["methods"])
    assert [note["method"] for note in found["notifications"]] == ["agentcli.ready"]


@requirement("agentcli:rpc:targets")
def test_targets_claim_only_what_holds_without_a_runtime():
    found = {target["name"]: target for target in targets()}

    assert list(found) == ["standalone", "openclaw-scheduler", "operable"]
    assert describe("targets")["items"] == targets()
    assert found["standalone"]["capabilities"] == ["schema", "validate", "compile", "describe", "json-rpc"]
    assert found["standalone"]["features"]["identity_declaration"] is True
    scheduler = found["openclaw-scheduler"]["features"]
    assert (scheduler["approvals"], scheduler["model_policy"]) == ("runtime", "model+thinking")
    assert [name for name, value in scheduler.items() if value is True] == []
    assert sum(value is False for value in scheduler.values()) == 20


@requirement("agentcli:rpc:describe")
@pytest.mark.parametrize("topic", ["nope", None, 5, [], {}])
def test_an_unknown_topic_is_the_callers_error(topic):
    with pytest.raises(FlowError) as refused:
        describe(topic)
    assert refused.value.message.startswith("Unknown description target: ")


def test_every_topic_can_be_described():
    assert [describe(topic)["name"] for topic in topics()] == topics()
