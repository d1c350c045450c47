"""AWS, Azure and GCP, against servers that speak the vendors' wire formats."""

import json

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from operable.flow.errors import FlowError
from operable.flow.trust.identity.sessions import described_session
from tests.flow.identities.requests import CANARY, problems, session
from tests.flow.loopback import loopback
from tests.requirement import requirement

ROLE = "arn:aws:iam::123456789012:role/deployer"
AWS_ENV = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": f"{CANARY}-secret",
    "AWS_SESSION_TOKEN": f"{CANARY}-session",
    "AWS_REGION": "eu-central-1",
}


def sts_answer(action):
    return f"""<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <{action}Result>
    <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/deployer/operable</Arn></AssumedRoleUser>
    <Credentials>
      <AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>
      <SecretAccessKey>{CANARY}-new-secret</SecretAccessKey>
      <SessionToken>{CANARY}-new-session</SessionToken>
      <Expiration>2030-01-01T00:00:00Z</Expiration>
    </Credentials>
  </{action}Result>
</{action}Response>""".encode()


def is_signed_by_aws_rules(asked, url):
    """Sign the same request again with botocore, at the time that it states."""
    made = AWSRequest(
        method="POST", url=url, data=asked.body, headers={"content-type": asked.headers["content-type"]}
    )
    credentials = Credentials(
        AWS_ENV["AWS_ACCESS_KEY_ID"], AWS_ENV["AWS_SECRET_ACCESS_KEY"], AWS_ENV["AWS_SESSION_TOKEN"]
    )
    signer = SigV4Auth(credentials, "sts", "eu-central-1")
    made.context["timestamp"] = asked.headers["x-amz-date"]
    made.headers["X-Amz-Date"] = asked.headers["x-amz-date"]
    made.headers["X-Amz-Security-Token"] = AWS_ENV["AWS_SESSION_TOKEN"]
    signature = signer.signature(signer.string_to_sign(made, signer.canonical_request(made)), made)
    return asked.headers["authorization"].endswith(f"Signature={signature}")


@requirement("agentcli:providers:clouds")
def test_a_role_is_assumed_with_a_signed_request():
    with loopback(lambda asked: (200, {}, sts_answer("AssumeRole"))) as server:
        url = f"{server.url}/"
        found = session(
            "aws-sts-assume-role",
            {"role_arn": ROLE, "endpoint": url, "external_id": "x1"},
            env=AWS_ENV,
            mode="service",
        )

    (asked,) = server.asked
    assert asked.form == {
        "Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": ROLE, "RoleSessionName": "operable",
        "DurationSeconds": "3600", "ExternalId": "x1",
    }  # fmt: skip
    assert asked.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/")
    assert "/eu-central-1/sts/aws4_request" in asked.headers["authorization"]
    assert is_signed_by_aws_rules(asked, url)
    assert {name: one["value"] for name, one in found["credentials"].items()} == {
        "access_token": f"{CANARY}-new-session",
        "access_key_id": "ASIAIOSFODNN7EXAMPLE",
        "secret_access_key": f"{CANARY}-new-secret",
    }
    assert [hop["kind"] for hop in found["delegation_chain"]] == ["caller", "service"]
    shown = json.dumps(described_session(found))
    assert CANARY not in shown
    assert "AKIAIOSFODNN7EXAMPLE" not in shown
    described = described_session(found)
    assert described is not None
    assert described["credential_summary"]["expires_at"] == "2030-01-01T00:00:00Z"


