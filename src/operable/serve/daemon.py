"""What one daemon has: its place on disk, who may call it, its sessions and its streams.

<state>/serve/daemon.json     where the daemon of this home listens; its lock says whether it still lives
<state>/serve/token           the token of this user's programs
"""

import asyncio
import contextlib
import functools
import os
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from operable.gate.call_gate import CallGate
from operable.host.session.log_files import last_record, segment_name, segments
from operable.host.session.registry import ALIVE, SessionHome
from operable.kernel.errors import Fail
from operable.serve.approvals import ApprovalInbox
from operable.serve.attention import ATTENTION, AttentionLog
from operable.serve.hooks import Hook, Hooks
from operable.serve.http.access.browser import LoginCodes, OwnNames
from operable.serve.http.access.tokens import SESSION, HttpIdentity, TokenStore
from operable.serve.http.errors import log
from operable.serve.http.feed import Feed, Feeds, LogSource, OtherLog, OwnLog
from operable.serve.http.sse import NoticeMessages, StreamPlace, TypedMessages, message
from operable.serve.mcp_gateway import McpGateway
from operable.serve.session.registry import SessionRegistry
from operable.serve.session.view import StatusEvent
from operable.state.atomic import advise, write_whole
from operable.state.lock import acquire

MOST_IN_PROGRESS = 64  # requests of one token at a time, and streams of one token


class DaemonPlace(msgspec.Struct, frozen=True):
    """Where a daemon listens."""

    url: str
    pid: int
    started_at: int  # milliseconds since 1970


class DaemonLock:
    """One daemon per home: the lock is held until the process ends, in whatever way it ends."""

    def __init__(self, folder: str) -> None:
        self._place = os.path.join(folder, "daemon.json")
        self._lock = os.path.join(folder, "daemon.lock")
        self._fd: int | None = None

    def take(self) -> bool:
        """Whether this process is the daemon now. Raises Fail io/STATE_UNWRITABLE, as `announce` does."""
        try:
            self._fd = acquire(self._lock)
        except TimeoutError:
            return False
        except OSError as error:
            raise _unwritable(self._lock, error) from error
        return True

    def announce(self, url: str) -> None:
        place = DaemonPlace(url, os.getpid(), int(time.time() * 1000))
        try:
            write_whole(self._place, msgspec.json.encode(place) + b"\n", durable=False)
        except OSError as error:
            raise _unwritable(self._place, error) from error

    def other(self) -> DaemonPlace | None:
        """Where the other daemon listens; None if it does not say so yet."""
        try:
            with open(self._place, "rb") as file:
                return msgspec.json.decode(file.read(10_000), type=DaemonPlace)
        except (OSError, msgspec.MsgspecError):
            return None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _unwritable(path: str, error: OSError) -> Fail:
    message = f"the daemon cannot say where it is: {error.strerror}"
    return Fail("io", "STATE_UNWRITABLE", message, target=path, hint=advise(error))


