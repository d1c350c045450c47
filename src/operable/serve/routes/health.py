"""Whether the daemon works, and what it offers."""

import os
import time
from collections import Counter
from typing import Any, get_args

import msgspec
from starlette.responses import Response

import operable.wrap
from operable import __version__
from operable.serve.http.openapi import openapi_document
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall, all_routes
from operable.serve.session.view import State

_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Health(msgspec.Struct, frozen=True):
    """`ok` is always true: a daemon that does not work does not answer."""

    ok: bool


class DaemonInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The daemon, for clients that have a token."""

    version: str
    url: str
    uptime_seconds: float
    readers: int


class LintReport(msgspec.Struct, frozen=True):
    """The verdict of a tool on each characteristic, the worst over all of its commands."""

    tool: str
    verdicts: dict[str, str]
    at: int  # milliseconds since 1970


class LintReports(msgspec.Struct, frozen=True):
    reports: list[LintReport]


async def health(_: RouteCall[NoQuery, None]) -> Health:
    return Health(True)


async def info(call: RouteCall[NoQuery, None]) -> DaemonInfo:
    daemon = call.daemon
    return DaemonInfo(__version__, daemon.url, round(time.time() - daemon.started_at, 3), daemon.feeds.count)


async def metrics(call: RouteCall[NoQuery, None]) -> Response:
    """The daemon's own figures; those of the engine are those of `operable engine metrics`."""
    daemon = call.daemon
    states = Counter(view.state for view in daemon.sessions.list(limit=1000).sessions)
    lines = ["# TYPE operable_serve_sessions gauge", "# HELP operable_serve_sessions Sessions by state."]
    lines += [f'operable_serve_sessions{{state="{state}"}} {states[state]}' for state in get_args(State)]
    lines += ["# TYPE operable_serve_streams gauge", "# HELP operable_serve_streams Open streams of events."]
    lines += [f"operable_serve_streams {daemon.feeds.count}"]
    lines += ["# TYPE operable_serve_questions gauge", "# HELP operable_serve_questions Questions that wait."]
    lines += [f"operable_serve_questions {len(await daemon.approvals.look())}"]
    lines += [
        "# TYPE operable_serve_answers counter",
        "# HELP operable_serve_answers Answers by route and status.",
    ]
    lines += [
        f'operable_serve_answers_total{{operation="{name}",status="{status}"}} {count}'
        for (name, status), count in sorted(daemon.answers.items())
    ]
    text = "\n".join([*lines, "# EOF", ""])
    return Response(text, media_type=_OPENMETRICS, headers={"cache-control": "no-store"})


def _lint_report(name: str, path: str) -> LintReport | None:
    """The worst verdict of each characteristic over all commands."""
    order = ("fail", "warn", "untested", "pass", "not_applicable")
    try:
        with open(path, "rb") as file:
            kept = msgspec.json.decode(file.read())["wrapped"]
    except (OSError, msgspec.MsgspecError, KeyError):
        return None
    worst: dict[str, str] = {}
    for verdicts in kept.values():
        for characteristic, verdict in verdicts.items():
            known = worst.get(characteristic, verdict)
            worst[characteristic] = min(
                known, verdict, key=lambda each: order.index(each) if each in order else 0
            )
    verdicts = {each: verdict.replace("_", "-") for each, verdict in worst.items()}
    return LintReport(f"wrap {name}", verdicts, int(os.stat(path).st_mtime * 1000))


async def lint(_: RouteCall[NoQuery, None]) -> LintReports:
    """What is kept of the wrappers: the verdicts that come with them."""
    return LintReports(_lint_reports())


def _lint_reports() -> list[LintReport]:
    root = os.path.join(os.path.dirname(os.path.abspath(operable.wrap.__file__)), "wrappers")
    found = (_lint_report(name, os.path.join(root, name, "lint.json")) for name in sorted(os.listdir(root)))
    return [report for report in found if report is not None]


async def openapi(_: RouteCall[NoQuery, None]) -> dict[str, Any]:
    return openapi_document(all_routes())


ROUTES = (
    HttpRoute("GET", "/health", "getHealth", "Whether the daemon works.", "none", health, Health),
    HttpRoute(
        "GET", "/info", "getInfo", "The version and the state of the daemon.", "read", info, DaemonInfo
    ),
    HttpRoute(
        "GET",
        "/metrics",
        "getMetrics",
        "Figures in the OpenMetrics text form.",
        "read",
        metrics,
        media="application/openmetrics-text",
    ),
    HttpRoute("GET", "/lint", "listLint", "Kept lint reports.", "read", lint, LintReports),
    HttpRoute("GET", "/openapi.json", "getOpenapi", "This document.", "read", openapi, dict[str, Any]),
)
