"""Starting sessions: where they work, with whose rights, under which credential; new ones and those that go on.

Everything is decided before a process is made: ground, rules, AGENT.md, adapter, worktree. A token is known to the
registry before the agent gets it, since an agent may call before its handshake ends; only its hash is kept.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import field, replace

import msgspec

from operable.gate.call import CallerId, SessionBounds
from operable.gate.call_gate import CallGate
from operable.gate.policy.rules import Policy
from operable.gate.session_start import SessionStart
from operable.host.agent_cli import AgentCliHandle
from operable.host.session.registry import Registry, SessionOrigin
from operable.host.session.session import Session
from operable.host.session.transcript import Said
from operable.host.start.assembly import new_session_id
from operable.host.start.options import StartOptions
from operable.host.start.project import configured
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent import AgentBinding
from operable.serve.session import spawn as starts
from operable.serve.session.continuation import NATIVE, Predecessor
from operable.serve.session.ground import Ground, nested_ground, root_ground
from operable.serve.session.prompt_queue import PromptQueue
from operable.serve.session.spawn import SpawnRequest
from operable.serve.session.workspaces import Workspaces
from operable.serve.session.worktree import Worktree, make_worktree, undo_worktree


@dataclass(slots=True)
class LiveSession:
    """A session of this process, with what the gate and the queue need. `request` is what a resume starts it with."""

    session: Session
    request: SpawnRequest
    queue: PromptQueue
    options: StartOptions
    ground: Ground
    token_hash: str
    binding: AgentBinding | None = None
    history: list[Said] = field(default_factory=list)  # quoted before the first prompt
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class SessionStarter:
    """What starts share. `tokens` has the hash of each credential and the session that it belongs to; `_bounds`, by
    session, what calls with it are held to.
    """

    homes: Registry
    workspaces: Workspaces
    policy: Callable[[], Policy]
    find_adapter: starts.FindAdapter
    here: str
    gate: CallGate
    url: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    _bounds: dict[str, SessionBounds] = field(default_factory=dict)
    on_end: Callable[[str], object] = lambda _session_id: None

    @property
    def _worktrees(self) -> str:
        return os.path.join(self.homes.root, "worktrees")

    async def spawn(self, request: SpawnRequest, parent: LiveSession | None, caller: CallerId) -> LiveSession:
        """Start what is asked for; `parent` is the session that asks, which the delegation gate has let pass."""
        known = self.workspaces.list()
        if parent is None:
            ground = root_ground(known, ground=request.ground, cwd=request.cwd, here=self.here)
            chosen = starts.root_options(request, ground.path, self.policy())
        else:
            ground = nested_ground(known, ground=request.ground, cwd=request.cwd, parent=parent.ground)
            chosen = starts.nested_options(request, ground.path, parent.options)
            # A resume has no parent to ask: it gets the confinement and the rules that the parent has now.
            own = parent.request
            request = msgspec.structs.replace(request, sandbox=own.sandbox, policy=own.policy)
        origin = SessionOrigin(
            bucket=ground.bucket,
            ground=ground.ref,
            agent_slug=request.agent,
            parent_session_id=None if parent is None else parent.session.id,
            depth=0 if parent is None else parent.session.home.meta.depth + 1,
        )
        binding = None if request.agent is None else starts.load_agent(request.agent)
        adapter = starts.adapter_of(request, binding, nested=parent is not None)
        session_id = new_session_id()
        handle = self.find_adapter(adapter, ground.path)
        if parent is None:  # a nested session has what its parent has
            chosen, notes = configured(
                chosen, handle.id, handle.manifest.protocol, os.environ, named=bool(request.policy)
            )
            ground = ground._replace(warnings=(*ground.warnings, *notes))
        starts.check_choices(handle, starts.bound_options(chosen, binding), request.recover)
        bounds = None if parent is None else self.bounds_of(parent.session.id)
        async with self._start_of(caller, handle, ground, request, bounds).admitted(self.gate):
            options = replace(starts.bound_options(chosen, binding), session_id=session_id, origin=origin)
            return await self._placed(handle, options, ground, binding, request)

    @staticmethod
    def _start_of(
        caller: CallerId,
        handle: AgentCliHandle,
        ground: Ground,
        request: SpawnRequest,
        bounds: SessionBounds | None = None,
    ) -> SessionStart:
        """For the rules. What is said to the agent is judged by what the agent then does."""
        names = (*handle.names, *((request.agent,) if request.agent else ()))
        asked = {
            name: value
            for name in ("mode", "model", "sandbox")
            if (value := getattr(request, name)) is not None
        }
        return SessionStart(caller, names, ground.path, asked, bounds)

    async def _placed(
        self,
        handle: AgentCliHandle,
        options: StartOptions,
        ground: Ground,
        binding: AgentBinding | None,
        request: SpawnRequest,
    ) -> LiveSession:
        """Start it, in a worktree of its own where that is asked for."""
        tree, folder, origin = None, ground.path, options.origin
        session_id = options.session_id or new_session_id()
        if request.worktree:
            tree = await asyncio.to_thread(
                make_worktree, ground.path, self._worktrees, session_id, request.worktree
            )
            ground = ground._replace(path=tree.cwd, warnings=(*ground.warnings, *_unfiltered(tree)))
            origin = msgspec.structs.replace(origin, worktree=tree.path)
            options = replace(options, workspace=tree.cwd, origin=origin)
        try:
            live = await self._start(handle, options, ground, binding, request)
        except BaseException:
            if tree is not None:
                await asyncio.to_thread(undo_worktree, tree, folder)
            raise
        await self._keep(live)
        return live

    async def go_on(
        self, before: Predecessor, caller: CallerId, *, patience: float | None = None
    ) -> LiveSession:
        """Start a session that goes on from another one. `patience`: how long a question about that waits."""
        meta, request = before.home.meta, before.request()
        known = self.workspaces.list()
        ground = Ground(meta.cwd, meta.ground, known.bucket(meta.workspace_slug, meta.cwd))
        binding = None if request.agent is None else starts.load_agent(request.agent)
        handle = self.find_adapter(starts.adapter_of(request, binding, nested=False), ground.path)
        strategy = before.strategy(handle.manifest)
        chosen = starts.root_options(request, ground.path, self.policy())
        chosen, _ = configured(
            chosen, handle.id, handle.manifest.protocol, os.environ, named=bool(request.policy)
        )
        options = replace(
            starts.bound_options(chosen, binding),
            session_id=new_session_id(),
            continuation=strategy,
            resume=meta.agent_session_id if strategy == NATIVE else None,
            label=meta.label,
            origin=SessionOrigin(
                bucket=ground.bucket,
                ground=ground.ref,
                agent_slug=meta.agent_slug,
                parent_session_id=meta.parent_session_id,
                depth=meta.depth,
                worktree=meta.worktree,
                continues=meta.id,
            ),
        )
        start = self._start_of(caller, handle, ground, request)
        async with start.admitted(self.gate, timeout=patience):
            live = await self._start(handle, options, ground, binding, request)
        await self._keep(live)
        if strategy != NATIVE:
            live.history = await asyncio.to_thread(before.history)
        if before.waiting:
            for each in before.waiting:
                live.queue.put(each.text, each.by)
            PromptQueue(before.home.folder).clear()
        return live

    async def _keep(self, live: LiveSession) -> None:
        """Keep what was asked for. A session that could not be resumed as it was started is ended again."""
        try:
            starts.keep_request(live.session.home.folder, live.request)
        except Fail:
            self.forget(live.token_hash)
            await live.session.kill()
            raise

    async def _start(
        self,
        handle: AgentCliHandle,
        options: StartOptions,
        ground: Ground,
        binding: AgentBinding | None,
        request: SpawnRequest,
    ) -> LiveSession:
        session_id = options.session_id or new_session_id()
        token, hashed = starts.new_token()
        env = {starts.TOKEN_VARIABLE: token, **({starts.URL_VARIABLE: self.url} if self.url else {})}
        options = starts.with_patience(handle, starts.with_home(handle, options))
        # The ground was judged by its real path; an agent may put a link there meanwhile.
        options = replace(options, session_id=session_id, env=env, is_judged=True)
        # An agent may call before its handshake ends.
        rules = options.policy if isinstance(options.policy, Policy) else Policy()
        self._bounds[session_id] = SessionBounds(rules, starts.is_confined(handle, options))
        self.tokens[hashed] = session_id
        try:
            session = await handle.start(options)
        except BaseException:
            self.forget(hashed)
            raise
        return LiveSession(
            session, request, PromptQueue(session.home.folder), options, ground, hashed, binding
        )

    def forget(self, token_hash: str) -> None:
        """The session has ended: nothing is called with its credential any more, and what it called ends."""
        session_id = self.tokens.pop(token_hash, "")
        self._bounds.pop(session_id, None)
        self.on_end(session_id)

    def bounds_of(self, session_id: str) -> SessionBounds:
        """Raises Fail conflict/SESSION_ENDED if no session of this process has this id."""
        found = self._bounds.get(session_id)
        if found is None:
            raise Fail("conflict", "SESSION_ENDED", "the session has ended", target=session_id)
        return found


def _unfiltered(tree: Worktree) -> tuple[str, ...]:
    if not tree.filters:
        return ()
    return (
        f"the filters of git are not run ({', '.join(tree.filters)}): their files are as they are stored",
    )
