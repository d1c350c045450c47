"""As much of a Kubernetes API server as kubectl asks for: discovery, lists, watches, and changes of pods and secrets."""

import copy
import itertools
import json
import threading
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.wrap.wrappers.loopback import Handler, called_with, serve
from tests.wrap.wrappers.loopback import serving as serving_with

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_KINDS = {"pods": "Pod", "secrets": "Secret", "events": "Event"}
_APPS = {"deployments": "Deployment", "replicasets": "ReplicaSet"}
_GET: dict[str, Any] = {
    "/version": {"major": "1", "minor": "29", "gitVersion": "v1.29.0", "platform": "linux/amd64"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": "apps",
                "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
            }
        ],
    },
    "/apis/apps/v1": {
        "kind": "APIResourceList",
        "groupVersion": "apps/v1",
        "resources": [
            {"name": plural, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": _VERBS}
            for plural, kind in _APPS.items()
        ],
    },
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {"name": plural, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": _VERBS}
            for plural, kind in _KINDS.items()
        ],
    },
    "/openapi/v3": {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}},
    # All that kubectl wants to know: that these objects can be changed in a dry run.
    "/openapi/v3/api/v1": {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.29.0"},
        "paths": {
            f"/api/v1/namespaces/{{namespace}}/{plural}/{{name}}": {
                "patch": {
                    "parameters": [{"name": "dryRun", "in": "query", "schema": {"type": "string"}}],
                    "x-kubernetes-group-version-kind": {"group": "", "kind": kind, "version": "v1"},
                }
            }
            for plural, kind in _KINDS.items()
        },
    },
}


LOG = ["2026-01-01T00:00:00.1Z é one", "2026-01-01T00:00:00.2Z ", "2026-01-01T00:00:00.3Z three"]


def pod(name: str, number: int, **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{number}", "resourceVersion": str(number)}
    spec = {"containers": [{"name": "main", "image": "nginx"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta | {"labels": labels},
        "spec": spec,
        "status": {},
    }


def secret(name: str, number: int) -> dict[str, Any]:
    applied = '{"data":{"password":"dG9wc2VjcmV0MQ=="}}'
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{number}",
            "resourceVersion": str(number),
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied},
        },
        "data": {"password": "dG9wc2VjcmV0MQ=="},
        "type": "Opaque",
    }


