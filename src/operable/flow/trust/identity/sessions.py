"""Credential sessions: resolving an identity, and showing one without its secrets.

A session is a plain object. Secrets are only under `credentials`, so that describing a session is: replace
every leaf there, then remove what looks like a secret (or is one of those values) from the rest. Resolution refuses what
the local runtime cannot do (cache, refresh, handoff). It checks the merged identity as the validator checks a
profile, and validates the delegation chain before the credentials are used.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from operable.flow.contracts import Identity, IdentityRequest, entry, known
from operable.flow.errors import FlowError
from operable.flow.manifest.profile_rules import common_identity_problems
from operable.flow.manifest.vocabulary import TRUST_LEVELS
from operable.kernel.errors import Fail
from operable.kernel.extras import ExtraMissingError
from operable.kernel.redact import Redactor

Json = dict[str, Any]
REDACTED = "[REDACTED]"
_DEFAULT_TRUST = "supervised"
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
# Members of a credential that describe it. They are hidden like the others, but are not secrets to search for.
_PLAIN = frozenset("kind expires_at audience scope scopes type token_type".split())
_SKEW = 300.0  # seconds by which clocks may differ: as much as any provider can be configured to tolerate
# A shorter value would match by accident in every text.
_SHORTEST_SECRET = 6


def resolve_identity(request: IdentityRequest, *, tolerate_handoff: bool = False) -> Json | None:
    """The session of a task; None for an identity without a provider. FlowError with the documented codes."""
    provider = request.identity.get("provider")
    if provider is None:
        return None
    if provider not in known("identities"):
        raise FlowError("unknown_identity_provider", f"Unknown identity provider: {provider}")
    found: Identity = entry("identities", provider)
    _refuse_unsupported(request.identity, tolerate_handoff=tolerate_handoff)
    profile = dict(request.identity)
    problems = [*common_identity_problems(found, profile), *found.check(profile)]
    if problems:
        raise FlowError("identity_profile_invalid", f"Identity profile is invalid: {'; '.join(problems)}")
    try:
        session = found.resolve(request)
    except (FlowError, ExtraMissingError):
        raise
    except Fail as fail:
        raise FlowError(
            "identity_provider_error", f"Identity provider {provider} failed: {fail.code}"
        ) from None
    except UnicodeError:  # bytes of a variable, or an escape in an answer, that nothing can send
        message = f"Identity provider {provider} failed: a secret or an answer is not UTF-8 text"
        raise FlowError("identity_provider_error", message) from None
    _refuse_expired(session, request)
    chain = session["delegation_chain"]
    further = found.check_delegation(chain, request) if found.check_delegation else []
    policy = (request.identity.get("auth") or {}).get("delegation_policy")
    validation = validate_chain(chain, policy, further)
    session["delegation_validation"] = validation
    if not validation["valid"]:
        release_session(session, request)
        reasons = "; ".join(validation["errors"])
        raise FlowError("identity_delegation_invalid", f"Delegation chain is invalid: {reasons}")
    return session


def _refuse_expired(session: Json, request: IdentityRequest) -> None:
    """A task would fail half way with credentials that have ended, after its approval was used."""
    ends = credential_summary(session)["expires_at"]
    if ends is None or time.time() - _SKEW < _instant(ends) < float("inf"):
        return  # an end that cannot be read is not "never"
    release_session(session, request)
    message = f"Identity provider {session['provider']} failed: its credentials expired at {ends}"
    raise FlowError("identity_provider_error", f"{message}; is the clock of this machine right?")


def release_session(session: Mapping[str, Any] | None, request: IdentityRequest) -> None:
    """Give back what was made for this session only, such as a minted key. FlowError when that fails."""
    if session is not None:
        release = entry("identities", session["provider"]).release
        if release is not None:
            release(dict(session), request)


def _refuse_unsupported(identity: Mapping[str, Any], *, tolerate_handoff: bool) -> None:
    auth, presentation = identity.get("auth") or {}, identity.get("presentation") or {}
    wanted = [
        ("credential caching", auth.get("cache"), "none"),
        ("credential refresh", auth.get("refresh"), "never"),
    ]
    if not tolerate_handoff:
        wanted.append(("credential handoff", presentation.get("handoff"), "none"))
    for what, value, off in wanted:
        if value not in (None, off):
            raise FlowError(
                "unsupported_capability", f'{what} "{value}" is not supported by the local runtime'
            )


def new_session(
    request: IdentityRequest,
    *,
    principal: str | None = None,
    issuer: str | None = None,
    credentials: Json | None = None,
    chain: list[Json] | None = None,
    assertions: Json | None = None,
    refreshable: bool = False,
    expires_at: str | None = None,
) -> Json:
    """A session with every member. What the identity declares wins over what the provider found."""
    identity = request.identity
    subject, trust = identity.get("subject") or {}, identity.get("trust") or {}
    presentation = identity.get("presentation") or {}
    shown_subject = {
        "principal": subject.get("principal") or principal,
        "issuer": subject.get("issuer") or issuer,
        "run_as": subject.get("run_as"),
    }
    if subject.get("kind") is not None:
        shown_subject["kind"] = subject["kind"]
    instance = request.instance_id
    return {
        "provider": identity["provider"],
        "subject": shown_subject,
        "instance": None if instance is None else {"id": instance, "source": "operator"},
        "trust": {
            "declared_level": trust.get("level"),
            "effective_level": _effective_level(trust),
        },
        "delegation_chain": chain or [],
        "delegation_validation": validate_chain([], None),
        "credentials": credentials or {},
        "provider_assertions": assertions or {},
        "refresh": {"supported": refreshable, "expires_at": expires_at},
        "handoff": {"mode": presentation.get("handoff") or "none", "prepared": False},
    }


def _effective_level(trust: Mapping[str, Any]) -> str:
    level: str = trust.get("level") or _DEFAULT_TRUST
    ceiling = (trust.get("constraints") or {}).get("max_autonomy")
    return level if ceiling is None or not exceeds(level, ceiling) else ceiling


def exceeds(level: str, other: str) -> bool:
    """Whether a trust level is above another one."""
    return TRUST_LEVELS.index(level) > TRUST_LEVELS.index(other)


def walk(session: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; None if it does not exist. Lists are not entered."""
    value: Any = session
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def credential_summary(session: Mapping[str, Any]) -> Json:
    """Which kinds of credentials there are, and when the first of them ends."""
    kinds, ends = [], []
    for name, credential in session["credentials"].items():
        kinds.append(str(credential.get("kind") or name))
        if isinstance(end := credential.get("expires_at"), str):
            ends.append(end)
    return {"credential_types": kinds, "expires_at": min(ends, key=_instant, default=None)}


