"""Amazon roles: temporary credentials of AWS STS.

`auth.provider_config.role_arn` is assumed with the caller's keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
AWS_SESSION_TOKEN of the environment), signed by botocore; with `auth.mode: exchange` a web identity token is given in their
place (`web_identity_token` in `auth.inputs`, or `web_identity_token_file`). Optional: region, session_name,
duration_seconds (900 to 43200), external_id, endpoint.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from operable.flow.contracts import Identity, IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.flow.trust.http_exchange import ExchangeFailed, HttpAnswer, exchange, form
from operable.flow.trust.identity.sessions import new_session
from operable.flow.trust.identity.settings import (
    auth,
    has_source,
    missing_texts,
    needed_secret,
    secret_problems,
    settings,
    text,
)
from operable.flow.trust.identity.tokens import CODE
from operable.flow.trust.value_sources import from_environment, from_file

_ROLE = re.compile(r"arn:aws(?:-[a-z-]+)?:iam::\d{12}:role/[\w+=,.@/-]+\Z")
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d\Z")
_SESSION = re.compile(r"[\w+=,.@-]{2,64}\Z")
_ERROR_CODE = re.compile(r"[A-Za-z.]{1,64}\Z")


def _check(profile: Mapping[str, Any]) -> list[str]:
    config = settings(profile)
    found = missing_texts(profile, "role_arn") + secret_problems(profile, "web_identity_token", needed=False)
    if not found and not _ROLE.match(config["role_arn"]):
        found.append("auth.provider_config.role_arn must be the ARN of an IAM role")
    for name, pattern in (("region", _REGION), ("session_name", _SESSION)):
        value = config.get(name)
        if value is not None and not (isinstance(value, str) and pattern.match(value)):
            found.append(f"auth.provider_config.{name} is not valid")
    duration = config.get("duration_seconds")
    if duration is not None and not (type(duration) is int and 900 <= duration <= 43_200):
        found.append("auth.provider_config.duration_seconds must be an integer from 900 to 43200")
    if config.get("endpoint") is not None and not is_safe_endpoint(config["endpoint"]):
        found.append("auth.provider_config.endpoint must be an https URL (http only for loopback)")
    if _exchanges(profile) and not (
        has_source(profile, "web_identity_token") or text(profile, "web_identity_token_file")
    ):
        found.append("web_identity_token or web_identity_token_file is required for auth.mode exchange")
    return found


def _exchanges(identity: Mapping[str, Any]) -> bool:
    return auth(identity).get("mode") == "exchange"


def _resolve(request: IdentityRequest) -> dict[str, Any]:
    config, environment = settings(request.identity), request.surroundings.environment
    region = (
        config.get("region")
        or environment.get("AWS_REGION")
        or environment.get("AWS_DEFAULT_REGION")
        or "us-east-1"
    )
    endpoint = config.get("endpoint") or f"https://sts.{region}.amazonaws.com/"
    name = config.get("session_name") or "operable"
    members = {
        "Version": "2011-06-15",
        "RoleArn": config["role_arn"],
        "RoleSessionName": name,
        "DurationSeconds": str(config.get("duration_seconds") or 3600),
    }
    if _exchanges(request.identity):
        caller, members["Action"] = "web-identity", "AssumeRoleWithWebIdentity"
        members["WebIdentityToken"] = _web_identity(request)
        answer = _sent(request, endpoint, {"content-type": _FORM}, form(members))
    else:
        caller, members["Action"] = environment.get("AWS_ACCESS_KEY_ID", ""), "AssumeRole"
        if isinstance(config.get("external_id"), str):
            members["ExternalId"] = config["external_id"]
        body = form(members)
        answer = _sent(request, endpoint, _signed(request, endpoint, region, body), body)
    return _session(request, _found(answer), caller, region, name)


_FORM = "application/x-www-form-urlencoded; charset=utf-8"


def _web_identity(request: IdentityRequest) -> str:
    path = text(request.identity, "web_identity_token_file")
    if path is not None:
        return from_file(path, request.surroundings, code=CODE, what="web_identity_token_file")
    return needed_secret(request, "web_identity_token", code=CODE)


def _signed(request: IdentityRequest, url: str, region: str, body: bytes) -> dict[str, str]:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    surroundings = request.surroundings
    key = surroundings.environment.get("AWS_ACCESS_KEY_ID")
    secret = from_environment("AWS_SECRET_ACCESS_KEY", surroundings)
    if not key or not secret:
        raise FlowError(CODE, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
    session_token = from_environment("AWS_SESSION_TOKEN", surroundings)
    for given in (key, secret, session_token or ""):
        given.encode()  # botocore fails at a lone surrogate in ways of its own
    credentials = Credentials(key, secret, session_token)
    made = AWSRequest(method="POST", url=url, data=body, headers={"content-type": _FORM})
    SigV4Auth(credentials, "sts", region).add_auth(made)
    return {str(name): str(value) for name, value in made.headers.items()}


def _sent(request: IdentityRequest, url: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
    try:
        answer = exchange(
            "POST",
            url,
            headers={**headers, "accept": "text/xml"},
            body=body,
            around=request.surroundings,
        )
    except ExchangeFailed as failed:
        raise FlowError(CODE, f"AWS STS request failed: {failed}") from None
    if not answer.ok:
        word = _texts(answer).get("Code", "")
        shown = f" ({word})" if _ERROR_CODE.match(word) else ""
        raise FlowError(CODE, f"AWS STS request was refused: HTTP {answer.status}{shown}")
    return answer


def _texts(answer: HttpAnswer) -> dict[str, str]:
    """The texts of an XML answer by element name. A document with declarations of its own is none of STS's."""
    if b"<!" in answer.body:
        return {}
    try:
        root = ET.fromstring(answer.body)  # noqa: S314 - without declarations there are no entities
    except ET.ParseError:
        return {}
    return {element.tag.rpartition("}")[2]: element.text or "" for element in root.iter()}


