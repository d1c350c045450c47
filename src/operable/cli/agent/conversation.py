"""Conversations on the command line: what `operable agent prompt` and `chat` do between meta and summary.

Theory of operation. The session lives on a loop of its own thread; the main thread takes its events, one by one, and is the
one that signals and deadlines reach. Whatever ends it there (Ctrl-C, `--limit`, a reader that left) closes the session on
the way out, which cancels a running turn first. The deadline of `--timeout` is ours: the start and the turn share it, and
a turn that is too long ends in its log as `timeout`, like any other.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Self

from operable.cli.agent.manifests import handle, options_of, somebody
from operable.cli.agent.partner import HostPartner
from operable.cli.agent.session_control import age_given
from operable.cli.agent.wire import Said, row
from operable.cli.terminal.line_output import LineOutput, settle
from operable.cli.terminal.partner import ChatMessage
from operable.cli.terminal.resume import OFFERED, PICK, ResumeOffer, pick
from operable.cli.terminal.session import converse
from operable.cli.terminal.transcript import ChatTranscript
from operable.cli.variables import variables, warn_of_exposed
from operable.gate.policy.pattern import ASK
from operable.gate.policy.policy_file import load_policy, rules
from operable.gate.policy.rules import Policy
from operable.host.arm import Message
from operable.host.session.context import Limits
from operable.host.session.log_files import read_log
from operable.host.session.registry import Registry, SessionHome
from operable.host.session.transcript import quoted, spoken, user_words
from operable.host.start.options import StartOptions
from operable.host.start.placement import NONE, choose_sandbox, is_unconfined, kept_home, sandbox_of
from operable.host.start.project import configured
from operable.host.start.sequence import UNCONFINED
from operable.host.sync import SyncSession, interruptible
from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.project.settings import load_settings
from operable.serve.session.view import Glances
from operable.state.paths import policy_path
from operable.wire import events as e

if TYPE_CHECKING:
    from operable.cli.agent.options import ConversationOptions
    from operable.host.agent_cli import AgentCliHandle
    from operable.host.launch.installer import InstallProgress
    from operable.host.session.session import Session
    from operable.tool import Context

TRANSCRIPT = "transcript"
_READS = ("read:**", "search:**")  # in the workspace, by real path; a rule of the person comes first
_BEGINNING = 100  # events of a session, for the first words of its user
_LAG = 1.0  # seconds behind the limit of a turn until its reader gives up the events that it is behind with
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
        policy = Policy(policy.rules, ASK, unless=_READS)
    return StartOptions(
        options.workspace,
        policy=policy,
        mode=options.mode,
        model=options.model,
        session_id=options.session,
        keep_for=None if options.keep_for is None else age_given(options.keep_for, "--keep-for"),
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
        self._transcript = ChatTranscript(
            LineOutput(context), os.path.realpath(wanted.workspace), thoughts=wanted.thoughts
        )
        self._session: SyncSession | None = None
        self._partner: HostPartner | None = None
        warn_of_exposed(wanted.env or (), context)
        self._env = variables(wanted.env or ())
        self.agent: AgentCliHandle = handle(name, wanted.workspace)
        self._asked, notes = configured(
            self._asked,
            self.agent.id,
            self.agent.manifest.protocol,
            os.environ,
            named=wanted.policy is not None,
        )
        for note in notes:
            context.warn("CONFIG_NOT_APPROVED", note)
        self._warn_of_unlisted_model()
        if self._asked.resume == PICK:
            self._asked = replace(self._asked, resume=self._picked())

    def _picked(self) -> str | None:
        """The earlier session that the person chooses."""
        place, glances = os.path.realpath(self._wanted.workspace), Glances()
        homes = (
            home
            for home in Registry().sessions()
            if home.meta.adapter_slug == self.agent.id
            and home.meta.cwd == place
            and home.meta.agent_session_id is not None
            and home.meta.turns
        )
        offers = [
            ResumeOffer(
                home.meta.id,
                datetime.fromisoformat(home.meta.last_output_at or home.meta.started_at).timestamp(),
                home.meta.turns,
                _first_words(home) or home.meta.label or home.meta.id,
                glances.of(home.folder).last_line,
            )
            for home, _ in zip(homes, range(OFFERED), strict=False)
        ]
        return pick(self._context, offers, self._transcript.say)

    def __enter__(self) -> Self:
        self._session = SyncSession(self._start())
        provider = self._provider()
        if is_unconfined(provider) and self._asked.sandbox is None and not self._context.machine:
            self._transcript.say(f"{UNCONFINED} (--sandbox bubblewrap confines it)", "dim")
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
        partner = self.partner
        for event in partner.turn(ChatMessage(text)):
            if self._context.machine:
                yield row(event)
                continue
            self._transcript.show(event)
            if isinstance(event, e.AgentPrompt) and (ask := partner.question(event)) is not None:
                settle(partner, ask, self._context, self._transcript, event.call_id)
            elif isinstance(event, e.AgentPlan):
                self._transcript.end_plan()

    def hold(self) -> None:
        """Talk with the person at the terminal, until one of both leaves."""
        converse(self.partner, self._context, thoughts=self._wanted.thoughts)

    @property
    def partner(self) -> HostPartner:
        if self._partner is None:
            self._partner = HostPartner(self.session, self.agent, self._play)
        return self._partner

    def _play(self, said: ChatMessage) -> Iterator[e.AnyEvent]:
        """The events of one turn; Fail unless it is completed."""
        turn = self.session.send(self._message(said), timeout=self._left())
        failure: e.Failure | None = None
        left_out = 0
        for event in turn:
            if isinstance(event, e.AgentError):
                failure = event.error
            if self._is_late():
                left_out += turn.skip()
            yield event
        if left_out:
            message = f"the time is up: {left_out} events of the turn were left out; its log has them"
            self._context.warn("EVENTS_LEFT_OUT", message)
        self._context.conclude(
            reason=None if turn.end is None else turn.end.reason,
            agent_session_id=self.session.agent_session_id,
        )
        problem = outcome(self._name, turn.end, failure)
        if problem is not None:
            raise problem

    def _is_late(self) -> bool:
        """Whether the time is up, and this side is behind an agent that writes faster than its events are read."""
        return self._deadline is not None and monotonic() > self._deadline + _LAG

    def _message(self, said: ChatMessage) -> Message:
        """With the strategy `transcript`, what was said before, by both sides, is before the message."""
        start, text = self._asked, self._expanded(said.text)
        if start.continuation == TRANSCRIPT and start.resume is not None:
            text = quoted(spoken(read_log(Registry().session(start.resume).folder)), text)
        return Message(text, said.files, said.images)

    def _expanded(self, text: str) -> str:
        """What a custom command at the beginning of a message stands for."""
        if not text.startswith("/"):
            return text
        return load_settings(self._asked.workspace).expanded(text) or text

    def _start(self) -> Session:
        """The session, if the gate lets it begin: free without a policy file, as every call of a person."""
        if policy_path() is None:
            return self._installed()
        from operable.cli.gate.command_line import admitted_session

        with admitted_session(self.agent.names, self._asked.workspace, self._context):
            return self._installed()

    def _installed(self) -> Session:
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
            self._transcript.say(f"[{reported.stage}] {reported.message}", "dim")

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


def _first_words(home: SessionHome) -> str:
    """What the person said first."""
    beginning = islice(read_log(home.folder), _BEGINNING)
    return next((said for record in beginning if (said := user_words(record.event))), "")


def outcome(name: str, end: e.TurnEnd | None, failure: e.Failure | None) -> Fail | None:
    """What a turn's end means for the exit status; None: it was completed."""
    reason = e.ERROR if end is None else end.reason
    reported = failure.message if failure is not None else ""
    if reason == e.COMPLETED:
        return None
    if reason == e.TIMEOUT:
        return Fail(
            "timeout", "TURN_TIMEOUT", reported or f"the turn of {name} did not end in time", target=name
        )
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