def described_session(session: Mapping[str, Any] | None) -> Json | None:
    """The session without its secrets."""
    if session is None:
        return None
    redactor = Redactor(secrets_of(session))
    shown = {
        name: _bare_urls(redactor.value(value)) for name, value in session.items() if name != "credentials"
    }
    ordered = {
        name: _hidden(value) if name == "credentials" else shown[name] for name, value in session.items()
    }
    return {**ordered, "credential_summary": credential_summary(session)}


def secrets_of(session: Mapping[str, Any] | None) -> list[str]:
    """The secret values of a session, for the code that redacts texts that may repeat them."""
    if session is None:
        return []
    return [value for value in _leaves(session["credentials"]) if len(value) >= _SHORTEST_SECRET]


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name not in _PLAIN:
                yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value


def _hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _hidden(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return REDACTED


def _bare_urls(value: Any) -> Any:
    if isinstance(value, str):
        return _URL.sub(lambda found: bare_url(found[0]), value)
    if isinstance(value, Mapping):
        return {name: _bare_urls(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_bare_urls(item) for item in value]
    return value


def bare_url(url: str) -> str:
    """An address without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return REDACTED
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as JavaScript prints a date."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _instant(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return float("inf")


# Delegation chains: who acts for whom, by which grant, and whether the policy of the profile allows it.


def validate_chain(
    chain: Sequence[Mapping[str, Any]], policy: Mapping[str, Any] | None, further: Sequence[str] = ()
) -> dict[str, Any]:
    """The `delegation_validation` of a session. `further` are the findings of the provider itself."""
    policy = policy or {}
    errors: list[str] = []
    limit = policy.get("max_depth")
    if isinstance(limit, int | float) and not isinstance(limit, bool) and len(chain) > limit:
        errors.append(f"delegation chain has {len(chain)} hops, more than max_depth {int(limit)}")
    pairs = [(hop.get("principal"), hop.get("grant")) for hop in chain]
    acyclic = len({_key(pair) for pair in pairs}) == len(pairs)
    if not acyclic:
        errors.append("delegation chain repeats a principal with the same grant")
    allowed = policy.get("allowed_delegators")
    if isinstance(allowed, list) and allowed:
        errors += [
            f'delegator "{principal}" is not in allowed_delegators'
            for principal, _ in pairs
            if principal not in allowed
        ]
    granted = [_is_granted(hop) for hop in chain]
    if policy.get("require_grant_per_hop") is not False and not all(granted):
        errors.append(f"hop {granted.index(False)} of the delegation chain has no validated grant")
    errors += further
    return {
        "valid": not errors,
        "depth": len(chain),
        "acyclic": acyclic,
        "all_grants_present": all(granted),
        "errors": errors,
    }


def _is_granted(hop: Mapping[str, Any]) -> bool:
    grant = hop.get("grant")
    return isinstance(grant, str) and bool(grant) and hop.get("validated") is not False


def _key(pair: tuple[Any, Any]) -> str:
    # A hop comes from a provider's answer and may contain anything, also what cannot be hashed.
    return repr(pair)