def _found(answer: HttpAnswer) -> dict[str, str]:
    found = _texts(answer)
    if not all(found.get(name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")):
        raise FlowError(CODE, "AWS STS answer has no credentials")
    return found


def _session(
    request: IdentityRequest, found: Mapping[str, str], caller: str, region: str, name: str
) -> dict[str, Any]:
    config = settings(request.identity)
    subject = request.identity.get("subject") or {}
    principal = subject.get("principal") or found.get("Arn") or config["role_arn"]
    grant = "sts-assume-role"
    ends = found.get("Expiration") or None
    return new_session(
        request,
        principal=principal,
        issuer=f"https://sts.{region}.amazonaws.com/",
        credentials={
            "access_token": {
                "kind": "aws-session",
                "value": found["SessionToken"],
                "audience": config["role_arn"],
                "expires_at": ends,
            },
            "access_key_id": {"kind": "aws-access-key", "value": found["AccessKeyId"]},
            "secret_access_key": {"kind": "aws-secret-key", "value": found["SecretAccessKey"]},
        },
        chain=[
            {"kind": "caller", "principal": caller, "grant": grant, "validated": True},
            {
                "kind": subject.get("kind") or "service",
                "principal": principal,
                "grant": grant,
                "validated": True,
            },
        ],
        assertions={
            "role_arn": config["role_arn"],
            "assumed_role_arn": found.get("Arn"),
            "region": region,
            "session_name": name,
        },
        expires_at=ends,
    )


IDENTITY = Identity(
    name="aws-sts-assume-role",
    order=8,
    capabilities={
        "auth_modes": ["service", "exchange"],
        "credential_types": ["access_token"],
        "presentation_kinds": ["env", "file", "stdin"],
        "handoff_modes": ["none"],
        "refreshable": False,
        "delegation": True,
        "trust_levels": list(TRUST_LEVELS),
        "approval_mechanisms": [],
    },
    check=_check,
    resolve=_resolve,
)
