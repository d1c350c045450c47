"""Conversations on the command line: what `operable agent prompt` and `chat` do between meta and summary.

Theory of operation. The session lives on a loop of its own thread; the main thread takes its events, one by one, and is the
one that signals and deadlines reach. Whatever ends it there (Ctrl-C, `--limit`, a reader that left) closes the session on
the way out, which cancels a running turn first. The deadline of `--timeout` is ours: the start and the turn share it, and
a turn that is too long ends in its log as `timeout`, like any other.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Self

from operable.cli.agent.manifests import handle, options_of, somebody
from operable.cli.agent.terminal import Screen, settle
from operable.cli.agent.wire import Said, row
from operable.cli.variables import variables, warn_of_exposed
from operable.gate.policy.pattern import ASK
from operable.gate.policy.policy_file import load_policy, rules
from operable.gate.policy.rules import Policy
from operable.host.arm import Message
from operable.host.session.context import Limits
from operable.host.session.log_files import read_log
from operable.host.session.registry import Registry, SessionHome
from operable.host.session.transcript import quoted, spoken
from operable.host.start.options import StartOptions
from operable.host.start.placement import NONE, choose_sandbox, is_unconfined, kept_home, sandbox_of
from operable.host.start.sequence import UNCONFINED
from operable.host.sync import SyncSession, interruptible
from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.wire import events as e

if TYPE_CHECKING:
    from operable.cli.agent.options import ConversationOptions
    from operable.host.agent_cli import AgentCliHandle
    from operable.host.launch.installer import InstallProgress
    from operable.host.session.session import Session
    from operable.tool import Context

TRANSCRIPT = "transcript"
# What installing the program can settle.
INSTALLABLE = ("AGENT_NOT_INSTALLED", "VERSION_MISMATCH")


def start_of(options: ConversationOptions, *, asking: bool, continuation: str | None) -> StartOptions:
    """What the words ask for. `resume` may still be our own id of a session; without a rule the call is denied, or asked
    about with `asking`.
    """
    policy = rules(allow=options.allow or (), deny=options.deny or (), ask=options.ask or ())
    if options.policy is not None:
        policy = load_policy(options.policy).with_rules(policy.rules)
    elif asking:
        policy = Policy(policy.rules, ASK)
    return StartOptions(
        options.workspace,
        policy=policy,
        mode=options.mode,
        model=options.model,
        session_id=options.session,
        resume=options.resume,
        continuation=continuation,
        sandbox=options.sandbox,
        egress=tuple(options.egress or ()),
        may_install=options.install,
    )


class Talk:
    """One session that is being started, and talked in. A context manager: leaving it ends the agent."""

    def __init__(
        self,
        context: Context,
        name: str,
        wanted: ConversationOptions,
        *,
        asking: bool = False,
        continuation: str | None = None,
    ) -> None:
        self._context = context
        self._name = name
        self._wanted = wanted
        self._asked = start_of(wanted, asking=asking, continuation=continuation)
        self._deadline = None if context.timeout is None else monotonic() + context.timeout
        self._screen = Screen(context, thoughts=wanted.thoughts)
        self._session: SyncSession | None = None
        warn_of_exposed(wanted.env or (), context)
        self._env = variables(wanted.env or ())
        self.agent: AgentCliHandle = handle(name, wanted.workspace)
        self._warn_of_unlisted_model()

    def __enter__(self) -> Self:
        self._session = SyncSession(self._start())
        provider = self._provider()
        if is_unconfined(provider) and self._asked.sandbox is None and not self._context.machine:
            self._screen.aside(f"[notice] {UNCONFINED} (--sandbox bubblewrap confines it)")
        sandbox = NONE if is_unconfined(provider) else provider
        self._context.conclude(session=self._session.id, sandbox=sandbox)
        return self

    def _warn_of_unlisted_model(self) -> None:
        """Say that a model is passed on unchecked; one that the manifest could know is refused by the start."""
        options = options_of(self.agent.loaded, list(self._wanted.option or ()))
        model = self._asked.model or options.get("model")
        if model is not None and not self.agent.manifest.models.allowed:
            message = f"the manifest of {self.agent.id} lists no models: {model} is passed on unchecked"
            self._context.warn("MODEL_UNCHECKED", message)

    def _provider(self) -> str:
        start = self._asked
        chosen = choose_sandbox(self.agent.loaded, start.sandbox, start.egress, start.workspace)
        return sandbox_of(chosen).provider

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._session.close()

    @property
    def session(self) -> SyncSession:
        if self._session is None:
            raise ValueError("the session has not been started")
        return self._session

    def turn(self, text: str) -> Iterator[Said]:
        """One message, and the result: rows for machines, shown to people. Fail unless it is completed."""
        turn = self.session.send(self._message(text), timeout=self._left())
        failure: e.Failure | None = None
        for event in turn:
            if isinstance(event, e.AgentError):
                failure = event.error
            if self._context.machine:
                yield row(event)
                continue
            self._screen.show(event)
            if isinstance(event, e.AgentPrompt):
                settle(self.session, event.tool_call_id, self._context, self._screen)
        self._screen.end()
        self._context.conclude(
            reason=None if turn.end is None else turn.end.reason,
            agent_session_id=self.session.agent_session_id,
        )
        problem = outcome(self._name, turn.end, failure)
        if problem is not None:
            raise problem

    def _message(self, text: str) -> Message:
        """With the strategy `transcript`, what was said before, by both sides, is before the message."""
        start = self._asked
        if start.continuation != TRANSCRIPT or start.resume is None:
            return Message(text)
        return Message(quoted(spoken(read_log(Registry().session(start.resume).folder)), text))

    def _start(self) -> Session:
        """The session. Nothing is installed unless `--install` says so, or the person at the terminal does."""
        install = self._asked.may_install
        try:
            return interruptible(self._started(install=install))
        except Fail as fail:
            self._address(fail)
            if install or fail.code not in INSTALLABLE or not self._agreed(fail):
                raise
        return interruptible(self._started(install=True))

    def _agreed(self, fail: Fail) -> bool:
        """Whether the person at the terminal wants it installed; False without one."""
        if not self._context.person:
            return False
        ways = ", ".join(each.method for each in self.agent.manifest.install)
        question = f"{fail.message}. Install it with your rights, by {ways}? [y/N]"
        return self._context.ask(question, hint=fail.hint or "", fresh=True).strip().lower() in ("y", "yes")

    def _address(self, fail: Fail) -> None:
        """Let hints that name a command name the agent and the workspace as they were given here."""
        manifest = self.agent.manifest
        folder = self._asked.workspace
        workspace = [] if folder == "." else ["--workspace", folder]
        given = shlex.join([self._name, *workspace])
        names = "|".join(re.escape(name) for name in (manifest.name, manifest.id))
        command = re.compile(rf"(?<=\boperable agent )(\w+) (?:{names})(?![^\s;,])")

        def addressed(hint: str) -> str:
            return command.sub(lambda match: f"{match[1]} {given}", hint)

        fail.hint = fail.hint and addressed(fail.hint)
        for problem in fail.details.get("problems", ()):
            if isinstance(problem, dict) and "hint" in problem:
                problem["hint"] = addressed(problem["hint"])

    def _tell(self, reported: InstallProgress) -> None:
        """Say what is done before the agent is there; what is installed also to programs, before it is fetched."""
        if self._context.machine:
            if reported.stage == "install":
                self._context.warn("AGENT_INSTALLING", f"{self._name}: {reported.message}")
        else:
            self._screen.aside(f"[{reported.stage}] {reported.message}")

    async def _started(self, *, install: bool) -> Session:
        left = self._left()
        try:
            async with asyncio.timeout(left):
                return await self.agent.start(self._choices(install=install))
        except TimeoutError as late:
            doctor = shlex.join(["operable", "agent", "doctor", self._name])
            raise Fail(
                "timeout",
                "START_TIMEOUT",
                f"{self._name} was not ready within {self._context.timeout:g} s",
                target=self._name,
                hint=f"raise --timeout; to see what takes long: {doctor}",
                exit_code=EX_TIMEOUT,
            ) from late

    def _choices(self, *, install: bool) -> StartOptions:
        start = self._asked
        return replace(
            start,
            options=options_of(self.agent.loaded, list(self._wanted.option or ())),
            env=self._env,
            resume=self._resumed(),
            home=None if is_unconfined(self._provider()) else kept_home(self.agent.id, start.workspace),
            limits=Limits(idle=float("inf")),  # its client is here for as long as the command runs
            person=somebody(self._context),
            may_install=install,
            report=self._tell,
        )

    def _resumed(self) -> str | None:
        start = self._asked
        if start.resume is None or start.continuation == TRANSCRIPT:
            return None
        return agents_own_id(start.resume)

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.01, self._deadline - monotonic())


def outcome(name: str, end: e.TurnEnd | None, failure: e.Failure | None) -> Fail | None:
    """What a turn's end means for the exit status; None: it was completed."""
    reason = e.ERROR if end is None else end.reason
    reported = failure.message if failure is not None else ""
    if reason == e.COMPLETED:
        return None
    if reason == e.TIMEOUT:
        return Fail("timeout", "TURN_TIMEOUT", reported or f"{name} did not end", target=name)
    if reason == e.CANCELLED:
        return Fail(
            "cancelled", "TURN_CANCELLED", reported or f"the turn of {name} was cancelled", target=name
        )
    if reason == e.REFUSAL:
        return Fail("validation", "TURN_REFUSED", reported or f"{name} refused to answer this", target=name)
    if reason in (e.MAX_TOKENS, e.MAX_TURNS):
        return Fail(
            "partial",
            "TURN_CUT_SHORT",
            reported or f"the answer of {name} was cut short: {reason}",
            target=name,
        )
    if failure is not None and failure.code == "auth_required":
        return Fail(
            "authn",
            "AUTH_REQUIRED",
            reported,
            target=name,
            hint=shlex.join(["operable", "agent", "login", name]),
            aip_code="auth_required",
        )
    return Fail(
        "io",
        "TURN_FAILED",
        reported or f"the turn of {name} ended as {reason}",
        target=name,
        retryable=failure is not None and failure.retryable,
        agent_code=None if failure is None else failure.code,
    )


def agents_own_id(word: str) -> str:
    """The agent's own id of an earlier session: what we know under this id, or the word itself."""
    home = _known(word)
    if home is None:
        return word
    if home.meta.agent_session_id is None:
        raise Fail(
            "usage",
            "NOT_RESUMABLE",
            f"the agent of session {home.meta.id} never reported its own id",
            target="--resume",
        )
    return home.meta.agent_session_id


def _known(word: str) -> SessionHome | None:
    try:
        return Registry().session(word)
    except Fail as unknown:
        if unknown.code != "NO_SUCH_SESSION":
            raise
        return None
