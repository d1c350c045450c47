"""One request that the proxy looks into, and its response: read strictly, judged, rewritten, on a connection of its own.

Without secrets in the session, bodies are passed on as they come. With secrets, the body is held, searched for placeholders,
and sent with the values in; the response goes back with the values masked. A WebSocket becomes a tunnel only after the
server's verified 101: until then no byte that follows the request leaves.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.sandbox.egress import placeholders
from operable.proc.sandbox.egress.budget import AttemptLog, Bounds, Exhausted, Memory
from operable.proc.sandbox.egress.http import Framing, MalformedHttp, RequestHead, ResponseHead
from operable.proc.sandbox.egress.placeholders import Substitutes
from operable.proc.sandbox.egress.streams import (
    Deadline,
    Ends,
    Refused,
    hold_body,
    join,
    read_response,
    send_held,
    send_response,
    send_streamed,
)
from operable.proc.sandbox.egress.upstream import EgressUpstream

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# The first two echo the request, credentials included (RFC 9110, 9.3.8). A tunnel is asked of the proxy itself: inside a
# connection, servers disagree about what follows the head of a CONNECT.
_REFUSED_METHODS = frozenset((b"TRACE", b"TRACK", b"CONNECT"))
_INTERIM = 16  # responses before the real one; 100 and 103 come once


@dataclass(slots=True)
class EgressExchange:
    """What a request needs of its session."""

    upstream: EgressUpstream
    substitutes: Substitutes
    log: AttemptLog
    bounds: Bounds
    memory: Memory
    deadline: Deadline
    answered: bool = (
        False  # the head of a response has gone to the client: an answer of ours would end up in its body
    )

    async def run(self, client: Ends, head: RequestHead, where: tuple[str, int], *, secure: bool) -> None:
        """Forward one request to the host that was decided on, and its response back. Raises Refused."""
        if head.method in _REFUSED_METHODS:
            self.log.report(*where, "method-refused")
            raise Refused("method-refused", "405 Method Not Allowed")
        if self.substitutes:
            await self._run_held(client, head, where, secure=secure)
            return
        server = await self.upstream.connect(*where, secure=secure)
        try:
            self.log.report(*where, "allowed")
            await _invite(client[1], head)
            server[1].write(head.encode(_authority(*where, secure=secure), head.framing))
            sending = send_streamed(client[0], server[1], head.framing, self.deadline)
            await self._finish(client, server, head, placeholders.Mask({}), asyncio.ensure_future(sending))
        finally:
            server[1].close()

    async def _run_held(
        self, client: Ends, head: RequestHead, where: tuple[str, int], *, secure: bool
    ) -> None:
        await _invite(client[1], head)
        try:
            async with asyncio.timeout(self.bounds.upload):
                held = await hold_body(client[0], head.framing, self.bounds.body, self.memory)
        except TimeoutError as error:
            raise Refused("body-too-slow", "408 Request Timeout") from error
        size = len(held)
        try:
            found = await self._found(head, held, where)
            names = {*placeholders.find_in_head(head), *(match[1].decode() for match in found)}
            changed, body, mask = await self._with_secrets(head, held, names, found, where, secure=secure)
            del held, found  # the changed body takes its place
            if len(body) > size:
                self._take(len(body) - size)
                size = len(body)
            server = await self.upstream.connect(*where, secure=secure)
            try:
                self.log.report(*where, "allowed", tuple(sorted(names)))
                encoded = changed.encode(_authority(*where, secure=secure), Framing(length=len(body)))
                sending = asyncio.ensure_future(send_held(server[1], encoded, body, self.deadline))
                await self._finish(client, server, head, mask, sending)
            finally:
                server[1].close()
        finally:
            self.memory.release(size)

    def _take(self, size: int) -> None:
        try:
            self.memory.take(size)
        except Exhausted as error:
            raise Refused("memory-exhausted", "503 Service Unavailable") from error

    async def _found(
        self, head: RequestHead, body: bytes, where: tuple[str, int]
    ) -> list[placeholders.Placeholder]:
        """The placeholders of the body; raises Refused if the request has too many."""
        left = placeholders.MOST - len(placeholders.find_in_head(head))
        found: list[placeholders.Placeholder] = []
        for part in placeholders.find_in_body(body):
            found += part
            if len(found) > left:
                break
            await asyncio.sleep(0)
        if len(found) > left:
            self.log.report(*where, "too-many-placeholders")
            raise Refused("too-many-placeholders", "413 Content Too Large")
        return found

    async def _with_secrets(
        self,
        head: RequestHead,
        body: bytes,
        names: set[str],
        found: Sequence[placeholders.Placeholder],
        where: tuple[str, int],
        *,
        secure: bool,
    ) -> tuple[RequestHead, bytes, placeholders.Mask]:
        """Put the values in; raises Refused if one of them may not go there."""
        if not names:
            return head, body, placeholders.Mask({})
        for name in sorted(names):
            obstacle = self.substitutes.obstacle(name, *where, secure=secure)
            if obstacle is not None:
                self.log.report(*where, obstacle, (name,))
                raise Refused(obstacle)
        reported = tuple(sorted(names))
        try:
            values = await self.upstream.call(self.substitutes.reveal, reported)
        except Fail as error:
            self.log.report(*where, "secret-unavailable", reported)
            raise Refused("secret-unavailable", "502 Bad Gateway") from error
        substitution = placeholders.Substitution(values.__getitem__, self.bounds.body)
        try:
            changed, sent = substitution.apply(head, body, found)
        except MalformedHttp as error:
            self.log.report(*where, "secret-does-not-fit", reported)
            raise Refused("secret-does-not-fit", "400 Bad Request") from error
        # A compressed response could not be masked.
        return changed.with_identity(), sent, placeholders.Mask(substitution.sent)

    async def _finish(
        self,
        client: Ends,
        server: Ends,
        head: RequestHead,
        mask: placeholders.Mask,
        sending: "asyncio.Future[None]",
    ) -> None:
        """Send the request and the response at once: a server may answer, and stop reading, before it has all."""
        receiving = asyncio.ensure_future(self._receive(client, server, head, mask))
        try:
            await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            if not receiving.done():
                await _sent(sending)
            await receiving
        except (Refused, MalformedHttp) as error:
            if self.answered:
                raise ConnectionAbortedError from error
            raise
        finally:
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)

    async def _receive(self, client: Ends, server: Ends, head: RequestHead, mask: placeholders.Mask) -> None:
        for _ in range(_INTERIM):
            response = await read_response(server[0], head.method, self.deadline)
            if response.status == 101:
                if not (head.websocket and response.switches):
                    raise Refused("malformed-response", "502 Bad Gateway")
                self.answered = True
                client[1].write(_masked(response, mask).encode(response.framing))
                await join(client, server, self.deadline, mask=mask.same_length())
                return
            if response.status >= 200:
                break
        else:
            raise Refused("malformed-response", "502 Bad Gateway")
        framing = response.framing
        if mask and framing.length:
            framing = Framing(chunked=True)  # a placeholder is not as long as its value
        if framing.chunked and head.minor == 0:
            framing = Framing()
        self.answered = True
        client[1].write(_masked(response, mask).encode(framing))
        await send_response(server[0], client[1], response, framing, mask, self.deadline)


async def _sent(sending: "asyncio.Future[None]") -> None:
    """Wait for the end of the request; a server that stops reading may still answer."""
    try:
        await sending
    except MalformedHttp as error:
        raise Refused("malformed-request", "400 Bad Request") from error
    except OSError:
        return  # its response, or its absence, says more
    except asyncio.IncompleteReadError as error:
        raise ConnectionAbortedError("the client went away within its request") from error


async def _invite(writer: asyncio.StreamWriter, head: RequestHead) -> None:
    if head.get(b"expect") is not None and head.minor == 1 and not head.framing.empty:
        writer.write(_CONTINUE)
        await writer.drain()


def _masked(response: ResponseHead, mask: placeholders.Mask) -> ResponseHead:
    if not mask:
        return response
    headers = tuple((mask.mask(name), mask.mask(value)) for name, value in response.headers)
    return replace(response, headers=headers, reason=mask.mask(response.reason))


def _authority(host: str, port: int, *, secure: bool) -> bytes:
    name = f"[{host}]" if ":" in host else host
    return (name if port == (443 if secure else 80) else f"{name}:{port}").encode()
