"""The methods about identity, authorization, proofs, evidence, approvals and the audit, as clients call them."""

import json

import pytest

from operable.flow.approve import local_approvals
from operable.flow.manifest.selection import select
from operable.flow.operation import Defaults
from operable.flow.rpc.protocol import answer_to
from operable.flow.run.caller import Caller, bind
from operable.flow.run.executor import execute
from tests.flow.callers import ME, audited, caller, script, signing_caller
from tests.flow.loopback import loopback
from tests.flow.manifests import Json, manifest, prompt_task, shell_task
from tests.flow.proofs.tokens import RSA, pem
from tests.requirement import requirement

CANARY = "zebra-quilt-ninety-one"
BEARER: Json = {
    "id": "i",
    "provider": "env-bearer",
    "subject": {"principal": "agent://x", "kind": "agent"},
    "auth": {"mode": "service", "required": True, "provider_config": {"token_env": "SECRET"}},
    "trust": {"level": "restricted"},
}


class Client:
    def __init__(self, by: Caller, compat: str | None = None) -> None:
        self._defaults = Defaults(by.cwd, by.environment, by.home, compat=compat)
        self.faults: list[BaseException] = []

    def __call__(self, name: str, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": f"agentcli.{name}", "params": params}
        line = answer_to(json.dumps(request).encode(), self._defaults, self.faults.append)
        assert self.faults == []
        answer = json.loads(line or b"{}")
        return answer["result"] if "result" in answer else answer["error"]


@pytest.fixture
def client(tmp_path):
    return Client(caller(tmp_path, SECRET=CANARY))


LISTS = [
    ("identity.providers", "providers", 11, "name"),
    ("authorizationProof.methods", "methods", 4, None),
    ("authorization.providers", "providers", 4, None),
    ("evidence.providers", "providers", 3, None),
]


@requirement("agentcli:rpc:listings")
@pytest.mark.parametrize("name, member, count, always", LISTS)
def test_listings_have_objects_and_for_the_newest_peer_names(tmp_path, name, member, count, always):
    drafts = Client(caller(tmp_path))(name)
    peers = Client(caller(tmp_path), compat="0.5")(name)

    assert drafts["ok"] is True
    assert len(drafts[member]) == len(peers[member]) == count
    assert all(set(each) == {"name", "capabilities"} for each in drafts[member])
    names = [each["name"] for each in drafts[member]]
    assert peers[member] == (drafts[member] if always else names)


@requirement("agentcli:rpc:listings")
def test_identity_providers_come_in_the_documented_order(client):
    names = [each["name"] for each in client("identity.providers")["providers"]]

    assert (
        names
        == (
            "stripe-api-key none env-bearer file-bearer oidc-client-credentials oidc-token-exchange azure-managed-identity "
            "aws-sts-assume-role gcp-workload-identity spiffe-jwt-svid entra-agent-id"
        ).split()
    )


@requirement("agentcli:rpc:schemas")
@pytest.mark.parametrize(
    "name, param, good, members, unknown",
    [
        ("identity.schema", "provider", "env-bearer", "capabilities", "Unknown identity provider: x"),
        ("authorizationProof.schema", "method", "jwt", "verifier", "Unknown verifier method: x"),
        ("authorization.schema", "provider", "opa", "capabilities", "Unknown authorization provider: x"),
        ("evidence.schema", "provider", "ssh", "methods", "Unknown evidence provider: x"),
    ],
)
def test_an_entry_is_described_and_an_unknown_one_is_the_callers_mistake(
    client, name, param, good, members, unknown
):
    found = client(name, **{param: good})

    assert (found["ok"], found[param]) == (True, good)
    assert members in found
    assert client(name, **{param: "x"})["message"] == unknown
    assert client(name, **{param: "x"})["code"] == -32602
    assert client(name)["message"] == f"{param} is required"
    assert client(name, **{param: ["x"]})["code"] == -32602


@requirement("agentcli:rpc:identity")
def test_an_identity_is_resolved_shown_without_its_secret_and_works_for_prompts_too(client):
    for task in (shell_task(identity={"ref": "i"}), prompt_task("a", identity={"ref": "i"})):
        found = client("identity.resolve", manifest=manifest(task, identity_profiles=[BEARER]), taskId="a")

        assert found["declared_identity"] == {
            "provider": "env-bearer",
            "subject": {"principal": "agent://x", "kind": "agent", "issuer": None},
            "trust_level": "restricted",
        }
        assert found["resolved_identity"]["credentials"]["access_token"]["value"] == "[REDACTED]"
        assert found["principal_used"] == "agent://x"
        assert CANARY not in json.dumps(found)


@requirement("agentcli:rpc:identity")
def test_a_flat_identity_has_a_skeleton_and_a_principal(client):
    old = manifest(shell_task(identity={"principal": "someone"}), version="0.1")
    found = client("identity.resolve", manifest=old, taskId="a")
    nobody = client("identity.resolve", manifest=manifest(version="0.1"), taskId="a")

    assert (found["resolved_identity"], found["principal_used"]) == (None, "someone")
    assert found["declared_identity"]["subject"]["principal"] is None
    assert nobody["principal_used"] == "me@example.com"


@requirement("agentcli:rpc:identity")
def test_a_delegation_chain_is_validated(client):
    value = manifest(shell_task(identity={"ref": "i"}), identity_profiles=[BEARER])

    assert client("identity.validateDelegation", manifest=value, taskId="a")["delegation"]["valid"] is True
    assert client("identity.validateDelegation", manifest=manifest(version="0.1"), taskId="a") == {
        "ok": True,
        "delegation": None,
    }
    assert client("identity.validateDelegation", manifest=manifest(), taskId="a")["delegation"] is None


@requirement("agentcli:rpc:identity")
def test_a_credential_that_is_missing_is_an_application_error(tmp_path):
    value = manifest(shell_task(identity={"ref": "i"}), identity_profiles=[BEARER])
    error = Client(caller(tmp_path))("identity.resolve", manifest=value, taskId="a")

    assert (error["code"], error["data"]["code"]) == (-32000, "token_not_found")
    assert error["message"].startswith("Bearer token not found")


@requirement("agentcli:rpc:task-selection")
@pytest.mark.parametrize(
    "name",
    [
        "identity.resolve",
        "identity.validateDelegation",
        "authorization.evaluate",
        "authorizationProof.verify",
    ],
)
@pytest.mark.parametrize(
    "params, message",
    [
        ({}, "manifest is required"),
        ({"manifest": {}}, "manifest is required"),
        ({"manifest": manifest()}, "taskId is required"),
        ({"manifest": manifest(), "taskId": "x"}, "Task not found: x in workflow w. Available: a"),
        ({"manifest": manifest(), "taskId": "a", "workflowId": "x"}, "Workflow not found: x"),
        ({"manifest": {"version": "0.2"}, "taskId": "a"}, "Manifest validation failed"),
    ],
)
def test_what_the_caller_got_wrong_is_said_the_same_way_by_all(client, name, params, message):
    if params == {"manifest": {}}:
        params = {"manifest": None}
    error = client(name, **params)

    assert (error["code"], error["message"]) == (-32602, message)


def evaluated(client, answer, **members):
    with loopback(lambda asked: (200, {}, json.dumps({"result": answer}).encode())) as server:
        profile = {"id": "z", "provider": "opa", "provider_config": {"endpoint": server.url}}
        task = shell_task(authorization={"ref": "z"}, **members)
        return client(
            "authorization.evaluate",
            manifest=manifest(task, authorization_profiles=[profile]),
            taskId="a",
            allowNetwork=True,
        )


@requirement("agentcli:rpc:evaluate")
@pytest.mark.parametrize(
    "answer, decision, allowed",
    [
        (True, "permit", True),
        ({"allow": False, "reason": "no"}, "deny", False),
        ("require-escalation", "require-escalation", False),
    ],
)
def test_every_decision_is_a_result_in_both_shapes(client, answer, decision, allowed):
    found = evaluated(client, answer)

    assert found["authorization"]["decision"] == decision
    assert found["decision"] == {"allowed": allowed, "reason": found["authorization"]["reason"]}


@requirement("agentcli:rpc:evaluate")
def test_the_newest_peers_shape_has_the_authorization_only(tmp_path):
    found = evaluated(Client(caller(tmp_path), compat="0.5"), True)

    assert set(found) == {"ok", "authorization"}


@requirement("agentcli:rpc:evaluate")
def test_evaluation_needs_a_block_a_version_and_trust(client):
    contract = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
    old = client("authorization.evaluate", manifest=manifest(version="0.1"), taskId="a")
    none = client("authorization.evaluate", manifest=manifest(), taskId="a")
    low = evaluated(client, True, contract=contract)

    assert old["message"] == "Authorization evaluation requires a version 0.2 manifest"
    assert none["message"] == "--require-authorization specified but no authorization block resolved"
    assert (low["code"], low["data"]["code"]) == (-32000, "trust_level_insufficient")


def proven(value):
    profile = {
        "id": "p",
        "method": "detached-signature",
        "public_key": pem(RSA),
        "proof": {"value_from": {"command": value}},
    }
    return manifest(shell_task(authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])


@requirement("agentcli:rpc:proof-verify")
def test_a_proof_is_verified_with_the_hashes_that_it_is_bound_to(tmp_path, client):
    import base64

    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    from operable.flow.canonical import canonical_text

    value = proven("cat signature")
    signature = RSA.sign(canonical_text(value).encode(), PKCS1v15(), SHA256())
    (tmp_path / "work" / "signature").write_text(base64.b64encode(signature).decode())
    refused = client("authorizationProof.verify", manifest=value, taskId="a")
    found = client("authorizationProof.verify", manifest=value, taskId="a", allowCommands=True)

    assert (refused["code"], refused["data"]["code"]) == (-32000, "commands_not_allowed")
    assert found["authorization_proof"]["verified"] is True
    selected = select(value, "a")
    assert found["effective_task_hash"] == bind(selected, caller(tmp_path, SECRET=CANARY)).task_hash


@requirement("agentcli:rpc:proof-verify")
def test_a_proof_that_does_not_hold_or_is_not_there_is_told(client):
    bad = client("authorizationProof.verify", manifest=proven("echo AAAA"), taskId="a", allowCommands=True)
    none = client("authorizationProof.verify", manifest=manifest(), taskId="a")
    old = client("authorizationProof.verify", manifest=manifest(version="0.1"), taskId="a")

    assert (bad["code"], bad["data"]["code"]) == (-32000, "authorization_proof_failed")
    assert none["message"] == (
        "Authorization proof verification requires a resolved authorization_proof block"
    )
    assert old["message"] == "Authorization proof verification requires a version 0.2 manifest"


@requirement("agentcli:rpc:audit")
def test_the_newest_records_are_given_and_malformed_lines_are_said(tmp_path):
    by = signing_caller(tmp_path)
    client = Client(by)
    assert client("audit") == {"ok": True, "count": 0, "records": [], "warnings": []}
    done = [execute(manifest(script("true")), "a", by)["execution_id"] for _ in range(3)]
    assert [record["execution_id"] for record in client("audit", limit=2)["records"]] == done[1:]
    assert client("audit", limit="1")["count"] == 1
    with open(by.place("audit"), "a", encoding="utf-8") as file:
        file.write("nonsense\n")
    assert client("audit")["warnings"] == [{"line_number": 7, "message": "malformed audit record skipped"}]
    assert len(audited(by)) == 3


@requirement("agentcli:rpc:audit")
@pytest.mark.parametrize("limit", [0, -1, 1.5, "01", "x", True, [], "9" * 30])
def test_a_limit_that_is_none_is_refused(client, limit):
    error = client("audit", limit=limit)

    assert (error["code"], error["message"]) == (-32602, "inspect limit must be a positive integer")


@requirement("agentcli:rpc:approvals-list")
def test_approvals_are_listed_and_filtered(tmp_path):
    by = signing_caller(tmp_path)
    client = Client(by)
    value = manifest(script("true", approval={"required": True}))
    selected = select(value, "a")
    made = local_approvals.grant(
        by.approvals, selected, bind(selected, by).binding, content={}, approver=ME, believing=by.believing()
    )

    found = client("approvals.list", status="pending", workflowId="w", taskId="a")
    assert (found["ok"], found["count"], found["records"][0]["approval_id"]) == (True, 1, made["approval_id"])
    assert client("approvals.list", status="revoked")["count"] == 0
    assert client("approvals.list", taskId="b")["records"] == []
