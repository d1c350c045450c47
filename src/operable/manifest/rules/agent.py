"""What crosses the fields of an AGENT-CLI.md alone (AIP-45): protocol, session, models, modes, options, continuation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from operable.kernel.catalogue import nearest
from operable.manifest.kind import Rule
from operable.manifest.part import ManifestPart, block
from operable.manifest.problem import Problem
from operable.manifest.rules.sandbox import variable

# protocol -> the field that it cannot do without, and what that field is
PROTOCOLS = {
    "acp": ("acp", "the path of an ACP.md"),
    "mcp": ("mcp", "the configuration of its MCP server"),
    "proprietary": ("adapter", "the name of an adapter"),
}
_VALUE = "{value}"


# These hand their own environment, and so every secret in it, to whatever the agent starts.
NOT_ISOLATING = ("local", "node-permission")
_GOVERNED = ("governance-aware", "sandboxed")


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


def _protocol(root: ManifestPart) -> Iterator[Problem]:
    protocol = root.at("protocol")
    if protocol.text is None:
        return
    if protocol.text not in PROTOCOLS:
        near = nearest(protocol.text, list(PROTOCOLS), limit=1)
        yield protocol.problem(
            "PROTOCOL_UNKNOWN",
            f"the protocol {protocol.text[:80]!r} is not known: this agent cannot be driven",
            f"did you mean {near[0]}?" if near else "known: acp, mcp, proprietary (with an adapter)",
        )
        return
    needed, what = PROTOCOLS[protocol.text]
    if not root.at(needed).present:
        message = f"the protocol {protocol.text} needs {needed}: {what}"
        yield root.at(needed).problem("PROTOCOL_INCOMPLETE", message, near=protocol)
    for name, (field, _) in PROTOCOLS.items():
        if name != protocol.text and root.at(field).present:
            message = f"{field} is for the protocol {name} and is not used"
            yield root.at(field).problem("PROTOCOL_UNUSED", message, level="warning")


def _mcp(root: ManifestPart) -> Iterator[Problem]:
    mcp = root.at("mcp")
    transport = mcp.at("transport").text
    if transport in ("http", "sse") and not mcp.at("url").present:
        message = f"the transport {transport} needs mcp.url"
        yield mcp.at("url").problem("PROTOCOL_INCOMPLETE", message, near=mcp.at("transport"))
    if transport == "stdio" and mcp.at("url").present:
        yield mcp.at("url").problem(
            "PROTOCOL_UNUSED", "url has no meaning for the transport stdio", level="warning"
        )


def _resumable(root: ManifestPart) -> Iterator[Problem]:
    if root.at("capabilities", "resumable").value is True:
        return
    hint = "declare capabilities.resumable: true, if the program can"
    if root.at("session", "mode").text == "resumable":
        message = "a resumable session needs a program that can resume"
        yield root.at("session", "mode").problem("NOT_RESUMABLE", message, hint)
    continuation = root.at("continuation")
    if continuation.at("default").text == "native-resume":
        message = "the continuation native-resume needs a program that can resume"
        yield continuation.at("default").problem("NOT_RESUMABLE", message, hint)
        return
    for part, strategy in continuation.at("supported").texts():
        if strategy == "native-resume":
            message = "native-resume is listed, but capabilities.resumable is not declared"
            yield part.problem("NOT_RESUMABLE", message, hint, "warning")


def _continuation(root: ManifestPart) -> Iterator[Problem]:
    default, supported = root.at("continuation", "default"), root.at("continuation", "supported")
    known = [text for _, text in supported.texts()]
    if default.text is not None and known and default.text not in known:
        message = f"the default continuation {default.text[:80]!r} is not among those supported"
        yield default.problem("CONTINUATION_DEFAULT", message, f"supported: {', '.join(known)}")


def _models(root: ManifestPart) -> Iterator[Problem]:
    models = root.at("models")
    default = models.at("default")
    allowed = {item.text or item.at("id").text for item in models.at("allowed").items()}
    if default.text is not None and allowed and default.text not in allowed:
        yield default.problem(
            "MODEL_DEFAULT", f"the default model {default.text[:80]!r} is not among those allowed"
        )
    for _, part in models.at("env").entries():
        if part.text is not None:
            yield from variable(part, part.text)


def _ids(root: ManifestPart) -> Iterator[Problem]:
    for field in ("modes", "options"):
        seen: set[str] = set()
        for entry in root.at(field).items():
            name = entry.at("id")
            if name.text is None:
                continue
            if name.text in seen:
                yield name.problem("ID_TWICE", f"two {field} have the id {name.text!r}")
            seen.add(name.text)
            for variable_name, part in entry.at("env").entries():
                yield from variable(part, variable_name)


def _modes(root: ManifestPart) -> Iterator[Problem]:
    for mode in root.at("modes").items():
        values = [
            *mode.at("bin_args_append").texts(),
            *((part, part.text or "") for _, part in mode.at("env").entries()),
        ]
        for part, text in values:
            if _VALUE in text:
                yield part.problem(
                    "MODE_VALUE", "a mode has no value: {value} stays as it is written", level="warning"
                )


def _options(root: ManifestPart) -> Iterator[Problem]:
    for option in root.at("options").items():
        kind = option.at("type").text
        if kind is None:
            continue
        if kind == "enum" and not option.at("enum").present:
            yield option.at("enum").problem(
                "OPTION_VALUES", "an option of type enum needs enum: its values", near=option.at("id")
            )
        if kind != "enum" and option.at("enum").present:
            yield option.at("enum").problem(
                "OPTION_VALUES", f"enum has no meaning for an option of type {kind}"
            )
        for bound in ("min", "max"):
            if kind != "integer" and option.at(bound).present:
                yield option.at(bound).problem(
                    "OPTION_BOUNDS", f"{bound} is for integers, not for an option of type {kind}"
                )
        least, most = option.at("min").number, option.at("max").number
        if least is not None and most is not None and least > most:
            yield option.at("min").problem("OPTION_BOUNDS", f"min is {least}, max is {most}: no value fits")
        flag = option.at("bin_args_append_when_true")
        if kind != "boolean" and flag.present:
            message = f"bin_args_append_when_true is for booleans, not for an option of type {kind}"
            yield flag.problem("OPTION_PATCH", message, "write bin_args_template with {value}")
        yield from _default(option, kind)


def _default(option: ManifestPart, kind: str) -> Iterator[Problem]:
    default = option.at("default")
    value = default.value
    if value is None:
        return
    # A bool is an int to Python, not to a manifest.
    fits = {
        "boolean": isinstance(value, bool),
        "integer": default.number is not None,
        "string": isinstance(value, str),
        "enum": isinstance(value, str),
    }.get(kind, True)
    if not fits:
        yield default.problem("OPTION_DEFAULT", f"the default of this option is not a {kind}")
        return
    values = [text for _, text in option.at("enum").texts()]
    if kind == "enum" and values and value not in values:
        yield default.problem("OPTION_DEFAULT", f"the default {value[:80]!r} is not among the values of enum")
    least, most = option.at("min").number, option.at("max").number
    if kind == "integer" and ((least is not None and value < least) or (most is not None and value > most)):
        yield default.problem("OPTION_DEFAULT", f"the default {value} is outside min and max")


# An AGENT-CLI.md against the manifests that it refers to: capabilities within the ACP profile, secrets within the
# sandbox.
#
# AIP-45 asks for "a subset of the ACP capabilities" but the two vocabularies do not meet (point 11 of the decision on
# manifest contradictions). `PROFILE_CHECKS` is the mapping: what an ACP.md has to say so that a capability may be
# promised.


def _explicit(profile: ManifestPart) -> ManifestPart:
    return profile.at("metadata", "aip44", "capabilities")


def _tier(profile: ManifestPart) -> str | None:
    return profile.at("metadata", "aip44", "tier").text


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


AGENT_RULES: tuple[Rule, ...] = (_protocol, _mcp, _resumable, _continuation, _models, _ids, _modes, _options)
