"""Every failure of a flow, as one table: the contract's word, its JSON-RPC type, and the `Fail` that it is here.

The agentcli contract names failures by words (`approval_required`), each of one of five types; the type decides the
JSON-RPC error. The product names failures by category and code (`authz`, `FLOW_REFUSED`); the category decides the exit
status. A `FlowError` is a `Fail` that knows its word, so JSON-RPC, `operable flow` and `operable-agentcli` report the
same failure and no front end translates.

A word that is not in the table is a fault of ours: its type is `internal_error`, and no client of the protocol sees it.
"""

from typing import Any, NamedTuple

from operable.kernel.errors import Fail

TYPES = ("validation_error", "unknown_command", "invalid_argument", "parse_error", "internal_error")


class Meaning(NamedTuple):
    """What a word of the contract means: its type there, its category and code here."""

    error_type: str
    category: str
    code: str


_REFUSED = (
    "approval_required approval_auto_rejected approval_signature_invalid approval_scope_mismatch approval_log_invalid "
    "policy_forbids_approval authorization_denied authorization_escalation_required trust_level_insufficient "
    "contract_violation sandbox_path_escape sandbox_path_invalid presentation_source_forbidden"
)
_FAILED = (
    "validation_error content_changed authorization_error unknown_authorization_provider identity_resolution_failed "
    "identity_profile_invalid identity_delegation_invalid unknown_identity_provider identity_provider_error "
    "resolution_failed token_not_found token_file_empty token_file_not_found token_request_failed "
    "presentation_format_unsupported presentation_binding_invalid presentation_binding_missing "
    "presentation_target_unsupported presentation_target_invalid presentation_stdin_conflict evidence_failed "
    "verify_failed capability_mismatch delegation_error"
)
_PROOF_FAILED = "authorization_proof_failed authorization_proof_invalid unknown_verifier"
_GROUPS = {
    "invalid_argument": Meaning("invalid_argument", "usage", "FLOW_ARGUMENT_INVALID"),
    "unknown_command": Meaning("unknown_command", "usage", "FLOW_ARGUMENT_INVALID"),
    "no_runtime": Meaning("invalid_argument", "config", "FLOW_UNSUPPORTED"),
    "unsupported_capability": Meaning("invalid_argument", "config", "CAPABILITY_MISSING"),
    "sandbox_unavailable sandbox_enforcement_unavailable": Meaning(
        "validation_error", "config", "FLOW_UNSUPPORTED"
    ),
    "commands_not_allowed network_not_allowed": Meaning("validation_error", "authz", "FLOW_NOT_ALLOWED"),
    _PROOF_FAILED: Meaning("validation_error", "authz", "PROOF_FAILED"),
    _REFUSED: Meaning("validation_error", "authz", "FLOW_REFUSED"),
    _FAILED: Meaning("validation_error", "validation", "FLOW_FAILED"),
    "parse_error": Meaning("parse_error", "validation", "FLOW_FAILED"),
    "approval_lock_timeout": Meaning("internal_error", "temporary", "FLOW_BUSY"),
    "scheduler_error": Meaning("internal_error", "io", "BACKEND_FAILED"),
    "internal_error": Meaning("internal_error", "io", "FLOW_STATE_UNUSABLE"),
}
MEANINGS: dict[str, Meaning] = {word: meaning for words, meaning in _GROUPS.items() for word in words.split()}
# Words of our own: the contract does not have them, so that its clients see an internal error.
_OWN = {
    "plan_changed": Meaning("internal_error", "conflict", "PLAN_CHANGED"),
    "store_unavailable": Meaning("internal_error", "temporary", "STORE_UNAVAILABLE"),
    "store_login_refused": Meaning("internal_error", "authn", "STORE_REFUSED"),
    "store_missing": Meaning("internal_error", "config", "DATABASE_MISSING"),
    "store_access_refused": Meaning("internal_error", "authz", "STORE_REFUSED"),
    "HANDOFF_ARTIFACT_INVALID": Meaning("internal_error", "io", "BACKEND_FAILED"),
}
# Codes for failures that the product names more exactly than the contract does, with their categories.
EXACT = {
    "AUDIT_SETTING_INVALID": "config",
    "BACKEND_ANSWER_INVALID": "validation",
    "JOBS_REFUSED": "validation",
}
_UNLISTED = Meaning("internal_error", "validation", "FLOW_FAILED")


class FlowError(Fail):
    """A failure of a flow. `flow_code` is the contract's word; `details` go to every front end as they are.

    `reported_as` is one of the codes in `EXACT`. `answer` is what a task has left that ran before it failed: a caller in
    this process may keep it, and no front end shows it.
    """

    def __init__(
        self, flow_code: str, message: str, /, *, reported_as: str | None = None, **details: Any
    ) -> None:
        meaning = _meaning(flow_code)
        category = EXACT[reported_as] if reported_as else meaning.category
        super().__init__(category, reported_as or meaning.code, message)
        self.flow_code = flow_code
        self.details = details
        self.answer: dict[str, Any] | None = None
        self._reported_as = reported_as

    def restated(self, message: str, **details: Any) -> "FlowError":
        """The same failure in other words."""
        again = FlowError(self.flow_code, message, reported_as=self._reported_as, **details)
        again.target, again.hint = self.target, self.hint
        return again

    def event(self) -> dict[str, object]:
        """The `aoi:error` event, with the contract's word as `flow_code`."""
        return {**super().event(), "flow_code": self.flow_code}


class NotAllowed(FlowError):  # noqa: N818 - a fact about the operation
    """An operation that changes nothing was asked to run a command of the manifest, or to use the network.

    No provider may turn this into a missing value or an error of its own: the caller must see what to allow.
    """


def _meaning(word: str) -> Meaning:
    if word.startswith("spiffe_"):
        return MEANINGS["validation_error"]
    return MEANINGS.get(word) or _OWN.get(word) or _UNLISTED


def error_type(word: str) -> str:
    """The type of a word; that of an unlisted one is `internal_error`."""
    return _meaning(word).error_type


def known_code(word: str) -> str:
    """The word as clients of the protocol may see it."""
    return word if word in MEANINGS or word.startswith("spiffe_") else "internal_error"


def invalid_argument(message: str, **details: Any) -> FlowError:
    """The caller can correct it."""
    return FlowError("invalid_argument", message, **details)
