"""Reading an identity: the configuration and inputs of its provider, as texts and as secrets.

A provider's settings come from the profile's `provider_config` and, over it, from `auth.provider_config`; `auth.inputs`
are `{"value_from": …}` blocks. The same functions serve the validator (a profile, no I/O) and the resolution (the merged
identity).
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import IdentityRequest
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import js_trim
from operable.flow.trust.value_sources import SOURCES, read_value


def auth(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `auth` of an identity; empty when it has none, or is not (yet) known to be well-formed."""
    found = identity.get("auth")
    return found if isinstance(found, Mapping) else {}


def settings(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The provider's configuration, the inner one winning."""
    outer, inner = identity.get("provider_config"), auth(identity).get("provider_config")
    return {
        **(outer if isinstance(outer, Mapping) else {}),
        **(inner if isinstance(inner, Mapping) else {}),
    }


def inputs(identity: Mapping[str, Any]) -> dict[str, Any]:
    found = auth(identity).get("inputs")
    return dict(found) if isinstance(found, Mapping) else {}


def auth_member(identity: Mapping[str, Any], name: str) -> Any:
    """A member of `auth`, else the setting of the same name."""
    value = auth(identity).get(name)
    return settings(identity).get(name) if value is None else value


def is_required(identity: Mapping[str, Any]) -> bool:
    """Whether a missing credential is an error. Only an explicit false makes it optional."""
    return auth(identity).get("required") is not False


def text(identity: Mapping[str, Any], name: str) -> str | None:
    """A setting that is a non-empty string."""
    value = settings(identity).get(name)
    return value if isinstance(value, str) and js_trim(value) else None


def missing_texts(identity: Mapping[str, Any], *names: str) -> list[str]:
    """Messages for settings that must be non-empty strings and are not."""
    return [
        f"auth.provider_config.{name} is required and must be a non-empty string"
        for name in names
        if text(identity, name) is None
    ]


def has_source(identity: Mapping[str, Any], name: str) -> bool:
    """Whether a secret of this name is configured, as a setting or as an input."""
    return _block(settings(identity).get(name)) is not None or _block(inputs(identity).get(name)) is not None


def secret(request: IdentityRequest, *names: str, code: str) -> str | None:
    """The first of these secrets that is configured, as an input or a setting; None if none of them is.

    A plain string is the secret itself and would be in the manifest in clear, so only `value_from` blocks are read.
    """
    for name in names:
        for holder in (inputs(request.identity), settings(request.identity)):
            block = _block(holder.get(name))
            if block is not None:
                return read_value(block, request.surroundings, code=code, what=name)
    return None


def needed_secret(request: IdentityRequest, *names: str, code: str) -> str:
    value = secret(request, *names, code=code)
    if value is None:
        raise FlowError(code, f"{names[0]} is not configured")
    return value


def secret_problems(identity: Mapping[str, Any], name: str, *, needed: bool = True) -> list[str]:
    """Messages for a secret that is missing, or that is in the manifest in clear."""
    values = [holder.get(name) for holder in (inputs(identity), settings(identity))]
    if any(isinstance(value, str) for value in values):
        return [f"{name} must come from value_from, not from the manifest's text"]
    if needed and all(_block(value) is None for value in values):
        return [f"{name} is required: give it as value_from in auth.inputs or auth.provider_config"]
    return []


def _block(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, Mapping):
        return None
    if isinstance(inner := value.get("value_from"), Mapping):
        return inner
    return value if any(name in value for name in SOURCES) else None
