"""Records of approvals as plain values: their status, what is signed of them, what they are shown as. No I/O.

The first record of an id counts, so that appending another record does not change an approval. A record that does not say
until when it holds, holds no longer.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from operable.flow.canonical import canonical_digest, canonical_text

Json = dict[str, Any]
VERSION = 2
# Seconds by which the clock of the approver may be ahead of ours.
SKEW = 60.0
# Seconds for which an approval has been expired before it counts as ended: a clock that jumps ends none that holds.
_EXPIRED_FOR = 30 * 86_400.0
_SIGNED = (
    "approval_id workflow_id task_id task_hash risk_level approver_scope approver reason granted_at expires_at"
).split()


def signed_text(made: Mapping[str, Any]) -> str:
    """What an approver signs. Approvals of other programs name no content."""
    content = made.get("content")
    bound = {} if content is None else {"content_hash": canonical_digest(content)}
    members = {name: made.get(name) for name in _SIGNED}
    return canonical_text({"v": VERSION, "kind": "approval", **members, **bound})


def matches_scope(approver: str, scope: str | None) -> bool:
    """Who may approve: no particular actor, exactly one actor, or every actor of a domain."""
    if not scope:
        return True
    kind, colon, wanted = scope.partition(":")
    if not colon:
        return approver == scope
    if kind in ("principal", "user"):
        return bool(wanted) and approver == wanted
    if kind == "domain":
        user, at, domain = approver.rpartition("@")
        return bool(user and at and wanted) and domain.lower() == wanted.lower()
    return approver == scope


def parts(binding: Mapping[str, Any]) -> dict[str, str]:
    """The digests of what a binding is made of, by name."""
    found: dict[str, str] = {}
    for name, value in binding.items():
        if name == "command" and isinstance(value, Mapping):
            found |= {
                f"command.{part}": canonical_digest(item) for part, item in value.items() if "env" not in part
            }
            found |= {f"command.env.{variable}": text for variable, text in value["env_hashes"].items()}
        else:
            found[name] = canonical_digest(value)
    return found


def changes(before: Any, after: Mapping[str, str]) -> list[str]:
    """The names of what differs."""
    if not isinstance(before, Mapping):
        return []
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def folded(events: list[Json], now: float) -> list[Json]:
    """Each grant with its status and its outcome, oldest first."""
    found: dict[str, dict[str, Json]] = {"grant": {}, "consume": {}, "revoke": {}}
    for event in events:
        if event.get("kind") in found and _is_plain(event):
            found[event["kind"]].setdefault(event["approval_id"], event)
    folded = []
    for name, made in found["grant"].items():
        used, taken = found["consume"].get(name, {}), found["revoke"].get(name, {})
        status = (
            "revoked" if taken else "consumed" if used else "expired" if _expired(made, now) else "pending"
        )
        folded.append(
            {
                **{field: made.get(field) for field in ("workflow_id", "task_id", "task_hash")},
                **made,
                "record_hash": canonical_digest(made),
                "status": status,
                "consumed_at": used.get("consumed_at"),
                "consumed_by_execution_id": used.get("execution_id"),
                "revoked_at": taken.get("revoked_at"),
                "revoked_by": taken.get("revoked_by"),
                "revoke_reason": taken.get("reason"),
            }
        )
    return sorted(folded, key=lambda each: str(each.get("granted_at")))


class Ended:
    """Finds the approvals that no execution can use any more, one event after the other, with little memory."""

    def __init__(self, now: float) -> None:
        self._expired_at = now - _EXPIRED_FOR
        self._granted: set[str] = set()
        self._ended: dict[str, None] = {}  # in the order in which they ended

    def take(self, event: Json) -> None:
        """The next event of the file."""
        if not _is_plain(event):
            return
        name, kind = event["approval_id"], event.get("kind")
        if kind in ("consume", "revoke"):
            self._ended.setdefault(name)
        elif kind == "grant" and name not in self._granted:  # the first record of an id counts
            self._granted.add(name)
            if _expired(event, self._expired_at):
                self._ended.setdefault(name)

    def oldest(self, kept: int) -> set[str]:
        """All that have ended, except for the newest `kept`."""
        return set(list(self._ended)[: max(0, len(self._ended) - kept)])


def _is_plain(event: Json) -> bool:
    """Texts and nothing else where texts belong: a different record was not written by a grant of ours."""
    names = (*_SIGNED, "execution_id", "consumed_at", "revoked_by", "revoked_at")
    return all(isinstance(event.get(name), str | None) for name in names)


def is_future(time: Any, now: float) -> bool:
    """Whether something claims to have happened later than now. What names no time is taken for that."""
    try:
        return datetime.fromisoformat(str(time)).timestamp() > now + SKEW
    except (ValueError, OverflowError):
        return True


def _expired(made: Mapping[str, Any], now: float) -> bool:
    try:
        return datetime.fromisoformat(str(made.get("expires_at"))).timestamp() <= now
    except (ValueError, OverflowError):
        return True


def shown(made: Mapping[str, Any]) -> Json:
    """A grant as results and listings have it."""
    return {
        **{name: made.get(name) for name in _SIGNED},
        "signature": shown_signature(made),
        "unsigned_explicit": made.get("unsigned_explicit") is True,
    }


def fate(each: Mapping[str, Any]) -> Json:
    """The outcome of a grant."""
    names = "status consumed_at consumed_by_execution_id revoked_at revoked_by revoke_reason"
    return {name: each[name] for name in names.split()}


def shown_signature(made: Mapping[str, Any]) -> Json | None:
    signature = made.get("signature")
    if not isinstance(signature, Mapping):
        return None
    return {name: signature.get(name) for name in ("method", "key_fingerprint")}
