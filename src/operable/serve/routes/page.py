"""The page: its frame, and the files that it is made of. What it shows comes from the other routes, as for every client."""

import html
import os

import msgspec
from starlette.responses import Response

from operable.kernel.errors import Fail
from operable.serve.http.access.browser import csrf_of
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "web")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_DATA = b'id="data">{}<'
_STRANGER = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Operable</title>
<h1>This browser is not logged in</h1>
<p>In a terminal on this machine, <code>operable serve --link</code> prints a link that works once.</p>
<p>The daemon is at {url}.</p></html>
"""


class PageData(msgspec.Struct, frozen=True, rename="camel"):
    """What the frame carries: the value that requests which change something send as X-Operable-CSRF."""

    csrf: str
    scopes: list[str]


async def show_page(call: RouteCall[NoQuery, None]) -> Response:
    """The frame; for a browser without a login, how to get one."""
    token = call.daemon.names.cookie_token(call.headers)
    identity = None if token is None else call.daemon.tokens.identify(token)
    headers = {"cache-control": "no-store"}
    if token is None or identity is None:
        text = _STRANGER.format(url=html.escape(call.daemon.url))
        return Response(text, 401, media_type="text/html", headers=headers)
    data = msgspec.json.encode(PageData(csrf_of(token), sorted(identity.scopes))).replace(b"<", b"\\u003c")
    frame = _read("index.html").replace(_DATA, _DATA.replace(b"{}", data))
    return Response(frame, media_type="text/html", headers=headers)


async def show_file(call: RouteCall[NoQuery, None]) -> Response:
    """One file of the page, by its name: nothing outside of the folder has a name here."""
    name = call.path["path"]
    if name not in _names():
        raise Fail("not_found", "NO_SUCH_FILE", "the page has no such file", target=name[:200])
    # Always asked for anew: after an update a page must not have modules of two versions.
    headers = {"cache-control": "no-cache"}
    return Response(_read(name), media_type=_TYPES[os.path.splitext(name)[1]], headers=headers)


def _names() -> frozenset[str]:
    """The files of the page below its folder."""
    found = [
        os.path.relpath(os.path.join(folder, name), _FOLDER).replace(os.sep, "/")
        for folder, _, files in os.walk(_FOLDER)
        for name in files
    ]
    return frozenset(name for name in found if os.path.splitext(name)[1] in _TYPES)


def _read(name: str) -> bytes:
    with open(os.path.join(_FOLDER, *name.split("/")), "rb") as file:
        return file.read()


ROUTES = (
    HttpRoute(
        "GET",
        "/",
        "showPage",
        "The page.",
        "none",
        show_page,
        media="text/html",
        other_statuses={401: "The browser is not logged in; the page says how to log in."},
    ),
    HttpRoute(
        "GET",
        "/web/{path:path}",
        "showPageFile",
        "A file of the page.",
        "read",
        show_file,
        media="text/javascript",
        errors={404: ("NO_SUCH_FILE",)},
    ),
)
