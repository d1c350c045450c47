"""What the program says of itself: topics, commands, methods, targets."""

import pytest

from operable.flow.errors import FlowError
from operable.flow.operation import listed_methods
from operable.flow.topics import describe, targets, topics
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
    assert names == [found.method for found in listed_methods()]
    assert names[: len(METHODS)] == [f"agentcli.{name}" for name in METHODS]
    assert all(entry["summary"] for entry in found["methods"])
    assert [note["method"] for note in found["notifications"]] == ["agentcli.ready"]


UNENFORCED = (
    "runtime_execution runtime_identity_resolution evidence_generation audit_export trust_evaluation delegation_validation "
    "credential_handoff authorization_proof_verification authorization_hook root_approval_gate approval_scope_enforcement "
    "structured_output_format"
).split()
V4 = (
    "handoff_v4_artifact artifact_bound_proofs signed_or_provider_verified_evidence provider_session_cache "
    "credential_presentation source_run_bound_delegation immutable_runtime_events"
).split()
HINTS = "execution_intent output_hints timeout_support context_retrieval".split()


@requirement("agentcli:rpc:targets")
def test_targets_claim_only_what_holds_without_a_runtime():
    found = {target["name"]: target for target in targets()}

    assert list(found) == ["standalone", "openclaw-scheduler", "operable"]
    assert describe("targets")["items"] == targets()
    assert found["standalone"]["capabilities"] == ["schema", "validate", "compile", "describe", "json-rpc"]
    assert found["standalone"]["features"] == {
        "approvals": "intent-only",
        "model_policy": "portable",
        **dict.fromkeys(HINTS, "portable"),
        "identity_declaration": True,
        **dict.fromkeys(UNENFORCED, False),
    }
    assert found["openclaw-scheduler"]["capabilities"] == (
        "compile apply inspect field-mask sanitize-basic ndjson".split()
    )
    assert found["openclaw-scheduler"]["features"] == {
        "approvals": "runtime",
        "model_policy": "model+thinking",
        **dict.fromkeys(HINTS, "runtime"),
        "identity_declaration": False,
        **dict.fromkeys([*UNENFORCED, *V4], False),
    }
    # Our own target has a runtime. What it refuses at apply, or does not do, it does not claim.
    assert found["operable"]["features"] == {
        "approvals": "runtime",
        "model_policy": "runtime",
        **dict.fromkeys(HINTS, "runtime"),
        "identity_declaration": True,
        **dict.fromkeys(UNENFORCED, True),
        "audit_export": False,
        "credential_handoff": False,
    }


@requirement("agentcli:rpc:describe")
@pytest.mark.parametrize(
    "topic, said",
    [
        ("nope", "nope"),
        (None, "null"),
        (5, "5"),
        (False, "false"),
        ([], "[]"),
        ({}, "{}"),
        ("Commands", "Commands"),
    ],
)
def test_an_unknown_topic_is_the_callers_error(topic, said):
    with pytest.raises(FlowError) as refused:
        describe(topic)
    assert (refused.value.flow_code, refused.value.message) == (
        "invalid_argument",
        f"Unknown description target: {said}",
    )


@requirement("agentcli:rpc:describe")
@pytest.mark.parametrize(
    "topic, members, entries, entry",
    [
        ("targets", ["name", "summary", "items"], "items", {("name", "description", "capabilities", "features")}),
        ("commands", ["name", "summary", "items"], "items", {("command", "summary"), ("command", "summary", "usage", "entities")}),
        ("rpc", ["name", "summary", "methods", "notifications"], "methods", {("method", "summary")}),
        ("rpc", ["name", "summary", "methods", "notifications"], "notifications", {("method", "summary", "params")}),
    ],
)  # fmt: skip
def test_lists_have_their_documented_members_in_order(topic, members, entries, entry):
    found = describe(topic)

    assert list(found) == members
    assert found["name"] == topic
    assert {tuple(each) for each in found[entries]} == entry


def test_every_topic_can_be_described():
    assert [describe(topic)["name"] for topic in topics()] == topics()
