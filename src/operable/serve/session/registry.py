"""All sessions that this user has, and those of this process to work with: spawn, prompt, interrupt, kill, read.

Theory of operation. A session that this process started is live here: prompts, interrupts and ends go to it directly. Every
other one (of another process, or ended) is read from its files, which `operable.host.session` writes; nothing is kept
twice. Methods belong to one event loop. `on_change` is called with the id of a session when what its view says about it
may have changed; a caller that is slow must only take a note.

Statuses are those of AIP-46 (starting, running, then exited, killed or error). An interrupt is not a transition.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

from operable.gate.approvals import Ask, Decision, answer_ask, pending_asks
from operable.gate.call import CallerId, SessionBounds
from operable.gate.call_gate import CallGate
from operable.gate.policy.rules import Policy
from operable.host.session.link import check_message
from operable.host.session.log import SessionLog
from operable.host.session.log_files import FileCursor, Record
from operable.host.session.registry import ALIVE, Registry, SessionHome
from operable.host.session.transcript import quoted
from operable.kernel.errors import Fail
from operable.serve.session import spawn as starts
from operable.serve.session.continuation import Predecessor, RecoveredSession, to_recover
from operable.serve.session.delegation import (
    MAX_CHILDREN,
    MAX_DEPTH,
    Delegator,
    SessionTree,
    allowed_targets,
    denied,
    is_below,
    require,
    tree_below,
)
from operable.serve.session.prompt_queue import QueuedPrompt, queued_prompts
from operable.serve.session.spawn import SpawnRequest
from operable.serve.session.starter import LiveSession, SessionStarter
from operable.serve.session.view import Glances, SessionView, StatusEvent, matches, state_of, view_of
from operable.serve.session.workspaces import (
    DEFAULT,
    WorkspaceList,
    Workspaces,
    mark_partition,
    prune_bucket,
)
from operable.serve.session.worktree import remove_worktree

# Live at a time. Each is an agent process; a machine that carries more has its limit raised by its owner.
AT_MOST: Final = 500
PAGE: Final = 100
PAGE_LIMIT: Final = 1000
_PRUNE_EVERY: Final = 100  # ends of sessions
_NO_PATIENCE: Final = 0.01  # seconds
# Who starts a session if the caller does not say: a program that uses this registry.
UNNAMED: Final = CallerId("program", "operable")


class PromptReceipt(NamedTuple):
    """What became of a prompt: sent, or waiting under an id."""

    id: str
    queued: str | None = None


class SessionListing(NamedTuple):
    """Sessions, newest first; `next_cursor` goes on behind the last one."""

    sessions: list[SessionView]
    next_cursor: str | None = None


class LogPage(NamedTuple):
    """Records behind a cursor; `last_id` goes on behind them."""

    events: list[Record]
    last_id: int


RecordBatch = list[Record]


class SessionRegistry:
    """The sessions of a daemon. `url` is where its agents reach it; `policy` gives the rules of sessions that name none."""

    def __init__(
        self,
        state: str | None = None,
        *,
        workspaces: Workspaces | None = None,
        policy: Callable[[], Policy] = starts.user_rules,
        find_adapter: starts.FindAdapter = starts.find_adapter,
        url: str = "",
        here: str | None = None,
        at_most: int = AT_MOST,
        max_depth: int = MAX_DEPTH,
        max_children: int = MAX_CHILDREN,
        gate: CallGate | None = None,
    ) -> None:
        self.homes = Registry(state)
        self.workspaces = workspaces or Workspaces()
        self.on_change: Callable[[str], object] = lambda _session_id: None
        self.on_end: Callable[[str], object] = lambda _session_id: None  # its credential counts no longer
        self._gate = CallGate() if gate is None else gate
        self._starter = SessionStarter(
            self.homes,
            self.workspaces,
            policy,
            find_adapter,
            here or os.getcwd(),
            self._gate,
            url,
            on_end=self._credential_ended,
        )
        self._at_most = at_most
        self._max_depth, self._max_children = max_depth, max_children
        self._live: dict[str, LiveSession] = {}
        self._starting: dict[str, int] = {}  # by the session that asks; "": no session asks
        self._glances = Glances()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ended = 0

    def _credential_ended(self, session_id: str) -> None:
        self.on_end(session_id)

    # --- making

    async def spawn(
        self, request: SpawnRequest, *, caller: str | None = None, by: CallerId = UNNAMED
    ) -> SessionView:
        """Start a session. `caller` is the session that was authenticated; None: a person or a program with a token, which
        `by` names for the rules.

        Fail says what is missing or refused, before a process is made. The first prompt is sent before it returns.
        """
        if request.prompt is not None:
            check_message("", request.prompt)
        parent = None if caller is None else self._live_here(caller)
        if parent is not None:
            require(self.delegator(parent), request.agent, starts.known_agents())
        with self._place_for(caller or ""):
            who = by if caller is None else CallerId("session", caller)
            live = self._admit(await self._starter.spawn(request, parent, who))
        if caller is not None and caller not in self._live:
            await live.session.kill()
            raise Fail("conflict", "SESSION_ENDED", "the session that asked for it has ended", target=caller)
        if request.prompt is not None:
            await self.prompt(live.session.id, request.prompt)
        return self._view(live.session.home, warnings=live.ground.warnings)

    async def resume(self, session_id: str, *, how: str | None = None, by: CallerId = UNNAMED) -> SessionView:
        """A new session that goes on where one that has ended left: natively or by transcript, as its manifest says.

        It takes over the prompts that waited. Fail conflict/SESSION_RUNNING, usage/NOT_RESUMABLE.
        """
        home = self._home(session_id)
        if home.meta.status in ALIVE:
            text = "the session runs: prompt it, or fork it"
            raise Fail("conflict", "SESSION_RUNNING", text, target=home.meta.id)
        return await self._continue(Predecessor(home, how), by)

    async def fork(self, session_id: str, *, by: CallerId = UNNAMED) -> SessionView:
        """A new session that begins with what was said in another one, which goes on as it is."""
        return await self._continue(Predecessor(self._home(session_id), is_fork=True), by)

    async def recover(self) -> "tuple[RecoveredSession, ...]":
        """What a daemon does first: mark the sessions of dead processes, resume those that asked for it, keep bounds."""
        homes = await asyncio.to_thread(self.homes.sessions)  # marks them
        await asyncio.to_thread(mark_partition, self.homes, self.workspaces.list())
        found = []
        for before in to_recover(homes):
            try:
                # No person waits for it: what a rule asks about is left to the one who resumes it.
                by = CallerId("session", before.home.meta.id)
                view = await self._continue(before, by, patience=_NO_PATIENCE)
            except Fail as problem:
                found.append(RecoveredSession(before.home.meta.id, problem=problem))
            else:
                found.append(RecoveredSession(before.home.meta.id, view))
        for bucket in {DEFAULT, *(each.slug for each in self.workspaces.list().workspaces)}:
            await asyncio.to_thread(prune_bucket, self.homes, bucket)
        return tuple(found)

    async def _continue(
        self, before: Predecessor, by: CallerId, *, patience: float | None = None
    ) -> SessionView:
        with self._place_for(""):
            live = self._admit(await self._starter.go_on(before, by, patience=patience))
        return self._view(live.session.home)

    def _admit(self, live: LiveSession) -> LiveSession:
        """It is one of ours from now on. Not a moment after its start: nothing of it may be missed."""
        session_id = live.session.id
        self._live[session_id] = live
        live.session.watch(lambda: self._changed(session_id))
        self._changed(session_id)
        return live

    @contextmanager
    def _place_for(self, caller: str) -> Iterator[None]:
        """Sessions that are being started count, so that two at once do not get the last place both."""
        if len(self._live) + sum(self._starting.values()) >= self._at_most:
            text = f"{self._at_most} sessions run already"
            raise Fail("temporary", "TOO_MANY_SESSIONS", text, hint="end one that is not needed")
        self._starting[caller] = self._starting.get(caller, 0) + 1
        try:
            yield
        finally:
            self._starting[caller] -= 1

    def delegator(self, live: LiveSession) -> Delegator:
        """What the delegation gate knows of a session; the same for a spawn and for introspection."""
        meta, binding = live.session.home.meta, live.binding
        children = sum(each.session.home.meta.parent_session_id == meta.id for each in self._live.values())
        return Delegator(
            meta.id,
            meta.agent_slug,
            frozenset(binding.delegates_to if binding else ()),
            meta.depth,
            children + self._starting.get(meta.id, 0),
            _least(self._max_depth, binding.max_depth if binding else None),
            _least(self._max_children, binding.max_children if binding else None),
        )

    def authenticate(self, token: str) -> str | None:
        """The session that a token belongs to, if it lives; None for any other text."""
        return self._starter.tokens.get(starts.token_hash(token))

    def bounds(self, session_id: str) -> SessionBounds:
        """What calls of a session are held to, from its start on. Fail conflict/SESSION_ENDED."""
        return self._starter.bounds_of(session_id)

    # --- looking

    def get(self, session_id: str) -> SessionView:
        """Fail not_found/NO_SUCH_SESSION."""
        return self._view(self._home(session_id))

    def status(self, session_id: str) -> StatusEvent:
        """Status and state; of a session that runs here they are known without a look at its files."""
        live = self._live.get(session_id)
        if live is None:
            view = self.get(session_id)
            return StatusEvent(view.status, view.state)
        session, meta = live.session, live.session.home.meta
        state = state_of(meta, questions=len(session.asks), is_working=session.running)
        return StatusEvent(meta.status, state)

    def list(
        self,
        *,
        workspace: str | None = None,
        status: str | None = None,
        q: str = "",
        limit: int = PAGE,
        cursor: str | None = None,
        caller: str | None = None,
    ) -> SessionListing:
        """Sessions, newest first. `status` is a status or a state; `q` are words that name, agent, folder or line have.
        `caller`: only those that this session reaches.
        """
        words = q.lower().split()
        found: list[SessionView] = []
        limit = max(1, min(limit, PAGE_LIMIT))
        known = self.workspaces.list()
        for home in self.homes.newest(cursor):
            if caller is not None and not self.is_reachable(caller, home.meta.id):
                continue
            view = self._view(home, known)
            if not matches(view, workspace=workspace, status=status, words=words):
                continue
            if len(found) == limit:
                return SessionListing(found, f"{found[-1].started_at} {found[-1].id}")
            found.append(view)
        return SessionListing(found)

    def events(self, session_id: str, after: int = 0, limit: int = PAGE_LIMIT) -> LogPage:
        """A page of the log."""
        cursor = FileCursor(self._home(session_id).folder, max(0, after))
        found: list[Record] = []
        try:
            while len(found) < limit and (batch := cursor.read()):
                found += batch
        finally:
            cursor.close()
        found = found[: max(1, limit)]
        return LogPage(found, found[-1].id if found else after)

    async def reader(self, session_id: str, after: int = 0) -> AsyncIterator[RecordBatch]:
        """The log behind a cursor, as it grows, until the session has ended. A reader that is slow delays no other."""
        live = self._live.get(session_id)
        if live is not None:
            async for batch in live.session.log.reader(after).batches():
                yield batch
            return
        async for record in self.homes.follow(self._home(session_id), after):
            yield [record]

    def _view(
        self, home: SessionHome, known: WorkspaceList | None = None, warnings: tuple[str, ...] = ()
    ) -> SessionView:
        live = self._live.get(home.meta.id)
        meta = home.meta
        return view_of(
            home if live is None else live.session.home,
            self._glances.of(home.folder),
            bucket=(known or self.workspaces.list()).bucket(meta.workspace_slug, meta.cwd),
            session=None if live is None else live.session,
            queued=None if live is None else len(live.queue),
            warnings=warnings,
        )

    def _home(self, session_id: str) -> SessionHome:
        live = self._live.get(session_id)
        return live.session.home if live is not None else self.homes.session(session_id)

    def _live_here(self, session_id: str) -> LiveSession:
        live = self._live.get(session_id)
        if live is not None:
            return live
        meta = self.homes.session(session_id).meta
        if meta.status in ALIVE:
            text = f"the session belongs to another process ({meta.pid})"
            raise Fail("conflict", "SESSION_ELSEWHERE", text, target=session_id)
        raise Fail(
            "conflict",
            "SESSION_ENDED",
            f"the session has ended ({meta.status})",
            target=session_id,
            hint="resume it",
        )

    # --- working with one

    async def prompt(
        self, session_id: str, text: str, *, interrupt: bool = False, queue: bool = False, by: str = ""
    ) -> PromptReceipt:
        """Send a prompt. While a turn runs: Fail conflict/TURN_RUNNING, unless it is to interrupt or to wait."""
        live = self._live_here(session_id)
        if interrupt and queue:
            raise Fail("usage", "PROMPT_AMBIGUOUS", "a prompt interrupts or waits, not both")
        check_message(session_id, text)
        if queue and (live.session.running or live.sending.locked() or live.queue):
            return PromptReceipt(session_id, self._enqueue(live, text, by).id)
        async with live.sending:
            try:
                if interrupt:
                    await live.session.cancel()
                self._send(live, text)
            finally:
                self._soon(session_id)
        return PromptReceipt(session_id)

    async def interrupt(self, session_id: str) -> bool:
        """End the running turn; True if one ran. The session goes on, and so does its queue."""
        return await self._live_here(session_id).session.cancel()

    async def kill(self, session_id: str) -> None:
        """End a session, and those that it started. One that has ended already stays as it is."""
        home = self._home(session_id)
        live = self._live.get(home.meta.id)
        if live is None:
            if home.meta.status in ALIVE:
                self._live_here(home.meta.id)  # raises: it is another process's
            return
        # Whole, also where the session that asks for it is the one that ends, and its request with it.
        task = asyncio.get_running_loop().create_task(self._kill_tree(live))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)

    async def _kill_tree(self, live: LiveSession) -> None:
        await asyncio.gather(live.session.kill(), *map(self._kill_tree, self._children(live)))
        await asyncio.gather(*map(self._kill_tree, self._children(live)))  # that began meanwhile

    def _children(self, live: LiveSession) -> "tuple[LiveSession, ...]":
        return tuple(
            each
            for each in self._live.values()
            if each.session.home.meta.parent_session_id == live.session.id
        )

    async def forget(
        self, session_id: str, *, worktree: Literal["clean", "keep", "discard"] = "clean"
    ) -> None:
        """Remove a session that has ended, with its log and queue. Fail conflict/SESSION_RUNNING.

        Its worktree goes with it if it is clean and no other session works there; Fail conflict/WORKTREE_CHANGED if it is
        not clean, unless `worktree` says to keep or to discard it.
        """
        home = self._home(session_id)
        if home.meta.status in ALIVE:
            self.homes.forget(home)  # raises
        path = home.meta.worktree
        shared = path and any(
            each.meta.worktree == path and each.meta.id != home.meta.id for each in self.homes.sessions()
        )
        if path and not shared and worktree != "keep":
            await asyncio.to_thread(remove_worktree, path, discard=worktree == "discard")
        self.homes.forget(home)
        self.on_change(home.meta.id)

    def live_log(self, session_id: str) -> SessionLog | None:
        """The log of a session that this process runs, for readers that follow it; None: its files have it."""
        live = self._live.get(session_id)
        return None if live is None else live.session.log

    def tree(self, session_id: str) -> SessionTree:
        """The session and those that it started, with what they used."""
        known = self.workspaces.list()
        return tree_below(
            self._home(session_id).meta.id, [self._view(home, known) for home in self.homes.sessions()]
        )

    def is_reachable(self, caller: str, session_id: str) -> bool:
        """A session reaches itself and those that it started, directly or not."""
        parents: dict[str, str | None] = {}
        current: str | None = session_id
        while current is not None and current not in parents:
            try:
                parents[current] = self._home(current).meta.parent_session_id
            except Fail:  # it was forgotten, and with it who is above
                break
            current = parents[current]
        return is_below(session_id, caller, parents)

    def require_reachable(self, caller: str, session_id: str) -> None:
        """Fail authz/DELEGATION_DENIED for a session that the caller did not start."""
        if not self.is_reachable(caller, session_id):
            raise denied("a session reaches only those that it started", session_id)

    def delegations(self, session_id: str) -> dict[str, Fail | None]:
        """What the delegation gate would say to a session about each agent; None: it may start it."""
        return allowed_targets(self.delegator(self._live_here(session_id)), starts.known_agents())

    def approvals(self, session_id: str | None = None) -> "tuple[tuple[SessionView, Ask], ...]":
        """The questions of sessions that wait for an answer, of this and of other processes."""
        views = (
            [self.get(session_id)]
            if session_id is not None
            else self.list(limit=PAGE_LIMIT, status="needs_you").sessions
        )
        return tuple((view, ask) for view in views for ask in self._asks(view.id))

    def answer(self, session_id: str, ask_id: str, decision: Decision) -> Ask:
        """Answer a question. Fails as `ApprovalQueue.answer` does; the first answer counts."""
        home = self._home(session_id)
        live = self._live.get(home.meta.id)
        if live is None:
            return answer_ask(home.folder, ask_id, decision)
        ask = next((each for each in live.session.asks if each.id == ask_id), None)
        live.session.answer(
            ask_id,
            decision.allowed,
            reason=decision.reason,
            option_id=decision.option_id,
            content=decision.content,
            remember=decision.remember,
            digest=decision.digest,
            by=decision.by,
        )
        assert ask is not None  # noqa: S101 - it was answered
        return ask

    def _asks(self, session_id: str) -> "tuple[Ask, ...]":
        live = self._live.get(session_id)
        return tuple(pending_asks(self._home(session_id).folder) if live is None else live.session.asks)

    def change(self, session_id: str, *, label: str | None = None, pinned: bool | None = None) -> SessionView:
        """Rename or pin a session that this process runs, or that has ended."""
        home = self._home(session_id)
        if home.meta.status in ALIVE and home.meta.id not in self._live:
            self._live_here(home.meta.id)
        changes = {"label": label, "pinned": pinned}
        home.save(**{name: value for name, value in changes.items() if value is not None})
        self.on_change(home.meta.id)
        return self._view(home)

    def queued(self, session_id: str) -> "tuple[QueuedPrompt, ...]":
        """The prompts that wait."""
        home = self._home(session_id)
        live = self._live.get(home.meta.id)
        return tuple(queued_prompts(home.folder) if live is None else live.queue.prompts)

    def unqueue(self, session_id: str, prompt_id: str) -> QueuedPrompt:
        """Take a prompt back before it is sent. Fail not_found/NO_SUCH_PROMPT."""
        prompt = self._live_here(session_id).queue.remove(prompt_id)
        self.on_change(session_id)
        return prompt

    async def aclose(self) -> None:
        """End every session of this process."""
        await asyncio.gather(*(live.session.close() for live in list(self._live.values())))
        await asyncio.gather(*self._tasks)
        await asyncio.to_thread(self._gate.flush)

    # --- what happens by itself

    def _send(self, live: LiveSession, text: str) -> None:
        history, live.history = live.history, []
        try:
            live.session.send(quoted(history, text) if history else text).detach()
        except Fail:
            live.history = history
            raise

    def _enqueue(self, live: LiveSession, text: str, by: str) -> QueuedPrompt:
        prompt = live.queue.put(text, by)
        self.on_change(live.session.id)
        self._soon(live.session.id)  # the turn may have ended meanwhile
        return prompt

    def _changed(self, session_id: str) -> None:
        live = self._live.get(session_id)
        if live is not None and live.session.status not in ALIVE:
            del self._live[session_id]
            self._starter.forget(live.token_hash)
            self._prune(live.ground.bucket)
        elif live is not None:
            self._soon(session_id)
        self.on_change(session_id)

    def _prune(self, bucket: str) -> None:
        """Now and then, beside the work: each look reads the whole bucket."""
        self._ended += 1
        if self._ended % _PRUNE_EVERY == 0:
            task = asyncio.get_running_loop().create_task(asyncio.to_thread(prune_bucket, self.homes, bucket))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _soon(self, session_id: str) -> None:
        live = self._live.get(session_id)
        if live is not None and live.queue and not live.session.running:
            asyncio.get_running_loop().call_soon(self._next_prompt, session_id)

    def _next_prompt(self, session_id: str) -> None:
        """The oldest prompt that waits, if the session is free for it."""
        live = self._live.get(session_id)
        prompt = None if live is None else live.queue.first
        if live is None or prompt is None or live.session.running or live.sending.locked():
            return
        try:
            self._send(live, prompt.text)
        except Fail:
            return  # the session is ending: the prompt stays in its queue
        live.queue.sent(prompt)


def _least(limit: int, own: int | None) -> int:
    return limit if own is None else min(limit, own)
