"""Logs of pods, what happened to an object, and how far a rollout is."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wire.lines import split_lines
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import decode

from .parser import event_of, items_of, objects_of, place_of, server_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_TIME_LENGTH = 20  # 2026-01-01T00:00:00Z, and mostly a fraction in it
# The kinds that are rolled out, as the cluster calls them.
_KINDS = ("Deployment", "DaemonSet", "StatefulSet")


def logs(upstream: Upstream) -> Iterator[Any]:
    number, rest = 0, b""
    for chunk in upstream.chunks():
        lines, rest = split_lines(rest + chunk)
        for line in lines:
            number += 1
            yield _line(number, bytes(line))
        if len(rest) > RECORD_LIMIT:
            raise upstream.too_long(RECORD_LIMIT)
    if rest:
        yield _line(number + 1, bytes(rest))


def _line(number: int, line: bytes) -> dict[str, Any]:
    text = line.decode("utf-8", "replace").removesuffix("\r")
    time, space, rest = text.partition(" ")
    timed = len(time) >= _TIME_LENGTH and time[:4].isdigit() and "T" in time
    event = {"type": "line", "line_number": number, "time": time if timed else None}
    return event | {"text": redact_text(rest if timed and space else "" if timed else text)}


def describe(upstream: Upstream) -> Iterator[Any]:
    """The object, then what the cluster has noted of it, the newest last."""
    found = _object(upstream)
    yield event_of("object", found)
    meta = found.get("metadata") or {}
    words = ["get", "events", "--output=json", *place_of(upstream)]
    if meta.get("namespace") and not upstream.inputs.get("namespace"):
        words.append(f"--namespace={meta['namespace']}")
    noted = _decoded(upstream.ask([*words, f"--field-selector=involvedObject.uid={meta.get('uid')}"]))
    events = [each for each in items_of(noted) if each.get("kind") == "Event"]
    for each in sorted(events, key=lambda each: (str(_last(each)), str(each["metadata"].get("name")))):
        yield {
            "type": "noted",
            "name": each["metadata"].get("name"),
            "reason": each.get("reason"),
            "message": redact_text(str(each.get("message") or "")),
            "severity": each.get("type"),
            "count": each.get("count"),
            "first_seen": each.get("firstTimestamp") or each.get("eventTime"),
            "last_seen": _last(each),
            "source": (each.get("source") or {}).get("component") or each.get("reportingComponent"),
        }


def _last(each: dict[str, Any]) -> Any:
    return each.get("lastTimestamp") or each.get("eventTime") or each.get("firstTimestamp")


# -- rollouts


def rollout_status(upstream: Upstream) -> Iterator[Any]:
    if upstream.inputs["wait"]:
        words = ["rollout", "status", "--watch", *place_of(upstream), "--", *_named(upstream)]
        for _ in upstream.chunks(words):
            pass  # sentences for people; the object says it in numbers
        if upstream.end is None or upstream.end.status != 0:
            return
    yield _progress(_object(upstream))


def _progress(found: dict[str, Any]) -> dict[str, Any]:
    meta, spec, status = (found.get(name) or {} for name in ("metadata", "spec", "status"))
    if found.get("kind") not in _KINDS:
        hint = f"one of {', '.join(kind.lower() for kind in _KINDS)}"
        raise Fail("usage", "NOT_ROLLED_OUT", f"a {found.get('kind')} is not rolled out", hint=hint)
    daemons = found["kind"] == "DaemonSet"
    wanted = status.get("desiredNumberScheduled", 0) if daemons else spec.get("replicas", 1)
    updated = status.get("updatedNumberScheduled" if daemons else "updatedReplicas", 0)
    available = status.get("numberAvailable" if daemons else "availableReplicas", 0)
    existing = status.get("currentNumberScheduled" if daemons else "replicas", 0)
    seen = status.get("observedGeneration", 0) >= meta.get("generation", 0)
    conditions = [
        {name: each.get(name) for name in ("type", "status", "reason", "message")}
        for each in status.get("conditions") or ()
    ]
    stuck = any(each["reason"] == "ProgressDeadlineExceeded" for each in conditions)
    complete = seen and updated == wanted == available and (daemons or existing == wanted)
    state = "complete" if complete else "failed" if stuck and seen else "progressing"
    event = {"type": "rollout", "kind": found["kind"], "name": meta.get("name"), "state": state}
    event["uid"] = meta.get("uid")
    event |= {"namespace": meta.get("namespace"), "wanted": wanted, "updated": updated}
    return event | {"available": available, "existing": existing, "conditions": conditions}


def plan_rollout(upstream: Upstream) -> Iterator[Change]:
    """The object as it is now. A plan names the server: it is valid for no other one."""
    found = _object(upstream)
    progress = _progress(found)
    action = upstream.command.name.split()[1]
    details = {name: progress[name] for name in ("state", "wanted", "updated", "available")}
    revision = (found["metadata"].get("annotations") or {}).get("deployment.kubernetes.io/revision")
    if upstream.inputs.get("to_revision") is not None:
        details["to_revision"] = upstream.inputs["to_revision"]
    target = f"{found['kind']}/{progress['name']}"
    place = {"namespace": progress["namespace"], "uid": progress["uid"], "server": server_of(upstream)}
    place["revision"] = revision
    yield Change(action, target, **place, **details)


def rollout_change(upstream: Upstream) -> Iterator[Any]:
    verb = upstream.command.name.split()[1]
    words = ["rollout", verb, "--output=json", *place_of(upstream)]
    if upstream.inputs.get("to_revision") is not None:
        words.append(f"--to-revision={upstream.inputs['to_revision']}")
    for found in objects_of(upstream, [*words, "--", *_named(upstream)]):
        yield _progress(found) if isinstance(found, dict) else found


# -- asking


def _named(upstream: Upstream) -> list[str]:
    return [f"{upstream.inputs['resource']}/{upstream.inputs['name']}"]


def _object(upstream: Upstream) -> dict[str, Any]:
    inputs = upstream.inputs
    return _decoded(
        upstream.ask(["get", "--output=json", *place_of(upstream), "--", inputs["resource"], inputs["name"]])
    )


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        found = decode(raw.strip() or b"{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Fail("internal", "UPSTREAM_NON_JSON", "kubectl get printed no JSON", target="kubectl")
    return found
