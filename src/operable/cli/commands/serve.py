"""`operable serve`: one daemon with everything operable on this machine, over HTTP.

It listens on loopback unless it is said otherwise, and then only with TLS or with `--insecure-listen`. Every request needs a
token. It prints a link that logs one browser in, once; it opens nothing by itself, and `--link` prints another one of the
daemon that runs. A home has one daemon: a second one says where the first is. SIGTERM and Ctrl-C end it, with every
session that it runs.

With `--output jsonl` it gives one `daemon_serving` event and serves until it is stopped.
"""

from __future__ import annotations

from operable.cli.serve.events import DaemonServing, LoginLinkMade
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    runs_tools=True,
    limit=None,
    timeout=None,
    examples=[
        "serve",
        "serve --link",
        "serve --listen 127.0.0.1:8765",
        "serve --listen 192.0.2.7:8443 --tls-cert cert.pem --tls-key key.pem --name box.example.org",
    ],
)
def serve(
    *,
    listen: str = "127.0.0.1:8722",
    name: list[str] | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    insecure_listen: bool = False,
    link: bool = False,
    context: Context,
) -> Iterator[DaemonServing | LoginLinkMade]:
    """Serve agents, tools, applications and flows over HTTP.

    listen: ADDRESS:PORT; port 0 takes a free one
    name: a host name by which clients reach it, beside the address
    tls_cert: the file of the certificate chain, in PEM form
    tls_key: the file of its private key
    insecure_listen: listen on an address that other machines reach without TLS
    link: print a link that logs a browser in at the daemon that runs, and end
    """
    from operable.cli.serve.service import ListenOptions, make_link, serve_daemon

    if link:
        return make_link(context)

    options = ListenOptions(listen, name or [], tls_cert, tls_key, insecure_listen)
    return serve_daemon(options, context)


COMMAND = serve
