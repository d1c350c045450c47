"""Open Policy Agent: a server over HTTP, or Rego without one.

`provider_config` names exactly one source of policy:
- `endpoint`: the address of a rule's document (`https://…/v1/data/agentcli/authz/allow`); https, or http on this
  machine, without credentials. The request is posted as `{"input": …}`.
- `rego`: the text of a module; `rego_file`: the path of one; `bundle`: a folder or a .tar.gz. `query` names the rule
  (default `data.agentcli.authz.allow`), `data` is an optional base document.

A boolean answer permits or denies, an object with `allow` does so with a reason, a string is a decision; the rest is deny.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from operable.flow.contracts import Authorizer, Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import js_trim
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.flow.trust.http_exchange import ExchangeFailed, exchange
from operable.flow.trust.identity.sessions import bare_url

_LIMIT = 16 * 1024 * 1024
# Of an archive, with what is not wanted of it: unpacking it also takes time.
_WHOLE_LIMIT = 64 * 1024 * 1024
_FILES = 10_000
_REFUSED = {
    ".signatures.json": "signed bundles are not supported: their signatures would go unchecked",
    "data.yaml": "the bundle contains data.yaml; only data.json is read",
    "data.yml": "the bundle contains data.yml; only data.json is read",
}
_SOURCES = ("endpoint", "rego", "rego_file", "bundle")
_QUERY = "data.agentcli.authz.allow"
_TIMEOUT = 10.0


# OPA bundles as files: a folder or a .tar.gz with Rego modules and data documents, read without a server.
# `.rego` files are modules (tests among them are left out), `data.json` in a folder is the data below that folder's
# path. Only regular files are read, in memory, up to a limit; nothing is unpacked to disk. What is silently left out
# could be the rule that denies, so that links, data in YAML and two files of one name are errors. A bundle that carries
# signatures is refused, because ignoring them would look like checking them.
def read_bundle(path: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The modules by name and the data. FlowError(authorization_error)."""
    import tarfile

    modules: dict[str, str] = {}
    data: dict[str, Any] = {}
    try:
        files = _folder(path) if os.path.isdir(path) else _archive(path)
        for name, content in _bounded(files):
            base = name.rpartition("/")[2]
            if base in _REFUSED:
                raise _invalid(_REFUSED[base])
            if base.endswith(".rego") and not base.endswith("_test.rego"):
                modules[name] = content.decode("utf-8")
            elif base == "data.json":
                _put(data, name.split("/")[:-1], json.loads(content))
    except (OSError, tarfile.TarError, ValueError, EOFError, RecursionError) as error:
        raise _invalid(f"the bundle cannot be read: {type(error).__name__}") from None
    if not modules:
        raise _invalid("the bundle contains no Rego module")
    return modules, data


def _invalid(message: str) -> FlowError:
    return FlowError("authorization_error", message)


