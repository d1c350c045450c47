"""Terraform's machine-readable output: streams of messages (`plan`, `apply`, `init`), single documents (`show` and others).

Applying: the plan is made once, into a private folder, kept in memory while it is confirmed, and given back to terraform as
it was. What terraform calls sensitive is masked by the marks that it puts beside the values, and so is the same text
wherever else it is.
"""

from __future__ import annotations

import os
from tempfile import TemporaryDirectory

from operable.kernel.errors import Fail
from operable.kernel.redact import MASK, redact_text, redact_value
from operable.tool.framework import Change, ItemError, Warn
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# The plan in memory, under a name that no input has.
_SAVED = "saved plan"
# Without changes, and with some (`-detailed-exitcode`).
_PLANNED = (0, 2)
_LARGEST_PLAN = 4 * RECORD_LIMIT
# What a configuration and its providers read from the environment; a manifest can only name whole variables.
_GIVEN = ("TF_VAR_", "TF_TOKEN_", "TF_HTTP_", "AWS_", "ARM_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "KUBE_")


# -- streams


def plan(upstream: Upstream) -> Iterator[Any]:
    out = upstream.inputs.get("out")
    if out is not None:
        yield from _kept(upstream, os.path.abspath(out))
    elif upstream.inputs["values"]:
        with TemporaryDirectory(prefix="operable-plan-") as folder:
            yield from _kept(upstream, os.path.join(folder, "plan"))
    else:
        for message in _messages(upstream, _words(upstream)):
            yield from _planned(message) if message.__class__ is dict else (message,)


def _kept(upstream: Upstream, path: str) -> Iterator[Any]:
    """A plan in a file: its changes come as they are made, and then, if they are wanted, their values from the file."""
    folder_word, *rest = _words(upstream)
    for message in _messages(upstream, [folder_word, *rest, f"-out={path}"]):
        yield from _planned(message) if message.__class__ is dict else (message,)
    made = upstream.end is not None and upstream.end.status in _PLANNED and upstream.failure is None
    if not made or not os.path.exists(path):
        return
    if upstream.inputs["values"]:
        try:
            found = decode(upstream.ask([folder_word, "show", "-json", path], limit=_LARGEST_PLAN))
        except ValueError as problem:
            raise Fail("internal", "UPSTREAM_NON_JSON", "terraform show printed no JSON") from problem
        secrets: set[str] = set()
        rows = [row for row in _shown(found, secrets) if row["actions"] != ["no-op"]]
        for row in rows:
            yield redact_value(row, secrets)
    if upstream.inputs.get("out") is not None:
        yield {"type": "plan_saved", "path": path}


def init(upstream: Upstream) -> Iterator[Any]:
    for message in _messages(upstream, _words(upstream)):
        if message.__class__ is not dict:
            yield message
    if upstream.end is not None and upstream.end.status == 0:
        yield {"type": "initialized", "dir": upstream.inputs["dir"]}


def plan_apply(upstream: Upstream) -> Iterator[Any]:
    """Terraform's own plan: each change of it, and the plan itself for the second phase."""
    with TemporaryDirectory(prefix="operable-plan-") as folder:
        path = os.path.join(folder, "plan")
        folder_word, _, *rest = _words(upstream)
        words = [folder_word, "plan", *rest, "-detailed-exitcode", f"-out={path}"]
        upstream.command = upstream.command.replace(exits={**upstream.command.exits, 2: {"ok": True}})
        events: list[dict[str, Any]] = []
        for message in _messages(upstream, words):
            if message.__class__ is dict:
                events += _planned(message)
            else:
                yield message
        yield from upstream.settle()
        # Terraform looks at resources side by side and reports them in any order; one plan is one plan.
        for event in sorted(events, key=lambda event: str(event.get("address"))):
            if event["type"] in ("planned_change", "output_change") and event["action"] != "noop":
                details = {name: event[name] for name in ("resource_type", "reason") if name in event}
                yield Change(event["action"], event["address"], **details)
        with open(path, "rb") as file:
            upstream.inputs[_SAVED] = file.read()


def apply(upstream: Upstream) -> Iterator[Any]:
    with TemporaryDirectory(prefix="operable-plan-") as folder:
        path = os.path.join(folder, "plan")
        with open(path, "wb") as file:
            file.write(upstream.inputs[_SAVED])
        # What else was asked for is in the plan.
        words = [_words(upstream)[0], "apply", "-json", "-input=false", "-auto-approve", path]
        for message in _messages(upstream, words):
            yield from _applied(message) if message.__class__ is dict else (message,)


def _words(upstream: Upstream) -> list[str]:
    """The command line; the folder comes before everything else, where a template cannot put it."""
    upstream.env = {name: value for name, value in os.environ.items() if name.startswith(_GIVEN)}
    words = upstream.words()
    place = next(index for index, word in enumerate(words) if word.startswith("-chdir="))
    return [words[place], *words[:place], *words[place + 1 :]]


def _messages(upstream: Upstream, argv: list[str]) -> Iterator[Any]:
    """Messages as dicts; what terraform complains about as notices, its last error as the failure of the call."""
    for line in _lines(upstream, argv):
        try:
            message = decode(line)
            kind = message["type"]
        except (ValueError, TypeError, KeyError):
            yield upstream.foreign_line(line)
            continue
        if kind == "diagnostic":
            found = message.get("diagnostic") or {}
            if found.get("severity") != "error":
                yield Warn("TERRAFORM_WARNING", _text(found), **_place(found))
                continue
            if upstream.failure is not None:
                yield ItemError(upstream.failure)
            upstream.failure = _failure(found)
        elif kind == "change_summary":
            upstream.complete = True
            yield message
        else:
            yield message


def _lines(upstream: Upstream, argv: list[str]) -> Iterator[bytes]:
    rest = b""
    for chunk in upstream.chunks(argv):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line.strip())
        if len(rest) > RECORD_LIMIT:
            raise upstream.too_long(RECORD_LIMIT)
    if rest.strip():
        upstream.cut_off()