class CallersWork:
    """What is in progress, by the name of its caller, and ends with it: with its token or its session.

    A call may wait for a person for days, and a person who ends a session or takes a token back means all that it asked for.
    A request that ends its own caller (a logout) goes on: it is the answer. It belongs to one event loop.
    """

    def __init__(self) -> None:
        self._open: defaultdict[str, dict[asyncio.Timeout, asyncio.Task[object] | None]] = defaultdict(dict)

    @contextlib.asynccontextmanager
    async def until_end(self, name: str) -> AsyncIterator[None]:
        """Cancel the block when its caller ends. Raises Fail authn/CALLER_ENDED then."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._open[name][limit] = asyncio.current_task()
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            message = "the token was taken back, or its session has ended; what it had begun was ended"
            raise Fail("authn", "CALLER_ENDED", message) from None
        finally:
            self._open[name].pop(limit, None)
            if not self._open[name]:
                del self._open[name]

    def end(self, name: str) -> None:
        """End all that this caller has in progress, but the request that asks for that."""
        loop, current = asyncio.get_running_loop(), asyncio.current_task()
        for limit, task in tuple(self._open.get(name, {}).items()):
            if task is not current:
                limit.reschedule(loop.time())


class Daemon:
    """The state of one daemon, shared by its routes. It belongs to one event loop."""

    def __init__(self, folder: str, names: OwnNames, url: str, hooks: Sequence[Hook] = ()) -> None:
        self.folder = folder
        self.names = names
        self.url = url
        self.started_at = time.time()
        self.gate = CallGate()
        self.sessions = SessionRegistry(url=url, gate=self.gate)
        self.work = CallersWork()
        self.tokens = TokenStore(folder)
        self.codes = LoginCodes()
        self.feeds = Feeds()
        self.approvals = ApprovalInbox(self.sessions)
        self.gateway = McpGateway(self.sessions, self.gate, self.calling)
        self.attention = AttentionLog(os.path.join(folder, "attention"), self.sessions, self.approvals)
        self.hooks = Hooks(hooks, folder, url)
        self.answers: Counter[tuple[str, int]] = Counter()  # by operation and status
        self._in_progress: Counter[str] = Counter()
        self._streams: defaultdict[str, set[StreamPlace]] = defaultdict(set)

    async def open(self) -> None:
        """Mark what a dead daemon left, resume what asked for it, and begin to look for what needs attention."""
        for each in await self.sessions.recover():
            if each.problem is not None:
                log.warning("the session %s was not resumed: %s", each.id, each.problem.message)
        self.sessions.on_change = self._session_changed
        self.sessions.on_end = self.end_work
        self.attention.on_session = lambda view: self.feeds.renew(view.id)
        self.attention.on_approval = self.hooks.notify
        self.hooks.start()
        await self.attention.start()

    def close_streams(self) -> None:
        """What would keep the server from ending."""
        self.feeds.close()
        self.gateway.end()

    async def aclose(self) -> None:
        """End every stream and every session."""
        self.close_streams()
        await self.gateway.aclose()
        await self.attention.aclose()
        await self.hooks.aclose()
        await self.sessions.aclose()
        await self.gate.aclose()

    def _session_changed(self, session_id: str) -> None:
        self.attention.wake()
        self.feeds.renew(session_id)

    def identify(self, token: str) -> HttpIdentity | None:
        """Whose token this is: of a program or a browser, or of a session that lives."""
        session_id = self.sessions.authenticate(token)
        if session_id is not None:
            return HttpIdentity(SESSION, session_id, frozenset({"read", "prompt"}))
        return self.tokens.identify(token)

    def feed_of(self, session_id: str) -> Feed:
        """The stream of a session's log."""
        home = self.sessions.homes.session(session_id)

        def source() -> LogSource:
            own = self.sessions.live_log(home.meta.id)
            if own is not None:
                return OwnLog(own)
            return OtherLog(home.folder, last_id(home.folder), lambda: self._is_over(home))

        return self.feeds.feed(home.meta.id, source, TypedMessages(), lambda: self._status(home.meta.id))

    def _status(self, session_id: str) -> bytes:
        try:
            return _status_message(self.sessions.status(session_id))
        except Fail:
            return b""  # it was forgotten

    def attention_feed(self) -> Feed:
        return self.feeds.feed(ATTENTION, lambda: OwnLog(self.attention.log), NoticeMessages())

    def _is_over(self, home: SessionHome) -> bool:
        try:
            return self.sessions.homes.renewed(home).meta.status not in ALIVE
        except Fail:
            return True

    # --- limits

    @contextlib.asynccontextmanager
    async def calling(self, name: str) -> AsyncIterator[None]:
        """One more request of a token, which ends with it. Raises Fail TOO_MANY_REQUESTS, authn/CALLER_ENDED."""
        self.enter(name)
        try:
            async with self.work.until_end(name):
                yield
        finally:
            self.leave(name)

    def enter(self, name: str) -> None:
        """One more request of a token. Raises Fail rate_limited/TOO_MANY_REQUESTS."""
        if self._in_progress[name] >= MOST_IN_PROGRESS:
            message = f"{MOST_IN_PROGRESS} requests of this token are in progress"
            raise Fail("rate_limited", "TOO_MANY_REQUESTS", message, hint="wait for one of them")
        self._in_progress[name] += 1

    @contextlib.contextmanager
    def stream(self, name: str) -> Iterator[StreamPlace]:
        """One more stream of a token: a client with one token leaves room for the others."""
        place = StreamPlace()
        self._streams[name].add(place)
        try:
            yield place
        finally:
            self._streams[name].discard(place)
            if not self._streams[name]:
                del self._streams[name]

    def revoke(self, name: str) -> None:
        """Take a token back, and end what it reads. Raises Fail not_found/NO_SUCH_TOKEN."""
        self.tokens.revoke(name)
        self.end_work(name)

    def end_work(self, name: str) -> None:
        """End what a caller follows and has begun: it is not one any more."""
        for place in tuple(self._streams.get(name, ())):
            place.end()
        self.work.end(name)
        self.gateway.forget(name)

    def require_stream(self, name: str) -> None:
        """Raises Fail rate_limited/TOO_MANY_READERS."""
        if len(self._streams.get(name, ())) >= MOST_IN_PROGRESS:
            message = f"{MOST_IN_PROGRESS} streams of this token are open"
            raise Fail("rate_limited", "TOO_MANY_READERS", message, hint="close one of them")

    def leave(self, name: str) -> None:
        self._in_progress[name] -= 1
        if not self._in_progress[name]:
            del self._in_progress[name]


@functools.cache  # of a few statuses and states
def _status_message(status: StatusEvent) -> bytes:
    return message("status", status)


def last_id(folder: str) -> int:
    """The number of the last event of the log in a folder."""
    known = segments(folder)
    if not known:
        return 0
    fd = os.open(os.path.join(folder, segment_name(known[-1])), os.O_RDONLY | os.O_CLOEXEC)
    try:
        record = last_record(fd)[1]
    finally:
        os.close(fd)
    return known[-1] - 1 if record is None else record.id
