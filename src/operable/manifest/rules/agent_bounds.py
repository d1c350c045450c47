"""An AGENT-CLI.md against the manifests that it refers to: capabilities within the ACP profile, secrets within the sandbox.

AIP-45 asks for "a subset of the ACP capabilities" but the two vocabularies do not meet (point 11 of the decision on manifest
contradictions). `PROFILE_CHECKS` is the mapping: what an ACP.md has to say so that a capability may be promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from operable.manifest.embedding import block
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

# These hand their own environment, and so every secret in it, to whatever the agent starts.
NOT_ISOLATING = ("local", "node-permission")
_GOVERNED = ("governance-aware", "sandboxed")


def _explicit(profile: ManifestPart) -> ManifestPart:
    return profile.at("metadata", "aip44", "capabilities")


def _tier(profile: ManifestPart) -> str | None:
    return profile.at("metadata", "aip44", "tier").text


def _loads(profile: ManifestPart) -> bool:
    if _explicit(profile).present:
        return _explicit(profile).at("agent", "loadSession").value is True
    return _tier(profile) in _GOVERNED


def _sees(profile: ManifestPart) -> bool:
    prompt = _explicit(profile).at("agent", "promptCapabilities")
    return prompt.at("image").value is True or prompt.at("audio").value is True


def _calls_tools(profile: ManifestPart) -> bool:
    return _tier(profile) in _GOVERNED


# AIP-45 capability -> (does the profile allow it, what it has to say). file_io may happen on the agent's own side,
# bidirectional follows from the permission request that every ACP agent has, streaming and sub_agents have no ACP flag.
PROFILE_CHECKS: dict[str, tuple[Callable[[ManifestPart], bool], str]] = {
    "resumable": (_loads, "agent.loadSession: true, or a tier from governance-aware on"),
    "multimodal": (_sees, "agent.promptCapabilities.image or audio: true"),
    "tool_calls": (_calls_tools, "a tier from governance-aware on"),
}


def capabilities_within_profile(root: ManifestPart, bound: Mapping[str, ManifestPart]) -> Iterator[Problem]:
    profile = bound.get("acp")
    if root.at("protocol").text != "acp" or profile is None:
        return
    for name, (allowed, needed) in PROFILE_CHECKS.items():
        part = root.at("capabilities", name)
        if part.value is True and not allowed(profile):
            yield part.problem(
                "CAPABILITY_BEYOND_ACP",
                f"capabilities.{name} is more than the ACP profile declares",
                f"the ACP.md has to say {needed}",
            )


def environment_isolated(root: ManifestPart, bound: Mapping[str, ManifestPart]) -> Iterator[Problem]:
    sandbox = bound.get("sandbox") or block(root.at("sandbox"))
    provider = sandbox.at("provider").text
    auth = root.at("auth")
    hands_over = auth.at("ref").present or bool(auth.at("state", "env").value)
    if provider in NOT_ISOLATING and hands_over:
        yield auth.problem(
            "SANDBOX_ENV_NOT_ISOLATED",
            f"the sandbox provider {provider} does not keep secrets from what the agent starts",
            "hosts refuse to combine them; use bubblewrap, or another provider that isolates the environment",
            "warning",
        )
