"""The contracts of the four catalogues of a manifest's profiles: identities, authorizers, proofs, evidences.

An entry is a plain value: its name, what it can do, what it asks of its profile (without I/O, used by the validator),
and the function that does it. Secrets that an entry obtains are only in the `credentials` of what it
returns.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from operable.flow.errors import NotAllowed, invalid_argument
from operable.kernel import catalogue
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Known

# (shell line, further variables, timeout) -> what it printed; ValueError says why there is nothing
CommandRunner = Callable[[str, Mapping[str, str], float], str]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a provider may use of the world. `environment` is the caller's, `cwd` the folder that relative paths mean.

    Commands and the network are for those who were given them: what says nothing may have neither.
    """

    cwd: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    commands: CommandRunner | None = field(default=None, repr=False)  # runs value_from.command
    network: bool = False
    timeout: float = 30.0
    known: Known = field(default_factory=Known, repr=False, compare=False)  # learns what value_from reads

    def require_network(self, what: str) -> None:
        """NotAllowed unless the network may be used."""
        if not self.network:
            message = f"{what} needs the network, which this operation does not use unless it is allowed"
            raise NotAllowed("network_not_allowed", message, allow="allowNetwork")


@dataclass(frozen=True, slots=True)
class IdentityRequest:
    """One resolution: the declaration merged over its profile (`inheritance.effective_identity`), and for whom."""

    identity: Mapping[str, Any] = field(repr=False)  # its inputs may contain literals
    surroundings: Surroundings
    workflow_id: str
    task_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """One identity provider. `order` is its place in listings."""

    name: str
    order: int
    # auth_modes, credential_types, presentation_kinds, handoff_modes, refreshable, delegation, trust_levels,
    # approval_mechanisms, and optionally cache_modes
    capabilities: Mapping[str, Any]
    # profile -> messages; they land on the profile's own path
    check: Callable[[Mapping[str, Any]], list[str]]
    # -> session: provider, subject, instance, trust, delegation_chain, credentials, provider_assertions, refresh, handoff
    resolve: Callable[[IdentityRequest], dict[str, Any]]
    # (chain, request) -> what is wrong with it, besides the rules that apply to every chain
    check_delegation: Callable[[list[dict[str, Any]], IdentityRequest], list[str]] | None = None
    # (session, request): give back what was made for this session only; called once, after the task
    release: Callable[[dict[str, Any], IdentityRequest], None] | None = None
    # how credentials are presented when the identity declares no bindings
    default_bindings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Authorizer:
    """One authorization provider. `evaluate` gives the raw answer of the policy; mapping it is the mechanism's work."""

    name: str
    order: int
    capabilities: Mapping[str, Any]  # decision_kinds, escalation, batch, dry_run
    check: Callable[[Mapping[str, Any]], list[tuple[str, str]]]  # profile -> (field, message)
    # (provider_config, request, surroundings) -> {"value": raw decision, "reason": str | None, "policy_ref": str | None}
    evaluate: Callable[[Mapping[str, Any], Mapping[str, Any], Surroundings], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """One verification. `value` is the proof itself, resolved; `handoff` is set in v4 mode."""

    profile: Mapping[str, Any]  # merged with the claims and verify of the reference
    value: str = field(repr=False)
    manifest: Any = field(repr=False)
    manifest_digest: str
    surroundings: Surroundings
    now: float
    handoff: "HandoffContext | None" = None


@dataclass(frozen=True, slots=True)
class HandoffContext:
    """What v4 mode binds a proof to. A missing checker or store fails closed."""

    artifact_digest: str
    revoked: Callable[[str], bool | None] | None = None  # key or proof id -> True, False, or None: cannot say
    claim_once: Callable[[str, float], bool] | None = (
        None  # (nonce or jti, expires at) -> whether it was unused
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """One method of proving an authorization."""

    name: str
    order: int
    check: Callable[[Mapping[str, Any]], list[tuple[str, str]]]  # profile -> (field, message)
    verify: Callable[
        [ProofRequest], dict[str, Any]
    ]  # the documented result, `verified` and `reason` among its members


@dataclass(frozen=True, slots=True)
class Evidence:
    """One way to sign what happened."""

    name: str
    order: int
    methods: tuple[str, ...]
    check: Callable[[Mapping[str, Any]], list[tuple[str, str]]]
    # (payload, provider_config, surroundings) -> envelope
    attest: Callable[[Mapping[str, Any], Mapping[str, Any], Surroundings], dict[str, Any]]
    # (envelope, provider_config, surroundings) -> {"verified": bool, "reason": …, …}
    verify: Callable[[Mapping[str, Any], Mapping[str, Any], Surroundings], dict[str, Any]]


_KINDS = {
    "identities": ("IDENTITY", "identity provider"),
    "authorizers": ("AUTHORIZER", "authorization provider"),
    "proofs": ("PROOF", "verifier method"),
    "evidences": ("EVIDENCE", "evidence provider"),
}


def entry(folder: str, name: str) -> Any:
    """The descriptor of one entry; Raises Fail if it does not exist."""
    attribute, kind = _KINDS[folder]
    return catalogue.load(f"operable.flow.{folder}", name, attribute, kind=kind)


def known(folder: str) -> list[str]:
    """Names of all entries, without loading any."""
    package = __import__(f"operable.flow.{folder}", fromlist=["__path__"])
    return [name for directory in package.__path__ for name in catalogue.names(directory)]


def listed(folder: str) -> list[Any]:
    """All descriptors in the order of listings."""
    return sorted((entry(folder, name) for name in known(folder)), key=lambda found: found.order)


def named(folder: str, params: Mapping[str, Any], member: str, what: str) -> Any:
    """The name that a request gives in this member. Raises FlowError if no entry has it."""
    from operable.flow.canonical import spelled
    from operable.flow.operation import required

    name = required(params, member)
    if name not in known(folder):
        raise invalid_argument(f"Unknown {what}: {spelled(name)}")
    return name
