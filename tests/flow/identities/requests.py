"""Requests for identities, as the runtime would make them of a profile."""

from typing import Any

from operable.flow.contracts import IdentityRequest, Surroundings, entry
from operable.flow.manifest.inheritance import effective_identity
from operable.flow.manifest.profile_rules import common_identity_problems
from operable.flow.run.caller import TaskCommands
from operable.flow.trust.identity.sessions import resolve_identity

Json = dict[str, Any]
CANARY = "canary-4f1c9d-do-not-show"


def request(
    provider: str,
    config: Json | None = None,
    *,
    env: dict[str, str] | None = None,
    cwd: str = "/",
    inputs: Json | None = None,
    instance: str | None = None,
    scope: str | None = None,
    allow_commands: bool = False,
    network: bool = True,
    timeout: float = 20.0,
    subject: Json | None = None,
    trust: Json | None = None,
    presentation: Json | None = None,
    **auth: Any,
) -> IdentityRequest:
    given = {"provider_config": config, "inputs": inputs, **auth}
    profile = {
        "id": "me",
        "provider": provider,
        "subject": subject,
        "trust": trust,
        "presentation": presentation,
        "auth": given,
    }
    declared = {"ref": "me"} if scope is None else {"ref": "me", "scope": scope}
    identity = effective_identity({"identity_profiles": [profile]}, {}, {"identity": declared})
    assert identity is not None
    commands = TaskCommands(contract={}, cwd=cwd, base=cwd, environment=env or {}).run
    around = Surroundings(
        cwd=cwd,
        environment=env or {},
        commands=commands if allow_commands else None,
        network=network,
        timeout=timeout,
    )
    return IdentityRequest(identity, around, workflow_id="w", task_id="t", instance_id=instance)


def session(provider: str, config: Json | None = None, **members: Any) -> Json:
    found = resolve_identity(request(provider, config, **members))
    assert found is not None
    return found


def problems(provider: str, config: Json | None = None, **members: Any) -> list[str]:
    """What the validator says about such a profile."""
    found = entry("identities", provider)
    profile = {"id": "me", "provider": provider, **members}
    profile["auth"] = {"provider_config": config, **(members.get("auth") or {})}
    return [*common_identity_problems(found, profile), *found.check(profile)]
