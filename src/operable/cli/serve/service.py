"""The daemon in the foreground: its lock, its socket, its link, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import ssl
import stat
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NamedTuple

import uvicorn

from operable.cli.serve.events import DaemonServing, LoginLinkMade
from operable.kernel.errors import Fail
from operable.serve.daemon import Daemon, DaemonLock, DaemonPlace
from operable.serve.hooks import Hook
from operable.serve.http.access.browser import LOOPBACK_NAMES, OwnNames
from operable.serve.http.access.tokens import TokenStore
from operable.serve.http.app import make_app
from operable.serve.http.connection import BACKLOG, HEADER_LIMIT, BoundedListener, StreamConnection
from operable.serve.http.upgrade import socket_options
from operable.state.paths import make_state
from operable.tool import Context

SHUTDOWN = 10  # seconds that requests in progress have when the daemon is stopped
_LAST_PORT = 65_535
_LINK_WAIT = 10.0  # seconds
_LINK_SIZE = 10_000  # bytes


class ListenOptions(NamedTuple):
    """Where to listen, and how clients are to see it."""

    listen: str
    names: Sequence[str] = ()
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure: bool = False


class _Server(uvicorn.Server):
    """Ends the streams when a signal comes: they would keep the server from ending."""

    def __init__(self, config: uvicorn.Config, daemon: Daemon) -> None:
        super().__init__(config)
        self._daemon = daemon
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._loop.call_soon_threadsafe(self._daemon.close_streams)


def serve_daemon(options: ListenOptions, hooks: list[Hook], context: Context) -> Iterator[DaemonServing]:
    """One event when it listens; it ends after a signal. Raises Fail conflict/DAEMON_RUNS if this home has one."""
    folder = make_state("serve")
    host, port = _address(options)
    if options.tls_cert is not None and options.tls_key is not None:
        _require_certificate(options.tls_cert, options.tls_key)
    lock = DaemonLock(folder)
    if not lock.take():
        raise _runs_already(lock.other())
    with contextlib.closing(lock), BoundedListener.open(host, port) as listener:
        port = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        tls = options.tls_cert is not None
        names = {*LOOPBACK_NAMES, shown, *options.names}
        url = f"{'https' if tls else 'http'}://{options.names[0] if options.names else shown}:{port}"
        daemon = Daemon(folder, OwnNames(names, tls=tls, port=port), url, hooks)
        daemon.tokens.first()
        lock.announce(url)
        if context.machine:
            yield DaemonServing(url=url, token_file=daemon.tokens.first_path)
        else:
            link = f"{url}/login?code={daemon.codes.make()}"
            sys.stderr.write(f"operable serve: {url}\n  open {link}\n  token: {daemon.tokens.first_path}\n")
            sys.stderr.flush()
        asyncio.run(_serve(daemon, listener, options))
    context.conclude(message="Stopped.")


async def _serve(daemon: Daemon, listener: BoundedListener, options: ListenOptions) -> None:
    config = uvicorn.Config(
        make_app(daemon),
        http=StreamConnection,
        **socket_options(),
        log_config=None,
        access_log=False,
        interface="asgi3",
        proxy_headers=False,
        lifespan="off",
        server_header=False,
        h11_max_incomplete_event_size=HEADER_LIMIT,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SHUTDOWN,
        ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key,
    )
    server = _Server(config, daemon)
    listener.connections = server.server_state.connections
    await daemon.open()
    try:
        await server.serve(sockets=[listener])
    finally:
        await daemon.aclose()


def _address(options: ListenOptions) -> tuple[str, int]:
    """Host and port. Raises Fail for an address that other machines reach, unless there is TLS or the user insists."""
    host, colon, port_text = options.listen.rpartition(":")
    host = host.strip("[]")
    if not colon or not port_text.isdecimal() or int(port_text) > _LAST_PORT or not host:
        message = f"--listen takes ADDRESS:PORT, not {options.listen}"
        raise Fail("usage", "INVALID_VALUE", message, target="--listen")
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        message = f"{host} is not an address; --name gives the names of this server"
        raise Fail("usage", "INVALID_VALUE", message, target="--listen") from None
    if (options.tls_cert is None) != (options.tls_key is None):
        raise Fail(
            "usage", "OPTIONS_CONFLICT", "TLS needs both --tls-cert and --tls-key", target="--tls-cert"
        )
    if not address.is_loopback and options.tls_cert is None and not options.insecure:
        raise Fail(
            "config",
            "LISTEN_INSECURE",
            f"{host} can be reached from other machines, and tokens would travel unencrypted",
            target=host,
            hint="give --tls-cert and --tls-key, or --insecure-listen in a network that you trust",
        )
    return str(address), int(port_text)


def _require_certificate(certificate: str, key: str) -> None:
    """Raises Fail config/TLS_UNUSABLE before it says where clients connect."""

    def ask() -> str:  # the library would ask at the terminal, without a limit
        raise _unusable("--tls-key", "it is encrypted, and the daemon cannot ask for its passphrase")

    _mode("--tls-cert", certificate)
    if _mode("--tls-key", key) & (stat.S_IROTH | stat.S_IWOTH):
        raise _unusable("--tls-key", "others can read or change it", hint="let others not read it: chmod 600")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, ask)
    except (OSError, ValueError) as error:
        why = f"it is not a certificate in PEM form that fits --tls-key ({error})"
        raise _unusable("--tls-cert", why) from error


def _mode(option: str, path: str) -> int:
    try:
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise _unusable(option, error.strerror or str(error)) from error


def _unusable(option: str, why: str, hint: str | None = None) -> Fail:
    return Fail(
        "config", "TLS_UNUSABLE", f"the file of {option} cannot be used: {why}", target=option, hint=hint
    )


def make_link(context: Context) -> Iterator[LoginLinkMade]:
    """Ask the daemon of this home for a login link. Raises Fail not_found/NO_DAEMON, io/DAEMON_UNREACHABLE."""
    import json
    import urllib.error
    import urllib.request

    folder = make_state("serve")
    lock = DaemonLock(folder)
    with contextlib.closing(lock):
        place = None if lock.take() else lock.other()
    if place is None:
        raise Fail("not_found", "NO_DAEMON", "no daemon of this home runs", hint="start it: operable serve")
    try:
        with open(TokenStore(folder).first_path, encoding="utf-8") as file:
            token = file.read().strip()
        request = urllib.request.Request(  # noqa: S310 - the address that our daemon wrote
            f"{place.url}/logins", data=b"", method="POST", headers={"Authorization": f"Bearer {token}"}
        )
        # No proxy of the environment: the token goes to this machine only.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=_LINK_WAIT) as response:
            made = json.loads(response.read(_LINK_SIZE))
    except (OSError, urllib.error.URLError, ValueError) as error:
        message = f"the daemon at {place.url} gives no link: {error}"
        raise Fail("io", "DAEMON_UNREACHABLE", message, target=place.url) from error
    if context.machine:
        yield LoginLinkMade(url=made["url"], expires_in_s=made["expiresIn"])
    else:
        context.show(f"open {made['url']}\n")


def _runs_already(place: DaemonPlace | None) -> Fail:
    where = "it does not say yet where" if place is None else f"at {place.url} (pid {place.pid})"
    hint = "wait a moment" if place is None else f"open {place.url}, or stop it: kill {place.pid}"
    message = f"a daemon of this home runs already: {where}"
    return Fail("conflict", "DAEMON_RUNS", message, target=None if place is None else place.url, hint=hint)