def _bounded(files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    total, seen = 0, set()
    for count, (name, content) in enumerate(files, 1):
        total += len(content)
        if total > _LIMIT or count > _FILES:
            raise _invalid("the bundle is too large")
        if name in seen:
            raise _invalid(f"the bundle contains {name} twice")
        seen.add(name)
        yield name, content


def _folder(path: str) -> Iterator[tuple[str, bytes]]:
    for folder, below, names in os.walk(path):
        below.sort()
        for name in sorted([*below, *names]):
            place = os.path.join(folder, name)
            shown = os.path.relpath(place, path).replace(os.sep, "/")
            if os.path.islink(place):
                raise _invalid(f"the bundle contains a link: {shown}")
            if name in names and _is_wanted(name):
                yield shown, _content(place)


def _content(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _invalid("the bundle contains an entry that is not a regular file")
        return file.read(_LIMIT + 1)


def _archive(path: str) -> Iterator[tuple[str, bytes]]:
    import tarfile

    total = 0
    with tarfile.open(path, "r:gz") as archive:
        for count, member in enumerate(archive, 1):
            name = member.name.removeprefix("./").lstrip("/")
            total += member.size
            if total > _WHOLE_LIMIT or count > _FILES:
                raise _invalid("the bundle is too large")
            if member.issym() or member.islnk():
                raise _invalid(f"the bundle contains a link: {name}")
            if member.isreg() and _is_wanted(name.rpartition("/")[2]):
                content = archive.extractfile(member)
                yield name, content.read(_LIMIT + 1) if content else b""


def _is_wanted(name: str) -> bool:
    return name.endswith(".rego") or name == "data.json" or name in _REFUSED


def _put(data: dict[str, Any], path: list[str], content: Any) -> None:
    owner = data
    for name in path:
        owner = owner.setdefault(name, {})
        if not isinstance(owner, dict):
            raise _invalid("the bundle's data documents overlap")
    if not isinstance(content, dict):
        raise _invalid("a data document of the bundle is not an object")
    owner.update(content)


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    config = profile.get("provider_config")
    config = config if isinstance(config, Mapping) else {}
    given = [name for name in _SOURCES if config.get(name) is not None]
    if not given:
        return [("provider_config.endpoint", "is required and must be a non-empty string")]
    if len(given) > 1:
        return [("provider_config", f"must name only one of: {', '.join(given)}")]
    name = given[0]
    if not isinstance(config[name], str) or not js_trim(config[name]):
        return [(f"provider_config.{name}", "is required and must be a non-empty string")]
    if name == "endpoint" and not is_safe_endpoint(config[name]):
        message = "must be an https URL (http only for loopback) without credentials"
        return [("provider_config.endpoint", message)]
    return []


def _evaluate(
    config: Mapping[str, Any], request: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    if config.get("endpoint") is not None:
        result = _asked(config["endpoint"], request, surroundings)
        return {**_judged(result), "policy_ref": bare_url(config["endpoint"])}
    from operable.flow.trust.policy.evaluator import evaluate_rego

    modules, data, label = _local(config, surroundings)
    base = config.get("data")
    data = {**(base if isinstance(base, Mapping) else {}), **data}
    query = config.get("query") or _QUERY
    result = evaluate_rego(modules, data, query, request, timeout=surroundings.timeout)
    digest = hashlib.sha256(json.dumps([modules, data], sort_keys=True).encode()).hexdigest()
    return {**_judged(result), "policy_ref": f"{label}#sha256:{digest}"}


def _asked(endpoint: str, request: Mapping[str, Any], around: Surroundings) -> Any:
    try:
        body = json.dumps({"input": request}).encode()
        headers = {"content-type": "application/json"}
        answer = exchange("POST", endpoint, headers=headers, body=body, around=around, timeout=_TIMEOUT)
        if not answer.ok:
            raise FlowError("authorization_error", f"OPA answered HTTP {answer.status}")
        found = answer.json()
    except ExchangeFailed as failed:
        raise FlowError("authorization_error", f"OPA could not be asked: {failed}") from None
    return found.get("result") if isinstance(found, Mapping) else None


def _local(
    config: Mapping[str, Any], surroundings: Surroundings
) -> tuple[dict[str, str], dict[str, Any], str]:

    from operable.flow.trust.value_sources import read_text

    if config.get("rego") is not None:
        return {"policy.rego": config["rego"]}, {}, "rego"
    if (path := config.get("rego_file")) is not None:
        place = os.path.join(surroundings.cwd, path)
        return {path: read_text(place, code="authorization_error", what="Rego module")}, {}, path
    modules, data = read_bundle(os.path.join(surroundings.cwd, config["bundle"]))
    return modules, data, config["bundle"]


def _judged(result: Any) -> dict[str, Any]:
    if isinstance(result, bool):
        return {"value": "permit" if result else "deny", "reason": None}
    if isinstance(result, Mapping) and "allow" in result:
        return {"value": "permit" if result["allow"] is True else "deny", "reason": result.get("reason")}
    if isinstance(result, str):
        return {"value": result, "reason": None}
    return {"value": "deny", "reason": "unexpected OPA result type"}


AUTHORIZER = Authorizer(
    name="opa",
    order=2,
    capabilities={
        "decision_kinds": ["permit", "deny", "require-escalation"],
        "escalation": True,
        "batch": False,
        "dry_run": True,
    },
    check=_check,
    evaluate=_evaluate,
)
