"""An agent that is reached over HTTP: Streamable HTTP or the older SSE transport of the Model Context Protocol.

`Remote` looks to a link like a process does: lines go in, lines come out, and at some point it has ended. Each line out is
one POST; what comes back, as one JSON document or as a stream of events, is handed on message by message. Where the server
wants to speak unasked, one GET stays open, and is asked for again when the server closes it: from where it was, if the
server numbers what it says, and after a time that grows while nothing comes. An answer whose stream breaks off is fetched in
the same way.

Every request has the given headers (`operable.host.http.access`): no redirection is followed (it is an error that names
its target), and connections to this machine use no proxy. Every wait for an answer has a limit, except for the streams
themselves, which the watchdogs of a session cover. Answers are read by
`operable.host.http.responses`; where messages may go is for `operable.host.http.access` to say.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import msgspec

from operable.host.http.access import client, errors, same_host
from operable.host.http.responses import Envelope, StreamPosition, body, envelope, events, refusal
from operable.kernel.redact import Redactor, redact_url
from operable.proc.child import ChildEnd
from operable.proc.excerpt import Excerpt
from operable.wire.lines import LineTooLong, split_lines

_STREAM = "text/event-stream"
_BUSY = (429, 500, 502, 503, 504)
# How often in a row a stream that owes an answer is opened and brings nothing: about two minutes.
_ATTEMPTS = 8


class Remote:
    """One connection. `on_lines` gets messages, `on_end` is called once when the server is gone or was left."""

    def __init__(
        self,
        url: str,
        *,
        is_sse: bool,
        on_lines: Callable[[list[bytes]], object],
        on_end: Callable[[Any], object],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.end: ChildEnd | None = None
        self.fault: tuple[str, str] | None = None
        self._url = url
        self._given = dict(headers or {})
        self._on_lines = on_lines
        self._on_end = on_end
        self._session_id: str | None = None
        self._version: str | None = None
        self._asked: set[int | str | None] = set()  # requests of ours that wait for their answer
        self._trouble = Excerpt()
        self._ended = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._client = client(url)
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if is_sse:
            self._go(self._listen())
        else:
            self._endpoint.set_result(url)

    # --- as a process

    @property
    def pid(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        lines, rest = split_lines(data)
        for line in (*lines, rest):
            if line and self.end is None:
                self._go(self._post(line, envelope(line) or Envelope()))

    def pause(self) -> None:
        self._reading.clear()

    def resume(self) -> None:
        self._reading.set()

    def end_input(self) -> None:
        """Nothing: there is no process that waits for the end of its input."""

    def interrupt(self, cause: str) -> None:
        self.kill(cause)

    def kill(self, cause: str) -> None:
        self._over(None if self.end is not None else 0, cause)

    async def leave(self, *, eof_grace: float) -> None:
        """Inform the server that the session is over, then close the connection."""
        if self.end is None and self._session_id is not None:
            try:
                async with asyncio.timeout(eof_grace):
                    await self._client.delete(self._url, headers=self._headers())
            except (TimeoutError, OSError, ValueError, errors()):
                self._trouble.feed(b"the server did not take the goodbye\n")
        self._over(0, None)
        await self._ended.wait()

    async def ended(self) -> None:
        await self._ended.wait()

    def stderr_text(self, redactor: Redactor, limit: int = 4000) -> str:
        return redactor.text(self._trouble.text().strip())[-limit:]

    # --- messages

    async def _post(self, line: bytes, what: Envelope) -> None:
        asked = what.id if what.method is not None else None
        self._asked |= {asked} - {None}
        self._asked.discard(what.taken_back)
        try:
            endpoint = await self._endpoint
            # In order: the next message goes out when the server has begun to answer this one. But a caller that
            # withdraws a request does not wait for a server that begins to answer only when it is done.
            async with self._turn if what.taken_back is None else nullcontext():
                request = self._client.build_request("POST", endpoint, content=line, headers=self._headers())
                response = await self._client.send(request, stream=True)
            try:
                await self._answer(response, asked)
            finally:
                await response.aclose()
        except (OSError, ValueError, errors()) as error:
            self._broke(error)

    async def _answer(self, response: Any, asked: int | str | None) -> None:
        if response.status_code >= 300:
            self._lost(await refusal(response))
            return
        opened = self._session_id is None and response.headers.get("mcp-session-id")
        if opened:
            self._session_id = opened
        if _is_stream(response):
            await self._stream(response, asked)
        else:
            data = await body(response)
            if data.strip():
                await self._take(data)
        if opened and self.end is None:
            self._go(self._listen_unasked())

    async def _stream(self, response: Any, asked: int | str | None) -> None:
        """An answer that comes as a stream; one that breaks off is resumed where it was, if the server says where."""
        place = StreamPosition()
        try:
            async for _, data in events(response, place):
                await self._take(data)
        except (OSError, errors()):
            if place.last_id is None or asked not in self._asked:
                raise
        why = None
        while why is None and asked in self._asked and place.last_id is not None and place.silent < _ATTEMPTS:
            await asyncio.sleep(place.delay())
            why = await self._follow(place)
        if asked is not None and asked in self._asked:
            self._lost(why or "the stream ended without the answer")

    async def _listen_unasked(self) -> None:
        """What the server says unasked, for as long as the session lasts; a server that never does says 405."""
        place = StreamPosition()
        while self.end is None:
            if await self._follow(place) is not None:
                if place.last_id is None:
                    return
                place.last_id = None  # it may no longer know what it said; from now on, then
            await asyncio.sleep(place.delay())

    async def _follow(self, place: StreamPosition) -> str | None:
        """A stream from its place to where it ends now. None: it may be asked for again; else why not."""
        headers = {**self._headers(), "accept": _STREAM, **place.headers()}
        place.silent += 1
        try:
            async with self._client.stream("GET", self._url, headers=headers) as response:
                if response.status_code >= 300 and response.status_code not in _BUSY:
                    return await refusal(response)
                if response.status_code == 200 and not _is_stream(response):
                    return "it is not a stream"
                async for _, data in events(response, place):
                    await self._take(data)
        except (OSError, ValueError, errors()) as error:
            if isinstance(error, LineTooLong):
                self._broke(error)
                return str(error)
        return None

    async def _listen(self) -> None:
        """Of SSE: the only stream, which begins with where to post to."""
        headers = {**self._headers(), "accept": _STREAM}
        try:
            async with self._client.stream("GET", self._url, headers=headers) as response:
                if response.status_code >= 300:
                    self._lost(await refusal(response))
                    return
                async for name, data in events(response):
                    if name == "endpoint" and not self._endpoint.done():
                        self._endpoint.set_result(same_host(self._url, data.decode("utf-8", "replace")))
                    else:
                        await self._take(data)
        except (OSError, ValueError, errors()) as error:
            self._broke(error)
            return
        self._lost("the server closed the stream")

    async def _take(self, data: bytes) -> None:
        await self._reading.wait()
        try:
            line = msgspec.json.format(data, indent=-1)  # one line, whatever the server's layout
        except msgspec.MsgspecError:
            line = b" ".join(data.splitlines())
        self._settle(line)
        if self._version is None and b'"protocolVersion"' in line:
            self._version = _version(line)
        if self.end is None:
            self._on_lines([line])

    def _settle(self, line: bytes) -> None:
        found = envelope(line)
        if found is None:
            self._asked.clear()  # several messages in one, or none: it is unknown what it answers
        elif found.method is None:
            self._asked.discard(found.id)

    def _headers(self) -> dict[str, str]:
        found = {**self._given, "content-type": "application/json", "accept": f"application/json, {_STREAM}"}
        if self._session_id is not None:
            found["mcp-session-id"] = self._session_id
        if self._version is not None:
            found["mcp-protocol-version"] = self._version
        return found

    def _broke(self, error: Exception) -> None:
        if isinstance(error, LineTooLong):
            self.fault = ("line_too_long", f"a message is longer than {error.limit} bytes")
            self._over(1, "line too long")
        else:
            self._lost(f"{type(error).__name__}: {error}")

    def _lost(self, why: str) -> None:
        self._trouble.feed(f"{redact_url(self._url)}: {why}\n".encode())
        self._over(1, None)

    def _over(self, status: int | None, cause: str | None) -> None:
        if self.end is None:
            self.end = ChildEnd(status, cause, 0.0, self._trouble)
            self._closing = asyncio.get_running_loop().create_task(self._hang_up())
            # Not from inside of the caller: the link may be in the middle of something.
            asyncio.get_running_loop().call_soon(self._on_end, self)

    async def _hang_up(self) -> None:
        """Leave no connection, however it ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()
        self._ended.set()

    def _go(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_stream(response: Any) -> bool:
    return bool(response.headers.get("content-type", "").startswith(_STREAM))


def _version(line: bytes) -> str | None:
    try:
        found = msgspec.json.decode(line)["result"]["protocolVersion"]
    except (msgspec.MsgspecError, LookupError, TypeError):
        return None
    return found if isinstance(found, str) else None