def deployment(name: str, number: int, *, ready: int) -> list[dict[str, Any]]:
    """A deployment that wants two pods, and its two revisions."""
    labels = {"run": name}

    def made(kind: str, own: str, uid: int, revision: int, image: str) -> dict[str, Any]:
        meta: dict[str, Any] = {
            "name": own,
            "namespace": "default",
            "uid": f"uid-{uid}",
            "resourceVersion": str(uid),
        }
        meta |= {"labels": labels, "generation": 1}
        meta |= {"annotations": {"deployment.kubernetes.io/revision": str(revision)}}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": image}]},
        }
        spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}

    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"uid-{number}"}
    status = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": ready}
    found = [made("Deployment", name, number, 2, "nginx:2") | {"status": status}]
    for revision in (1, 2):
        each = made("ReplicaSet", f"{name}-{revision}", number + revision, revision, f"nginx:{revision}")
        each["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        found.append(each)
    return found


def note(name: str, uid: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "5"},
        "involvedObject": {"uid": uid},
        "reason": "Pulled",
        "message": "é pulled",
        "type": "Normal",
        "count": 1,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


class Cluster:
    """What the server knows; one for each test."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        for each in (pod("a", 1, app="web"), pod("b", 2, app="web"), pod("c", 3, app="db"), secret("s", 4)):
            self.put(each)
        for each in (*deployment("web", 20, ready=2), *deployment("api", 30, ready=1), note("a.1", "uid-1")):
            self.put(each)
        self.changes: list[dict[str, Any]] = []
        self.more = threading.Condition()
        self.asked: list[tuple[str, str]] = []
        self.forbidden = False
        self.versions = itertools.count(100)

    def next_version(self) -> str:
        return str(next(self.versions))

    def put(self, each: dict[str, Any]) -> None:
        plural = next(plural for plural, kind in (_KINDS | _APPS).items() if kind == each["kind"])
        self.objects[plural, each["metadata"]["name"]] = each

    def happened(self, change: str, found: dict[str, Any]) -> None:
        """Something for whoever watches."""
        with self.more:
            self.changes.append({"type": change, "object": found})
            self.more.notify_all()


class _Asked(Handler):
    cluster: Cluster

    def answer(self) -> None:
        body = self.body()
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        self.cluster.asked.append((self.command, self.path))
        path = [part for part in parts.path.split("/") if part]
        if self.cluster.forbidden:
            self._refuse(403, "Forbidden", "you may not")
        elif self.command == "GET" and parts.path in _GET:
            self.send(_GET[parts.path])
        elif path[:3] == ["api", "v1", "namespaces"] and path[4:] == ["pods", "a", "log"]:
            self._log(query)
        elif path[:4] == ["apis", "apps", "v1", "namespaces"] and len(path) > 5:
            self._objects(path[5], path[6] if len(path) > 6 else None, query, body)
        elif path[:3] == ["api", "v1", "namespaces"] and len(path) > 4:
            self._objects(path[4], path[5] if len(path) > 5 else None, query, body)
        else:
            self._refuse(404, "NotFound", "the server could not find the requested resource")

    def _objects(self, plural: str, name: str | None, query: dict[str, list[str]], body: bytes) -> None:
        cluster = self.cluster
        dry = "dryRun" in query
        if name is None and self.command == "GET":
            if "watch" in query:
                self._watch()
            else:
                self._list(plural, query)
        elif name is None and self.command == "POST":
            found = json.loads(body)
            found["metadata"] |= {"namespace": "default", "uid": "uid-new"}
            if not dry:
                found["metadata"]["resourceVersion"] = cluster.next_version()
                cluster.put(found)
            self.send(found, 201)
        elif (found := cluster.objects.get((plural, name or ""))) is None:
            self._refuse(404, "NotFound", f'{plural} "{name}" not found')
        elif self.command == "PATCH":
            changed = _merged(found, json.loads(body))
            if not dry and changed != found:
                changed["metadata"]["resourceVersion"] = cluster.next_version()
                cluster.put(changed)
            self.send(changed)
        elif self.command == "DELETE":
            if not dry:
                del cluster.objects[plural, name or ""]
            self.send({"kind": "Status", "apiVersion": "v1", "status": "Success"})
        else:
            self.send(found)

    def _list(self, plural: str, query: dict[str, list[str]]) -> None:
        wanted = query.get("labelSelector", [""])[0]
        field = query.get("fieldSelector", [""])[0]
        items = [
            each
            for (kind, _), each in self.cluster.objects.items()
            if kind == plural
            and (not wanted or wanted in _labels(each))
            and (not field or field == f"involvedObject.uid={each.get('involvedObject', {}).get('uid')}")
        ]
        meta = {"resourceVersion": "10"}
        kind = (_KINDS | _APPS)[plural]
        version = "apps/v1" if plural in _APPS else "v1"
        self.send({"kind": f"{kind}List", "apiVersion": version, "metadata": meta, "items": items})

    def _log(self, query: dict[str, list[str]]) -> None:
        lines = LOG[-int(query["tailLines"][0]) :] if "tailLines" in query else LOG
        raw = "".join(f"{line}\n" for line in lines).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _watch(self) -> None:
        self.begin_stream()
        told = 0
        while True:
            with self.cluster.more:
                if len(self.cluster.changes) == told:
                    self.cluster.more.wait(0.2)
                new = self.cluster.changes[told:]
            told += len(new)
            lines = b"".join(json.dumps(change).encode() + b"\n" for change in new)
            self.chunk(lines or b"\n")  # also to notice a client that has gone
            if any(change["type"] == "ERROR" for change in new):
                self.wfile.write(b"0\r\n\r\n")
                return

    def _refuse(self, code: int, reason: str, message: str) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
        self.send(status | {"reason": reason, "message": message, "code": code}, code)


def _labels(each: dict[str, Any]) -> list[str]:
    return [f"{name}={value}" for name, value in each["metadata"].get("labels", {}).items()]


def _merged(found: Any, patch: Any) -> Any:
    """A merge patch: what is null goes, what is an object is merged, anything else takes the place of what was there."""
    if isinstance(patch, list) and isinstance(found, dict):  # a JSON patch, as for going back to a revision
        merged = copy.deepcopy(found)
        for each in patch:
            if each["path"] == "/spec/template":
                merged["spec"]["template"] = each["value"]
        return merged
    if not isinstance(patch, dict):
        return patch
    merged = copy.deepcopy(found) if isinstance(found, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def kubeconfig(address: str) -> str:
    """The configuration of a client of this server."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": {"server": f"http://{address}"}}],
            "users": [{"name": "me", "user": {"token": "topsecret1"}}],
            "contexts": [
                {"name": "here", "context": {"cluster": "here", "user": "me"}},
                {"name": "other", "context": {"cluster": "here", "user": "me", "namespace": "inner"}},
            ],
            "current-context": "here",
        }
    )


def serving(cluster: Cluster) -> AbstractContextManager[str]:
    """The address of a server, host:port."""
    return serving_with(_asking(cluster))


def _asking(cluster: Cluster) -> type[Handler]:
    return type("Asked", (_Asked,), {"cluster": cluster})


if __name__ == "__main__":
    serve(_asking(Cluster()), called_with().port)