@requirement("agentcli:providers:clouds")
def test_a_web_identity_is_exchanged_without_keys(tmp_path):
    (tmp_path / "token").write_text(f"{CANARY}-oidc\n")
    with loopback(lambda asked: (200, {}, sts_answer("AssumeRoleWithWebIdentity"))) as server:
        config = {"role_arn": ROLE, "endpoint": server.url, "web_identity_token_file": "token"}
        session("aws-sts-assume-role", config, cwd=str(tmp_path), mode="exchange")

    (asked,) = server.asked
    assert asked.form["Action"] == "AssumeRoleWithWebIdentity"
    assert asked.form["WebIdentityToken"] == f"{CANARY}-oidc"
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    "status, body, message",
    [
        (403, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>canary-4f1c9d</Message></Error></ErrorResponse>",
         "HTTP 403 (AccessDenied)"),
        (500, b"canary-4f1c9d", "HTTP 500"),
        (200, b"<a>canary-4f1c9d</a>", "no credentials"),
        (200, b"not xml canary-4f1c9d", "no credentials"),
        (200, b'<!DOCTYPE a [<!ENTITY x "y">]><a><AccessKeyId>&x;</AccessKeyId></a>', "no credentials"),
    ],
)  # fmt: skip
@requirement("agentcli:providers:clouds")
def test_what_sts_refuses_is_said_without_secrets(status, body, message):
    with loopback(lambda asked: (status, {}, body)) as server, pytest.raises(FlowError) as caught:
        session("aws-sts-assume-role", {"role_arn": ROLE, "endpoint": server.url}, env=AWS_ENV)

    assert message in str(caught.value)
    assert "canary" not in str(caught.value)


def test_aws_without_keys_is_an_error():
    with pytest.raises(FlowError, match="AWS_ACCESS_KEY_ID"):
        session("aws-sts-assume-role", {"role_arn": ROLE})


@pytest.mark.parametrize(
    "config, mode, count",
    [
        ({"role_arn": ROLE}, "service", 0),
        ({}, "service", 1),
        ({"role_arn": "arn:aws:s3:::x"}, "service", 1),
        ({"role_arn": ROLE, "region": "x/../y", "session_name": "a b", "duration_seconds": 5}, "service", 3),
        ({"role_arn": ROLE, "endpoint": "http://sts.example"}, "service", 1),
        ({"role_arn": ROLE}, "exchange", 1),
        ({"role_arn": ROLE, "web_identity_token": "clear"}, "exchange", 2),
    ],
)
def test_aws_profiles_are_checked(config, mode, count):
    assert len(problems("aws-sts-assume-role", config, auth={"mode": mode})) == count


# --- Azure

TOKEN = json.dumps({"access_token": f"{CANARY}-az", "expires_in": "3599", "client_id": "c1"}).encode()


@requirement("agentcli:providers:clouds")
def test_a_managed_identity_asks_the_machine():
    with loopback(lambda asked: (200, {}, TOKEN)) as server:
        found = session(
            "azure-managed-identity",
            {"endpoint": server.url, "client_id": "c1"},
            resource="https://vault.azure.net",
        )

    (asked,) = server.asked
    assert asked.path.partition("?")[0] == "/metadata/identity/oauth2/token"
    assert asked.query == {
        "api-version": "2018-02-01",
        "resource": "https://vault.azure.net",
        "client_id": "c1",
    }
    assert asked.headers["metadata"] == "true"
    assert found["credentials"]["access_token"]["value"] == f"{CANARY}-az"
    assert found["refresh"]["supported"] is True
    assert CANARY not in json.dumps(described_session(found))


def test_a_managed_identity_of_app_service_uses_its_header():
    with loopback(lambda asked: (200, {}, TOKEN)) as server:
        env = {"IDENTITY_ENDPOINT": f"{server.url}/msi/token", "IDENTITY_HEADER": CANARY}
        found = session("azure-managed-identity", {"resource": "https://vault.azure.net"}, env=env)

    assert server.asked[0].headers["x-identity-header"] == CANARY
    assert server.asked[0].query["api-version"] == "2019-08-01"
    assert found["provider_assertions"]["source"] == "app-service"


