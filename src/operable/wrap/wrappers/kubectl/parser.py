"""Objects of a Kubernetes cluster, from what kubectl prints with `--output=json`: pretty objects, one after another.

What is deleted is what was planned: each object by its name, also where labels chose them.
"""

from __future__ import annotations

import re

from operable.kernel.errors import Fail
from operable.kernel.redact import MASK, redact_url
from operable.tool.framework import Change
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import Values, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# The objects of a plan, under a name that no input has.
_CHOSEN = "objects of the plan"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# `pod/name` or `deployment.apps/name`, as `--output=name` prints them.
_NAME = re.compile(rb"[a-z0-9.-]+/[A-Za-z0-9.:_@-]+")


def get(upstream: Upstream) -> Iterator[Any]:
    for found in objects_of(upstream):
        for each in items_of(found) if isinstance(found, dict) else [found]:
            yield event_of("object", each) if isinstance(each, dict) else each


def watch(upstream: Upstream) -> Iterator[Any]:
    for found in objects_of(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        inner = found.get("object") or {}
        if found.get("type") == "ERROR":
            upstream.failure = _refused(inner)
            continue
        yield event_of("change", inner) | {"change": str(found.get("type"))}


def version(upstream: Upstream) -> Iterator[Any]:
    for found in objects_of(upstream):
        if isinstance(found, dict):
            yield {
                "type": "version",
                "client": found.get("clientVersion"),
                "server": found.get("serverVersion"),
            }
        else:
            yield found


def contexts(upstream: Upstream) -> Iterator[Any]:
    for found in objects_of(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        clusters = {each["name"]: each["cluster"].get("server") for each in found.get("clusters") or []}
        for each in found.get("contexts") or []:
            inner = each["context"]
            yield {
                "type": "context",
                "name": each["name"],
                "cluster": inner.get("cluster"),
                "server": clusters.get(inner.get("cluster")),
                "user": inner.get("user"),
                "namespace": inner.get("namespace"),
                "current": each["name"] == found.get("current-context"),
            }


def plan_apply(upstream: Upstream) -> Iterator[Any]:
    """The server's own dry run: what each object would be, and whether it is there already."""
    words = upstream.words()
    server = server_of(upstream)
    for found in objects_of(upstream, [*words, "--dry-run=server"]):
        if not isinstance(found, dict):
            yield found
            continue
        for each in items_of(found):
            meta = each.get("metadata") or {}
            # What the server has never seen has no version; what it would make gets none in a dry run.
            action = "update" if meta.get("resourceVersion") else "create"
            yield Change(action, _address(each), namespace=meta.get("namespace"), server=server)
    yield from upstream.settle()


def server_of(upstream: Upstream) -> str | None:
    """The address of the cluster that is meant. A plan of one is none for another that has become the current one since."""
    context = [f"--context={upstream.inputs['context']}"] if upstream.inputs.get("context") else []
    found = decode(
        upstream.ask(["config", "view", "--minify", "--output=json", *context], fine=(0, 1)) or b"{}"
    )
    clusters = found.get("clusters") or [{}]
    return redact_url((clusters[0].get("cluster") or {}).get("server") or "") or None


def plan_delete(upstream: Upstream) -> Iterator[Change]:
    """The objects as they are now; one that is not there is an error of the program's."""
    inputs = upstream.inputs
    upstream.words()
    if bool(inputs["names"]) == bool(inputs.get("selector")):
        raise Fail("usage", "MISSING_OPERAND", "say which objects: name them, or give --selector")
    words = ["get", "--output=json", *place_of(upstream), "--", inputs["resource"], *inputs["names"]]
    if inputs.get("selector"):
        words = [
            "get",
            "--output=json",
            *place_of(upstream),
            f"--selector={inputs['selector']}",
            "--",
            inputs["resource"],
        ]
    try:
        found = decode(upstream.ask(words).strip() or b"{}")
    except ValueError as problem:
        raise Fail("internal", "UPSTREAM_NON_JSON", "kubectl get printed no JSON") from problem
    chosen = list(items_of(found)) if found else []
    if len({each.get("kind") for each in chosen}) > 1:
        # `all`: what is deleted is reported by names, which objects of two kinds may share.
        raise Fail(
            "usage", "SEVERAL_KINDS", "these are objects of several kinds", hint="delete one kind at a time"
        )
    for each in chosen:
        meta = each.get("metadata") or {}
        yield Change("delete", _address(each), namespace=meta.get("namespace"), uid=meta.get("uid"))
    inputs[_CHOSEN] = chosen


def delete(upstream: Upstream) -> Iterator[Any]:
    chosen = {each["metadata"]["name"]: each for each in upstream.inputs[_CHOSEN]}
    words = ["delete", "--output=name", *place_of(upstream)]
    if upstream.inputs.get("grace") is not None:
        words.append(f"--grace-period={upstream.inputs['grace']}")
    words += [f"--wait={'true' if upstream.inputs['wait'] else 'false'}", "--", upstream.inputs["resource"]]
    for line in b"".join(upstream.chunks([*words, *chosen])).split(b"\n"):
        if not line.strip():
            continue
        each = chosen.get(line.partition(b"/")[2].decode("utf-8", "replace"))
        if each is None or not _NAME.fullmatch(line):
            yield upstream.foreign_line(line)
        else:
            yield event_of("deleted", each)


def place_of(upstream: Upstream) -> list[str]:
    inputs = upstream.inputs
    return [f"--{name}={inputs[name]}" for name in ("namespace", "context") if inputs.get(name)]


# -- objects


def objects_of(upstream: Upstream, argv: list[str] | None = None) -> Iterator[Any]:
    """Objects as they are completed; warnings for text between them."""
    values = Values(RECORD_LIMIT, inside=False)
    try:
        for chunk in upstream.chunks(argv):
            for raw in values.feed(chunk):
                yield _decoded(upstream, raw)
    except OverflowError:
        raise upstream.too_long(RECORD_LIMIT) from None
    rest, whole = values.eof()
    if not whole:
        upstream.cut_off()
        return
    for raw in rest:
        yield _decoded(upstream, raw)


def _decoded(upstream: Upstream, raw: bytes) -> Any:
    try:
        found = decode(raw)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else upstream.foreign_line(raw)


def items_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    items = found.get("items")
    if str(found.get("kind", "")).endswith("List") and isinstance(items, list):
        return items
    return [found]


def event_of(kind: str, found: dict[str, Any]) -> dict[str, Any]:
    meta = found.get("metadata") or {}
    return {
        "type": kind,
        "kind": found.get("kind"),
        "api_version": found.get("apiVersion"),
        "name": meta.get("name"),
        "namespace": meta.get("namespace"),
        "uid": meta.get("uid"),
        "resource_version": meta.get("resourceVersion"),
        "object": _shown(found),
    }


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """The object without what is secret in it; the names of a secret's entries stay."""
    if found.get("kind") != "Secret":
        return found
    masked = {**found}
    for name in ("data", "stringData"):
        if isinstance(found.get(name), dict):
            masked[name] = dict.fromkeys(found[name], MASK)
    meta = dict(found.get("metadata") or {})
    if _APPLIED in (meta.get("annotations") or {}):
        meta["annotations"] = {**meta["annotations"], _APPLIED: MASK}
    return {**masked, "metadata": meta}


def _address(found: dict[str, Any]) -> str:
    return f"{found.get('kind')}/{(found.get('metadata') or {}).get('name')}"


def _refused(status: dict[str, Any]) -> Fail:
    """An error that the server reported in the middle of a watch; 410 is a place that it has forgotten."""
    code = status.get("code")
    message = f"kubectl: {status.get('message') or 'the watch ended with an error'}"
    gone = code == 410  # Gone, the status of HTTP
    return Fail(
        "conflict" if gone else "internal", "UPSTREAM_ERROR", message, target="kubectl", upstream_code=code
    )
