"""A manifest whose every command leaves a file behind and whose every address is a server that counts its visitors."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operable.flow.canonical import canonical_digest
from tests.flow.loopback import Loopback, loopback
from tests.flow.manifests import Json, manifest, shell_task
from tests.flow.proofs.tokens import RSA, pem, token

GUID = "11111111-2222-3333-4444-555555555555"


@dataclass
class Trap:
    """Where canaries would land, and what a question may not have changed."""

    folder: Path  # everything below it must stay as it is
    canaries: Path
    server: Loopback
    secure: Visitors
    manifest: Json
    tasks: list[str]

    def caught(self) -> list[str]:
        """What happened that must not: canaries, and requests."""
        asked = [f"{each.method} {each.path}" for each in self.server.asked]
        return sorted(os.listdir(self.canaries)) + asked + ["TLS"] * self.secure.count


class Visitors:
    """A port that counts who connects, and hangs up: some addresses must be https, and nobody trusts ours."""

    def __init__(self) -> None:
        self.count = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.count += 1
            connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)


@contextmanager
def trap(folder: Path) -> Iterator[Trap]:
    canaries = folder / "canaries"
    canaries.mkdir()
    with loopback(lambda _asked: (200, {}, b'{"keys": [], "access_token": "x", "result": true}')) as server:
        made = Trap(folder, canaries, server, Visitors(), {}, [])
        made.manifest = _manifest(made)
        made.tasks = [task["id"] for task in made.manifest["workflows"][0]["tasks"]]
        try:
            yield made
        finally:
            made.secure.close()


def _manifest(place: Trap) -> Json:
    tasks: list[Json] = []
    profiles: dict[str, list[Json]] = {
        name: []
        for name in "identity_profiles authorization_proof_profiles authorization_profiles evidence_profiles".split()
    }

    def command(name: str) -> Json:
        return {"command": f"touch {place.canaries}/{name}; echo secret-value-{name}"}

    def task(kind: str, name: str, profile: Json) -> None:
        profiles[f"{kind}_profiles"].append({"id": name, **profile})
        line = f"touch {place.canaries}/task-{name}"
        tasks.append(
            shell_task(
                name,
                shell={"program": "sh", "args": ["-c", line], "stdin": line},
                verify={"shell": f"touch {place.canaries}/verify-{name}"},
                on_failure={"shell": {"program": "sh", "args": ["-c", line]}},
                approval={"policy": "manual"},
                **{kind: {"ref": name}},
            )
        )

    for name, profile in _identities(place.server.url, command).items():
        task("identity", name, profile)
    for name, profile in _proofs(place.secure.url, command).items():
        task("authorization_proof", name, profile)
    for name, profile in _policies(place.server.url, command).items():
        task("authorization", name, profile)
    task("evidence", "evidence", {"provider": "ssh", "provider_config": {"key_path": "evidence-key"}})
    return {**manifest(*tasks), **{name: each for name, each in profiles.items() if each}}


def _identities(url: str, command: Any) -> Json:
    def identity(provider: str, config: Json, **auth: Any) -> Json:
        return {"provider": provider, "auth": {"provider_config": config, **auth}}

    def given(name: str) -> Json:
        return {"value_from": command(name)}

    literal = {"value_from": {"literal": "secret-value"}}
    arn = "arn:aws:iam::123456789012:role/x"
    entra = {"authority": url, "tenant_id": GUID, "blueprint_app_id": GUID, "agent_identity_id": GUID}
    kept = {"key_strategy": "precreated", "account_mode": "test"}
    minted = {"key_strategy": "dynamic", "account_mode": "test", "api_base": url}
    scopes = {"scope_permissions": {"s": {"charges": "read"}}}
    return {
        "variable": identity("env-bearer", {}, inputs={"token": given("variable")}),
        "optional": identity("env-bearer", {}, inputs={"token": given("optional")}, required=False),
        "file": identity("file-bearer", {}, inputs={"token_file": given("file")}),
        "client-command": identity(
            "oidc-client-credentials",
            {"token_endpoint": url, "client_id": "me", "client_secret": given("client")},
        ),
        "client-network": identity(
            "oidc-client-credentials", {"token_endpoint": url, "client_id": "me", "client_secret": literal}
        ),
        "exchange-command": identity(
            "oidc-token-exchange",
            {"token_endpoint": url},
            mode="exchange",
            inputs={"subject_token": given("subject"), "actor_token": given("actor")},
        ),
        "exchange-network": identity(
            "oidc-token-exchange", {"token_endpoint": url}, mode="exchange", inputs={"subject_token": literal}
        ),
        "azure": identity("azure-managed-identity", {"endpoint": url, "resource": "r"}),
        "aws": identity("aws-sts-assume-role", {"role_arn": arn, "endpoint": url}),
        "gcp-command": identity(
            "gcp-workload-identity",
            {"sts_endpoint": url, "iam_endpoint": url},
            audience="pool",
            scopes=["s"],
            inputs={"subject_token": given("gcp")},
        ),
        "gcp-network": identity(
            "gcp-workload-identity",
            {"sts_endpoint": url, "iam_endpoint": url},
            audience="pool",
            scopes=["s"],
            inputs={"subject_token": literal},
        ),
        "entra-command": identity(
            "entra-agent-id",
            entra,
            resource="r",
            mode="on-behalf-of",
            inputs={"user_token": given("entra"), "client_assertion": given("assertion")},
        ),
        "entra-network": identity(
            "entra-agent-id", entra, resource="r", inputs={"client_assertion": literal}
        ),
        "stripe-command": identity(
            "stripe-api-key",
            {**kept, "permission_sets": {"s": {"key_command": command("stripe")["command"]}}},
        ),
        "stripe-minted": identity(
            "stripe-api-key", {**minted, **scopes, "master_key_source": {"env": "STRIPE"}}
        ),
        "stripe-master": identity(
            "stripe-api-key", {**minted, **scopes, "master_key_source": command("stripe-master")}
        ),
    }


def _proofs(secure: str, command: Any) -> Json:
    known = {"value_from": {"env": "PROOF"}}
    return {
        "jwt-command": {
            "method": "jwt",
            "issuer": "i",
            "public_key": pem(RSA),
            "proof": {"value_from": command("jwt")},
        },
        "jwt-network": {"method": "jwt", "issuer": "i", "jwks_uri": secure, "proof": known},
        "detached-command": {
            "method": "detached-signature",
            "public_key": pem(RSA),
            "proof": {"value_from": command("detached")},
        },
        "certificate-command": {
            "method": "certificate",
            "ca_certificate_from": command("authority"),
            "proof": {"value_from": command("certificate")},
        },
    }


def _policies(url: str, command: Any) -> Json:
    warned = {"on_error": "warn"}
    topaz = {"endpoint": url, "policy_path": "p"}
    return {
        "opa-network": {"provider": "opa", "provider_config": {"endpoint": url}, **warned},
        "opa-send": {
            "provider": "opa",
            "provider_config": {"rego": _SEND.replace("URL", url)},
        },
        "topaz-network": {"provider": "topaz", "provider_config": topaz, **warned},
        "topaz-command": {
            "provider": "topaz",
            "provider_config": {**topaz, "api_key": {"value_from": command("topaz")}},
            **warned,
        },
    }


_SEND = """package agentcli.authz
allow { http.send({"method": "GET", "url": "URL/rego"}).status_code == 200 }
"""


def environment(value: Json) -> dict[str, str]:
    """The variables that its profiles name, with a proof that a key set would be asked about."""
    claims = {"iss": "i", "exp": time.time() + 86_400, "manifest_digest": canonical_digest(value)}
    return {
        "STRIPE": "sk_test_zebraquiltninetyone",
        "PROOF": token(claims),
        "AWS_ACCESS_KEY_ID": "AKIAZEBRAQUILTNINETY",
        "AWS_SECRET_ACCESS_KEY": "aws-secret-value",
        "AGENTCLI_ENTRA_CLIENT_ASSERTION": "assertion-value",
    }
