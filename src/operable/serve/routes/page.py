"""The page: its frame, and the files that it is made of. What it shows comes from the other routes, as for every client.

The frame carries what the first view needs, and the cursor of the stream from which the page goes on: the browser shows the
inbox without a second request. The bar with the count is in it as HTML, and the style sheets are one file, so that there is
something to see before a module has run. It also names every module, so that they are loaded at once and not one behind
another, under a path with the digest of all files: a browser keeps them until there is another version, and never mixes two.
"""

import functools
import hashlib
import os
import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from starlette.responses import Response

from operable.kernel.errors import Fail
from operable.serve.approvals import ApprovalView
from operable.serve.http.access.browser import csrf_of, how_to_log_in
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall
from operable.serve.session.view import SessionView

_KEPT = "public, max-age=31536000, immutable"
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "web")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_DATA = b'id="data">{}<'
_VERSION = "v-"  # begins the part of a path that is a version
_MODULES = b"<!-- modules -->"
_COUNT = b"<!-- count -->"
_STYLES = re.compile(rb'(?:<link rel="stylesheet" href="/web/[^"]+">\n)+')
_STYLE = "style.css"  # all style sheets in the order of the frame
_SESSIONS = 200  # newest sessions in the frame: about 150 kB; older ones are read behind the first paint


class PageData(msgspec.Struct, frozen=True, rename="camel"):
    """What the frame carries: the lists of the first view, their cursor, and what a request that changes something sends.

    `isPart`: there are more sessions than are here. `folder` is that of the daemon, where it may be known.
    """

    csrf: str
    scopes: list[str]
    cursor: int
    sessions: list[SessionView]
    is_part: bool
    approvals: list[ApprovalView]
    folder: str


async def show_page(call: RouteCall[NoQuery, None]) -> Response:
    """The frame; for a browser without a login, how to get one."""
    token = call.daemon.names.cookie_token(call.headers)
    identity = None if token is None else call.daemon.tokens.identify(token)
    headers = {"cache-control": "no-store"}
    if token is None or identity is None:
        return Response(how_to_log_in(call.daemon.url), 401, media_type="text/html", headers=headers)
    daemon = call.daemon
    cursor = (
        daemon.attention.log.last_id
    )  # read first: what changes meanwhile comes twice, and is never missed
    listing = daemon.sessions.list(workspace=identity.workspace, limit=_SESSIONS)
    own = identity.workspace
    approvals = [*await daemon.approvals.look(), *daemon.approvals.answered()]
    data = PageData(
        csrf_of(token),
        sorted(identity.scopes),
        cursor,
        listing.sessions,
        listing.next_cursor is not None,
        [view for view in approvals if own is None or view.workspace == own],
        os.getcwd() if own is None else "",
    )
    text = msgspec.json.encode(data).replace(b"<", b"\\u003c")
    waiting = sum(1 for view in data.approvals if view.state == "waiting")
    count = f'<span class="count" aria-label="{waiting} waiting">{waiting}</span>' if waiting else ""
    frame = _frame().replace(_COUNT, count.encode()).replace(_DATA, _DATA.replace(b"{}", text))
    return Response(frame, media_type="text/html", headers=headers)


@functools.cache
def _frame() -> bytes:
    """The frame without data: every address has the version, every module is named."""
    names = (name for name in sorted(_files()) if name.endswith(".js"))
    modules = "".join(f'<link rel="modulepreload" href="/web/{name}">\n' for name in names)
    frame = _files()["index.html"].replace(_MODULES, modules.encode())
    frame = _STYLES.sub(f'<link rel="stylesheet" href="/web/{_STYLE}">\n'.encode(), frame)
    return frame.replace(b'"/web/', f'"/web/{_version()}/'.encode())


async def show_file(call: RouteCall[NoQuery, None]) -> Response:
    """One file of the page, by its name: nothing outside of the folder has a name here."""
    name = call.path["path"]
    version, _, rest = name.partition("/")
    if version.startswith(_VERSION):
        name = rest
    if name not in _files():
        raise Fail("not_found", "NO_SUCH_FILE", "the page has no such file", target=name[:200])
    headers = {"cache-control": _KEPT if version == _version() else "no-cache"}
    return Response(_files()[name], media_type=_TYPES[os.path.splitext(name)[1]], headers=headers)


@functools.cache
def _files() -> Mapping[str, bytes]:
    """The files of the page by their path below its folder, as they were when the first of them was asked for."""
    found: dict[str, bytes] = {}
    for folder, _, files in os.walk(_FOLDER):
        for name in files:
            if os.path.splitext(name)[1] in _TYPES:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, _FOLDER).replace(os.sep, "/")] = file.read()
    styles = _STYLES.search(found["index.html"])
    names = re.findall(r'href="/web/([^"]+)"', styles[0].decode() if styles else "")
    return MappingProxyType({**found, _STYLE: b"".join(found[name] for name in names)})


@functools.cache
def _version() -> str:
    whole = hashlib.sha256()
    for name, data in sorted(_files().items()):
        whole.update(f"{name} {len(data)} ".encode() + data)
    return f"{_VERSION}{whole.hexdigest()[:16]}"


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
