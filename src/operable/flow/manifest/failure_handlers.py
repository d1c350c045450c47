"""`on_failure`, written out: each handler becomes a task of its own, directly after the task whose failure it handles.

Everything that executes or compiles works on the expanded manifest; digests are always made of the original one. What
every task asks of its manifest (the digest, a profile by its id) is computed once per manifest and kept here: a manifest
of a thousand tasks is not digested a thousand times.
"""

from typing import Any

from operable.flow.canonical import canonical_digest

_COPIED = (
    "model_policy intent output budgets delivery reliability runtime approval context session identity contract "
    "authorization_proof authorization evidence delete_after_run"
).split()


class ExpandedManifest(dict[str, Any]):
    """A manifest without shorthands. Neither it nor the original is changed after this was made."""

    __slots__ = ("_digest", "_original", "_profiles")

    def __init__(self, expanded: dict[str, Any], original: dict[str, Any]) -> None:
        super().__init__(expanded)
        self._original = original
        self._digest: str | None = None
        self._profiles: dict[str, dict[str, dict[str, Any]]] = {}

    @property
    def original_digest(self) -> str:
        """The canonical digest of the manifest as it was given."""
        if self._digest is None:
            self._digest = canonical_digest(self._original)
        return self._digest

    def profile(self, array: str, ref: str | None) -> dict[str, Any] | None:
        """The first profile of this array that has this id. Returns None if the task has no handler."""
        if array not in self._profiles:
            by_id: dict[str, dict[str, Any]] = {}
            for profile in self.get(array) or ():
                if isinstance(profile.get("id"), str):
                    by_id.setdefault(profile["id"], profile)
            self._profiles[array] = by_id
        return None if ref is None else self._profiles[array].get(ref)


def expand(manifest: dict[str, Any]) -> ExpandedManifest:
    """The manifest without shorthands; the one that was given stays as it is."""
    workflows = [
        {**workflow, "tasks": [part for task in workflow["tasks"] for part in _expand_task(task)]}
        for workflow in manifest["workflows"]
    ]
    return ExpandedManifest({**manifest, "workflows": workflows}, manifest)


def _expand_task(task: dict[str, Any]) -> list[dict[str, Any]]:
    handler = task.get("on_failure")
    if handler is None:
        return [task]
    plain = {name: value for name, value in task.items() if name != "on_failure"}
    return [plain, _handler_task(task, handler)]


def _handler_task(task: dict[str, Any], handler: dict[str, Any]) -> dict[str, Any]:
    target = handler.get("target") or {}
    agent_id = _first(target.get("agent_id"), (task.get("target") or {}).get("agent_id"), "main")
    made: dict[str, Any] = {
        "id": _first(handler.get("id"), f"{task['id']}.failure"),
        "name": _first(handler.get("name"), f"{task['name']} Failure Handler"),
        "target": {
            "session_target": target.get("session_target")
            or ("isolated" if handler.get("shell") is None else "shell"),
            "agent_id": agent_id,
        },
        "trigger": {
            "parent": task["id"],
            "on": "failure",
            "delay_s": _first(handler.get("delay_s"), 0),
            "condition": handler.get("condition"),
        },
    }
    enabled = _first(handler.get("enabled"), task.get("enabled"))
    if enabled is not None:
        made["enabled"] = enabled
    if target.get("payload_kind") is not None:
        made["target"]["payload_kind"] = target["payload_kind"]
    for name in ("prompt", "shell", *_COPIED):
        if handler.get(name) is not None:
            made[name] = handler[name]
    return made


def _first(*values: Any) -> Any:
    """JavaScript's `??`: the first that is not null; false, 0 and "" count."""
    return next((value for value in values if value is not None), None)
