"""One bounded HTTP exchange: how identities, policies and key sets ask the network.

Certificates are verified, proxies of the environment are not used, and redirects are not followed (a token must not go
to another host). The answer has a size limit, and the deadline covers everything: looking up the name,
connecting, sending, and an answer that comes one byte a second. What goes wrong is an `ExchangeFailed` whose text
repeats nothing that was sent or received.
"""

import ipaddress
import json
import queue
import threading
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from operable.flow.contracts import Surroundings
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.kernel.data_class import dataclass

if TYPE_CHECKING:
    import http.client

# Token answers and key sets are a few kilobytes; large JWKS documents below 100.
LIMIT = 1024 * 1024
# Machine metadata answers on the machine's own link, over http by design: by this name, or at a link-local address.
_METADATA_NAME = "metadata.google.internal"


class ExchangeFailed(Exception):  # noqa: N818 - a fact about the exchange
    """No whole answer. The text is safe to show."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body as JSON; Raises ExchangeFailed if it is not one."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise ExchangeFailed(f"the answer (HTTP {self.status}) is not JSON") from None


def exchange(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    around: Surroundings,
    timeout: float | None = None,
    limit: int = LIMIT,
) -> HttpAnswer:
    """Send and wait for the whole answer, whatever its status. NotAllowed if `around` has no network.

    `timeout` may be shorter than that of `around`.
    """
    around.require_network(f"{method} {_shown(url)}")
    timeout = around.timeout if timeout is None else min(timeout, around.timeout)
    if not _may_ask(url):
        raise ExchangeFailed("the address must be https (http only for loopback), without credentials")
    results: queue.SimpleQueue[HttpAnswer | Exception] = queue.SimpleQueue()
    connection = _connection(url, timeout)

    def work() -> None:
        try:
            results.put(_sent(connection, method, url, dict(headers or {}), body, limit))
        except Exception as error:  # noqa: BLE001 - it is given to the caller, who names it
            results.put(error)
        finally:
            connection.close()

    # A thread, because name resolution and single reads have no deadline of their own.
    threading.Thread(target=work, name="http-exchange", daemon=True).start()
    try:
        result = results.get(timeout=timeout)
    except queue.Empty:
        _hang_up(connection)
        raise ExchangeFailed(f"no answer within {timeout:g} seconds") from None
    if isinstance(result, HttpAnswer):
        return result
    raise ExchangeFailed(_reason(result)) from None


def form(members: Mapping[str, str | None]) -> bytes:
    """A form's body; members without a value are left out."""
    return urlencode({name: value for name, value in members.items() if value is not None}).encode()


def _shown(url: str) -> str:
    """The host of an address, for messages: paths and queries may contain secrets."""
    try:
        return urlsplit(url).hostname or "an address"
    except ValueError:
        return "an address"


def _may_ask(url: str) -> bool:
    if is_safe_endpoint(url):
        return True
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme != "http" or "@" in parts.netloc:
            return False
        return host == _METADATA_NAME or ipaddress.IPv4Address(host).is_link_local
    except ValueError:
        return False


def _connection(url: str, timeout: float) -> "http.client.HTTPConnection":
    import http.client
    import ssl

    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)
    except (ValueError, http.client.HTTPException):
        raise ExchangeFailed("the address is not valid") from None


def _sent(
    connection: "http.client.HTTPConnection",
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes | None,
    limit: int,
) -> HttpAnswer:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection.request(method, path, body=body, headers={"accept": "application/json", **headers})
    response = connection.getresponse()
    data = response.read(limit + 1)
    if len(data) > limit:
        raise ExchangeFailed(f"the answer is larger than {limit} bytes")
    return HttpAnswer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)


def _hang_up(connection: "http.client.HTTPConnection") -> None:
    """Let the thread see the end of its connection."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(2)
        except OSError:
            return  # it has just ended by itself


def _reason(error: Exception) -> str:
    import ssl

    if isinstance(error, ExchangeFailed):
        return str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return f"the connection failed: {error.strerror or type(error).__name__}"
    return f"the exchange failed: {type(error).__name__}"
