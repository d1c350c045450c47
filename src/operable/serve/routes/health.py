"""Whether the daemon works, and what it offers."""

import time
from typing import Any

import msgspec

from operable import __version__
from operable.serve.http.openapi import openapi_document
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall, all_routes


class Health(msgspec.Struct, frozen=True):
    """`ok` is always true: a daemon that does not work does not answer."""

    ok: bool


class DaemonInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The daemon, for clients that have a token."""

    version: str
    url: str
    uptime_seconds: float
    readers: int


async def health(_: RouteCall[NoQuery, None]) -> Health:
    return Health(True)


async def info(call: RouteCall[NoQuery, None]) -> DaemonInfo:
    daemon = call.daemon
    return DaemonInfo(__version__, daemon.url, round(time.time() - daemon.started_at, 3), daemon.feeds.count)


async def openapi(_: RouteCall[NoQuery, None]) -> dict[str, Any]:
    return openapi_document(all_routes())


ROUTES = (
    HttpRoute("GET", "/health", "getHealth", "Whether the daemon works.", "none", health, Health),
    HttpRoute(
        "GET", "/info", "getInfo", "The version and the state of the daemon.", "read", info, DaemonInfo
    ),
    HttpRoute("GET", "/openapi.json", "getOpenapi", "This document.", "read", openapi, dict[str, Any]),
)
