"""`operable serve`: one daemon with everything operable on this machine, over HTTP.

It listens on loopback unless it is said otherwise, and then only with TLS or with `--insecure-listen`. Every request needs a
token. It prints a link that logs one browser in, once; it opens nothing by itself, and `--link` prints another one of the
daemon that runs. A home has one daemon: a second one says where the first is. SIGTERM and Ctrl-C end it, with every
session that it runs.

With `--acp NAME` it serves that agent to an editor instead, over stdin and stdout: the Agent Client Protocol, whatever
protocol the agent speaks, under the rules for `acp:EDITOR`. It ends when the editor closes its end.

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
    unbounded=True,
    heartbeat=2.0,
    examples=[
        "serve",
        "serve --link",
        "serve --acp operable-agent",
        "serve --listen 127.0.0.1:8765",
        "serve --hook https://push.example.org/operable",
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
    hook: list[str] | None = None,
    hooks: str | None = None,
    link: bool = False,
    acp: str | None = None,
    context: Context,
) -> Iterator[DaemonServing | LoginLinkMade]:
    """Serve agents, tools, applications and flows over HTTP.

    listen ADDRESS:PORT: port 0 takes a free one
    name NAME: a host name by which clients reach it, beside the address
    tls_cert FILE: the file of the certificate chain, in PEM form
    tls_key FILE: the file of its private key
    insecure_listen: listen on an address that other machines reach without TLS
    hook WHERE: notify this when a question waits: an address (https://…), or the absolute path of a program
    hooks FILE: the file with the hooks; hooks.toml in the configuration folder if it is left out
    link: print a link that logs a browser in at the daemon that runs, and end
    acp AGENT: serve the agent of this name to an editor over stdin and stdout, and no daemon
    """
    if acp is not None:
        return _serve_editor(acp, context)
    from operable.cli.serve.service import ListenOptions, make_link, serve_daemon

    if link:
        return make_link(context)

    from operable.serve.hooks import load_hooks

    options = ListenOptions(listen, name or [], tls_cert, tls_key, insecure_listen)
    return serve_daemon(options, load_hooks(hooks, tuple(hook or ())), context)


def _serve_editor(agent: str, context: Context) -> Iterator[DaemonServing]:
    """Until the editor closes its end. Raises Fail usage/OUTPUT_IS_THE_PROTOCOL, not_found for an unknown agent."""
    import asyncio
    import os

    from operable.kernel.errors import Fail
    from operable.serve.acp.server import serve_editor
    from operable.serve.session.spawn import find_adapter

    if context.machine:
        message = "stdout is the protocol of the editor, and cannot be a stream of events also"
        raise Fail("usage", "OUTPUT_IS_THE_PROTOCOL", message, target="--output", hint="leave out --output")
    find_adapter(agent, os.getcwd())  # before the protocol begins: an unknown name is the caller's mistake
    context.conclude(message="The editor has closed the connection.")
    asyncio.run(serve_editor(agent, 0, 1))
    return iter(())


COMMAND = serve