@pytest.mark.parametrize("provider", ["azure-managed-identity", "gcp-workload-identity"])
@requirement("agentcli:providers:clouds")
def test_errors_of_metadata_servers_show_no_secret(provider):
    body = json.dumps({"error": "invalid_request", "error_description": CANARY}).encode()
    with loopback(lambda asked: (400, {}, body)) as server:
        config = {"endpoint": server.url, "metadata_endpoint": server.url, "resource": "r"}
        with pytest.raises(FlowError) as caught:
            session(provider, config, scopes=["s"])

    assert caught.value.flow_code == "token_request_failed"
    assert "invalid_request" in str(caught.value)
    assert CANARY not in str(caught.value)


def test_azure_profiles_are_checked():
    assert problems("azure-managed-identity") == ["auth.resource is required for azure-managed-identity"]
    assert len(problems("azure-managed-identity", {"resource": "r", "client_id": "a", "object_id": "b"})) == 1
    assert len(problems("azure-managed-identity", {"resource": "r", "endpoint": "http://10.0.0.1"})) == 1


# --- GCP

SCOPES = ["https://www.googleapis.com/auth/devstorage.read_only"]
POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x"
ACCOUNT = "deployer@project.iam.gserviceaccount.com"


@requirement("agentcli:providers:clouds")
def test_gcp_asks_the_metadata_server():
    body = json.dumps({"access_token": f"{CANARY}-gcp", "expires_in": 3599, "token_type": "Bearer"}).encode()
    with loopback(lambda asked: (200, {}, body)) as server:
        found = session("gcp-workload-identity", {"metadata_endpoint": server.url}, scopes=SCOPES)

    (asked,) = server.asked
    assert asked.path.partition("?")[0] == "/computeMetadata/v1/instance/service-accounts/default/token"
    assert asked.headers["metadata-flavor"] == "Google"
    assert asked.query == {"scopes": SCOPES[0]}
    assert found["credentials"]["access_token"]["value"] == f"{CANARY}-gcp"


@pytest.mark.parametrize("account", [None, ACCOUNT])
@requirement("agentcli:providers:clouds")
def test_gcp_federates_and_impersonates(account):
    def google(asked):
        if asked.path == "/v1/token":
            return 200, {}, json.dumps({"access_token": f"{CANARY}-sts", "expires_in": 3600}).encode()
        body = {"accessToken": f"{CANARY}-sa", "expireTime": "2030-01-01T00:00:00Z"}
        return 200, {}, json.dumps(body).encode()

    with loopback(google) as server:
        config = {
            "sts_endpoint": f"{server.url}/v1/token", "iam_endpoint": server.url, "service_account_email": account,
        }  # fmt: skip
        found = session(
            "gcp-workload-identity", config, scopes=SCOPES, audience=POOL, env={"T": f"{CANARY}-oidc"},
            inputs={"subject_token": {"value_from": {"env": "T"}}},
        )  # fmt: skip

    first = server.asked[0].form
    assert first["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
    assert first["audience"] == POOL
    assert first["subject_token"] == f"{CANARY}-oidc"
    credential = found["credentials"]["access_token"]
    if account is None:
        assert first["scope"] == SCOPES[0]
        assert credential["value"] == f"{CANARY}-sts"
    else:
        second = server.asked[1]
        assert (
            second.path
            == "/v1/projects/-/serviceAccounts/deployer%40project.iam.gserviceaccount.com:generateAccessToken"
        )
        assert second.headers["authorization"] == f"Bearer {CANARY}-sts"
        assert json.loads(second.body) == {"scope": SCOPES, "lifetime": "3600s"}
        assert (credential["value"], credential["expires_at"]) == (f"{CANARY}-sa", "2030-01-01T00:00:00.000Z")
    assert CANARY not in json.dumps(described_session(found))


def test_gcp_profiles_are_checked():
    assert problems("gcp-workload-identity") == ["auth.scopes is required for gcp-workload-identity"]
    assert len(problems("gcp-workload-identity", {}, auth={"scopes": SCOPES, "audience": POOL})) == 1
    assert (
        len(problems("gcp-workload-identity", {"sts_endpoint": "http://x.example"}, auth={"scopes": SCOPES}))
        == 1
    )
