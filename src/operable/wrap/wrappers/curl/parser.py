"""HTTP requests with curl. What is asked goes in on stdin, the body comes from stdout, everything about it from stderr."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_headers, redact_url
from operable.tool.framework import Change, Warn
from operable.wrap.endings import failed
from operable.wrap.fields import put
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.proc.excerpt import Excerpt
    from operable.wrap.upstream import Upstream


def config(inputs: dict[str, Any]) -> bytes:
    """The configuration that `--config -` reads: one option a line, values in quotes."""
    lines = [("url", inputs["url"]), ("max-redirs", str(inputs["redirects"]))]
    lines += [("header", header) for header in inputs["header"] or ()]
    if inputs.get("method") is not None:
        lines += [("request", inputs["method"]), ("data-raw", inputs["data"] or "")]
    texts = [f"{name} = {_quoted(value)}" for name, value in lines]
    if inputs["redirects"]:
        texts.append("location")
    return "\n".join([*texts, ""]).encode("utf-8", "surrogateescape")


def _quoted(value: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r", "\v": "\\v"}
    return '"' + "".join(escapes.get(letter, letter) for letter in value) + '"'


def response(upstream: Upstream) -> Iterator[Any]:
    most = upstream.inputs.get("max_body") or 0
    body, size = bytearray(), 0
    for chunk in upstream.chunks():
        if "max_body" not in upstream.inputs:
            continue  # `--head` prints the headers once more, where the body of others is
        size += len(chunk)
        body += chunk[: max(0, most - len(body))]
    end = upstream.end
    told = _told(end.stderr) if end is not None else {}
    info = told.get("info", {})
    if end is None or end.status != 0:
        raise failed(upstream, None if end is None else end.status, str(info.get("errormsg") or ""))
    if not info:
        message = "curl did not say how the transfer went"
        raise Fail("partial", "UPSTREAM_INCOMPLETE", message, target="curl")
    if "headers" not in told:
        yield Warn("HEADERS_LEFT_OUT", "the headers of the answer are too long to be kept", source="curl")
    headers = {name: ", ".join(values) for name, values in told.get("headers", {}).items()}
    event: dict[str, Any] = {
        "type": "response",
        "url": redact_url(str(info.get("url_effective", ""))),
        "status": int(info.get("response_code", 0)),
        "http_version": str(info.get("http_version", "")),
        "content_type": info.get("content_type"),
        "headers": redact_headers(headers),
        "body_bytes": size,
        "body_truncated": size > len(body),
        "redirects": int(info.get("num_redirects", 0)),
        "total_ms": round(float(info.get("time_total", 0)) * 1000),
        "remote_ip": str(info.get("remote_ip", "")),
    }
    put(event, "body", bytes(body))
    yield event
    if upstream.command.mutates and event["status"] >= 400:
        upstream.failure = _refused(upstream, event["status"])


def _refused(upstream: Upstream, status: int) -> Fail:
    """What was to be changed was not, says the server. The answer itself went out before.

    The manifest says what a status of HTTP means beside those of the program, of which none is above 255.
    """
    meaning = upstream.command.exits.get(status, {})
    return Fail(
        meaning.get("category", "temporary" if status >= 500 else "validation"),
        meaning.get("code", "HTTP_REFUSED"),
        f"the server answered {status}",
        retryable=False,  # whether a request that changes something may be sent again is not for us to say
        target="curl",
        http_status=status,
    )


def _told(stderr: Excerpt) -> dict[str, Any]:
    """What curl says of the transfer: without the headers where some of them were not kept; {} where it is silent."""
    text = stderr.text()
    text = text[max(0, text.find('{"info":')) :].strip()
    if stderr.omitted:
        text = text.partition(',"headers":')[0] + "}"  # a quote in a value has a backslash before it
    try:
        found = decode(text.encode())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def plan_send(upstream: Upstream) -> Iterator[Change]:
    inputs = upstream.inputs
    yield Change(
        "send", redact_url(inputs["url"]), method=inputs["method"], bytes=len(inputs["data"].encode())
    )