def _planned(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = message["type"]
    if kind in ("planned_change", "resource_drift"):
        change = message["change"]
        event = {"type": kind, **_resource(change), "action": change["action"]}
        if "reason" in change:
            event["reason"] = change["reason"]
        yield event
    elif kind == "outputs":
        for name, found in message["outputs"].items():
            if "action" in found:
                address = f"output.{name}"
                yield {"type": "output_change", "address": address, "name": name, "action": found["action"]}
    elif kind == "change_summary":
        yield {"type": "change_summary", **message["changes"]}


def _applied(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind, hook = message["type"], message.get("hook") or {}
    if kind in ("apply_complete", "apply_errored"):
        event = {
            "type": "applied",
            **_resource(hook),
            "action": hook["action"],
            "ok": kind == "apply_complete",
        }
        if "id_value" in hook:
            event["id"] = hook["id_value"]
        yield event | {"elapsed_seconds": hook.get("elapsed_seconds")}
    elif kind == "provision_progress":
        said = redact_text(str(hook.get("output", "")))
        yield {
            "type": "provisioned",
            **_resource(hook),
            "provisioner": hook.get("provisioner"),
            "output": said,
        }
    elif kind == "outputs":
        yield from _outputs(message["outputs"])
    elif kind == "change_summary":
        yield {"type": "change_summary", **message["changes"]}


def _resource(holder: dict[str, Any]) -> dict[str, Any]:
    resource = holder["resource"]
    return {
        "address": resource["addr"],
        "module": resource["module"],
        "resource_type": resource["resource_type"],
        "name": resource["resource_name"],
        "key": resource["resource_key"],
    }


def _text(found: dict[str, Any]) -> str:
    parts = [str(found.get(name) or "").strip() for name in ("summary", "detail")]
    return redact_text(": ".join(part for part in parts if part))[:2000] or "it gives no reason"


def _place(found: dict[str, Any]) -> dict[str, Any]:
    place = found.get("range") or {}
    told = {"address": found.get("address"), "file": place.get("filename")}
    return {**told, "line": (place.get("start") or {}).get("line")}


def _failure(found: dict[str, Any]) -> Fail:
    text, place = _text(found), _place(found)
    category = "internal" if place["file"] is None else "validation"
    if "state lock" in text:
        category = "temporary"
    elif text.startswith("No configuration files"):
        category = "not_found"
    return Fail(
        category,
        "UPSTREAM_ERROR",
        f"terraform: {text}",
        target="terraform",
        **{name: value for name, value in place.items() if value is not None},
    )


# -- documents


def validate(upstream: Upstream) -> Iterator[Any]:
    """Whether a configuration is valid is the question, so status 1 is an answer where terraform gives one."""
    for found in _document(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        for each in found["diagnostics"]:
            yield {
                "type": "diagnostic",
                "severity": each["severity"],
                "summary": each["summary"],
                "detail": each.get("detail") or "",
                **_place(each),
            }
        counts = {name: found[name] for name in ("valid", "error_count", "warning_count")}
        yield {"type": "validation", **counts}
        exits = {**upstream.command.exits, 1: {"ok": True, "word": "invalid"}}
        upstream.command = upstream.command.replace(exits=exits)


def output(upstream: Upstream) -> Iterator[Any]:
    for found in _document(upstream):
        yield from _outputs(found) if isinstance(found, dict) else (found,)


def _document(upstream: Upstream) -> Iterator[Any]:
    """The one object that terraform prints; a notice if it is not an error."""
    raw = b""
    for chunk in upstream.chunks(_words(upstream)):
        raw += chunk
        if len(raw) > RECORD_LIMIT:
            raise upstream.too_long(RECORD_LIMIT)
    if not raw.strip():
        return  # it failed, and says why on stderr
    try:
        found = decode(raw.strip())
    except ValueError:
        found = None
    if isinstance(found, dict):
        yield found
    else:
        yield upstream.foreign_line(raw)
        upstream.cut_off()


def _outputs(outputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, found in outputs.items():
        sensitive = bool(found.get("sensitive"))
        value = MASK if sensitive else found.get("value")
        told = {"type": "output", "address": f"output.{name}", "name": name, "sensitive": sensitive}
        yield told | {"value": value, "value_type": found.get("type")}


def state_list(upstream: Upstream) -> Iterator[Any]:
    """One address a line; a text in one (`a["x"]`) has its line ends escaped."""
    for line in _lines(upstream, _words(upstream)):
        yield {"type": "address", "address": line.decode("utf-8", "replace")}


def show(upstream: Upstream) -> Iterator[Any]:
    wanted, known = upstream.inputs.get("address"), False
    for row in _everything(upstream):
        if wanted is None or not isinstance(row, dict) or row["address"] == wanted:
            known = True
            yield row
    if wanted is not None and not known and upstream.failure is None:
        message = "there is no such address"
        upstream.failure = Fail("not_found", "ADDRESS_NOT_FOUND", message, target=wanted)


def _everything(upstream: Upstream) -> Iterator[Any]:
    for found in _document(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        secrets: set[str] = set()
        rows = list(_shown(found, secrets))
        for row in rows:
            yield redact_value(row, secrets)


def _shown(found: dict[str, Any], secrets: set[str]) -> Iterator[dict[str, Any]]:
    """The rows of a state or a plan; what is sensitive in it goes into `secrets`."""
    if "resource_changes" in found or "planned_values" in found:
        for each in found.get("resource_changes", []):
            change = each["change"]
            yield {
                "type": "resource_change",
                **_described(each),
                "actions": change["actions"],
                "before": _masked(change.get("before"), change.get("before_sensitive"), secrets),
                "after": _masked(change.get("after"), change.get("after_sensitive"), secrets),
            }
        return
    values = found.get("values") or {}
    for each in (values.get("outputs") or {}).values():
        _masked(each.get("value"), each.get("sensitive"), secrets)
    yield from _outputs(values.get("outputs") or {})
    modules = [values["root_module"]] if "root_module" in values else []
    while modules:
        module = modules.pop(0)
        modules += module.get("child_modules", [])
        for each in module.get("resources", []):
            inner = _masked(each.get("values"), each.get("sensitive_values"), secrets)
            yield {"type": "resource", **_described(each), "values": inner}


def _described(each: dict[str, Any]) -> dict[str, Any]:
    told = {"address": each["address"], "mode": each.get("mode"), "resource_type": each.get("type")}
    return {**told, "name": each.get("name"), "provider": each.get("provider_name")}


def _masked(value: Any, marks: Any, secrets: set[str]) -> Any:
    """A value without what the marks beside it call sensitive."""
    if marks is True:
        _collect(value, secrets)
        return MASK
    if isinstance(value, dict) and isinstance(marks, dict):
        return {name: _masked(inner, marks.get(name), secrets) for name, inner in value.items()}
    if isinstance(value, list) and isinstance(marks, list):
        more = [*marks, *[None] * (len(value) - len(marks))]
        return [_masked(inner, mark, secrets) for inner, mark in zip(value, more, strict=False)]
    return value


# A secret as short as this would mask ordinary words everywhere.
_SHORT = 4


def _collect(value: Any, secrets: set[str]) -> None:
    if isinstance(value, str):
        if len(value) >= _SHORT:
            secrets.add(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _collect(inner, secrets)
