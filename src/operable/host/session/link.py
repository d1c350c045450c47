"""The wire between a session and its agent: an arm's connection, and the process (or processes) it talks to.

A conversation has one process from `start` to the end, or another one after an agent left instead of ending a cancelled
turn (`restart`); a per-turn arm has one for each turn, which `send` starts. Either way the session sees the same:
`on_happenings` with everything that one chunk of output gave, and `on_ended` when a process is gone. After each call into
the connection its outgoing bytes are written. Noise on stdout is counted here, and reported a bounded number of times: an
agent that prints warnings there must neither be refused nor fill the log.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from operable.host.arm import (
    Answer,
    Arm,
    Connection,
    Happening,
    Message,
    Noise,
    Opening,
    PeerError,
    TurnCommand,
)
from operable.host.session.transport import EOF_GRACE, LINE_LIMIT, TERM_GRACE, Process, Transport
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, Redactor
from operable.proc.command import PreparedCommand
from operable.wire.events import AgentError, Notice

# The first few say what kind of noise it is; then only its amount, when it has grown tenfold.
NOISE_REPORTED = 5
_NOISE_QUOTED = 200
_SAID = 1000
_NOISE_READ = 16 * 1024  # of a line that may have 32 MiB: more than a key that begins in what is quoted

Spawn = Callable[[tuple[str, ...]], PreparedCommand]
"""The command of the agent with further arguments; made once confinement and environment are decided."""


Connect = Callable[[Callable[[list[bytes]], object], Callable[[Any], object]], Transport]
"""(on_lines, on_end) -> a connection to an agent that runs elsewhere."""


def no_process(words: tuple[str, ...]) -> PreparedCommand:
    raise ValueError(f"there is nothing to start with {words}")


class AgentLink:
    """One agent, from its arm's point of view on one side and its process on the other."""

    def __init__(
        self,
        arm: Arm,
        spawn: Spawn,
        opening: Opening,
        *,
        on_happenings: Callable[[list[Happening]], object],
        on_ended: Callable[[Transport], object],
        on_broken: Callable[[PeerError], object],
        connect: Connect | None = None,
        secrets: Known | Iterable[str] = (),
        line_limit: int = LINE_LIMIT,
        eof_grace: float = EOF_GRACE,
        term_grace: float = TERM_GRACE,
    ) -> None:
        self.arm = arm
        self.opening = opening
        self.resume = opening.resume  # a per-turn agent continues with the id that its last turn reported
        self.noise = 0
        self.process: Transport | None = None
        self._connection: Connection = arm.connect()
        self._receive = self._connection.receive
        self._spawn = spawn
        self._on_happenings = on_happenings
        self._on_ended = on_ended
        self._on_broken = on_broken
        self._connect = connect
        self._redactor = Redactor(secrets)
        self._line_limit = line_limit
        self._eof_grace = eof_grace
        self._term_grace = term_grace
        self._is_opened = False  # the running process has shaken hands
        self._is_restarting = False

    def opened(self, agent_session_id: str | None) -> bool:
        """The handshake is done, and this is the id to go on with; True: of an agent that was started again."""
        is_again, self._is_restarting = self._is_restarting, False
        self.resume, self._is_opened = agent_session_id, True
        return is_again

    def start(self) -> None:
        """Start the process of a conversation and begin the handshake."""
        if not self.arm.per_turn:
            words: tuple[str, ...] = ()
            if self.opening.resume and self.arm.resume_arguments is not None:
                words = tuple(self.arm.resume_arguments(self.opening.resume))
            self.process = self._run(words)
        self._connection.open(self.opening)
        self.flush()

    def send(self, message: Message) -> None:
        """Begin a turn; Fail when its process cannot be started."""
        if self.arm.per_turn:
            command: TurnCommand = self.arm.turn_command(message, self.resume, self.opening.quirks)
            self.process = self._run(command.arguments, command.stdin, keep_stdin=False)
        self._connection.send(message)
        self.flush()

    def cancel(self) -> None:
        """Stop the running turn, in the protocol's way; a process of one turn is interrupted."""
        happenings = self._connection.cancel()
        self.flush()
        if self.arm.per_turn and self.process is not None:
            self.process.interrupt("cancelled")
        elif self.opening.quirks.get("cancel") == "leave":
            self.let_go()
        self._on_happenings(happenings)

    def let_go(self) -> None:
        """End the input of an agent that was asked to stop and did not; `may_restart` follows when it has left."""
        if self._can_restart() and self.process is not None:
            self.process.end_input()

    def may_restart(self, status: int | None) -> bool:
        """Whether an agent that left after a stop goes on with its session in another process."""
        return status == 0 and self._can_restart()

    def _can_restart(self) -> bool:
        return self.arm.restarts and self._connect is None and self._is_opened and bool(self.resume)

    def restart(self) -> None:
        """Start the agent again with its session; Fail when that cannot be done."""
        self._is_opened, self._is_restarting = False, True
        self.opening = replace(self.opening, resume=self.resume, history="")
        self.start()

    def answer(self, request_id: str, answer: Answer) -> None:
        happenings = self._connection.answer(request_id, answer)
        self.flush()
        self._on_happenings(happenings)

    def reply(self, call_id: str, result: Any = None, error: dict[str, Any] | None = None) -> None:
        self._connection.reply(call_id, result, error)
        self.flush()

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        done = self._connection.select(mode=mode, model=model, option=option)
        self.flush()
        if done and self.arm.restarts:
            before = self.opening
            self.opening = replace(
                before,
                mode=mode or before.mode,
                model=model or before.model,
                options={**before.options, **({} if option is None else dict([option]))},
            )
        return done

    def eof(self, exit_status: int | None) -> list[Happening]:
        return self._connection.eof(exit_status)

    def flush(self) -> None:
        data = self._connection.outgoing()
        if data and self.process is not None:
            self.process.write(data)

    def pause(self) -> None:
        if self.process is not None:
            self.process.pause()

    def resume_reading(self) -> None:
        if self.process is not None:
            self.process.resume()

    def kill(self, cause: str) -> None:
        if self.process is not None:
            self.process.kill(cause)

    async def leave(self, *, politely: bool = True) -> None:
        """The protocol's goodbye, the end of the input, then the signals; returns when nothing is left. Without
        `politely` the first signal comes at once.
        """
        self._connection.close()
        self.flush()
        if self.process is not None:
            await self.process.leave(eof_grace=self._eof_grace if politely else 0.0)

    def stderr(self) -> str:
        return "" if self.process is None else self.process.stderr_text(self._redactor)

    def with_stderr(self, happening: Happening, status: int | None) -> Happening:
        """An error of an agent that is gone, with how it ended and what it said last."""
        if not isinstance(happening, AgentError):
            return happening
        stderr, error = self.stderr(), happening.error
        known = error.data if isinstance(error.data, dict) else {}
        data = {**known, "exitStatus": status, **({"stderr": stderr} if stderr else {})}
        return msgspec.structs.replace(happening, error=msgspec.structs.replace(error, data=data))

    def masked(self, text: str) -> str:
        """What the agent said, for an error: without the session's secrets, and not endless."""
        return " ".join(self._redactor.text(text).split())[:_SAID]

    def _run(
        self, words: tuple[str, ...], stdin: bytes | None = None, *, keep_stdin: bool = True
    ) -> Transport:
        if self._connect is not None:
            return self._connect(self._lines, self._on_ended)
        return Process(
            self._spawn(words),
            on_lines=self._lines,
            on_end=self._on_ended,
            stdin=stdin,
            keep_stdin=keep_stdin,
            line_limit=self._line_limit,
            term_grace=self._term_grace,
        )

    def _lines(self, lines: list[bytes]) -> None:
        happenings: list[Happening] = []
        broken = None
        try:
            for line in lines:
                happenings += self._receive(line)
        except PeerError as error:
            broken = error
        except Exception as error:  # noqa: BLE001 - an adapter of another author: the session ends, the host does not
            broken = PeerError("adapter_failed", f"the adapter failed: {type(error).__name__}: {error}")
        self._on_happenings(happenings)
        if broken is not None:
            self._on_broken(broken)

    def noise_notice(self, noise: Noise) -> Notice | None:
        """What to report about one more line of noise: something for the first few and at each power of ten."""
        self.noise += 1
        number = str(self.noise)
        if self.noise > NOISE_REPORTED and number.rstrip("0") != "1":
            return None
        # Masked before it is cut: half of a secret would not be known as one.
        quoted = self._redactor.text(noise.line[:_NOISE_READ].decode("utf-8", "replace"))[:_NOISE_QUOTED]
        reason = self._redactor.text(noise.reason)[:_NOISE_QUOTED]
        text = f"the agent printed a line that is not a message ({reason})"
        data = {"line": quoted, "count": self.noise}
        return Notice("stdout_noise", text, self.opening.session_id, data)


# The failures of a session in one place: what callers see when an agent does not start, or cannot be talked to.


def mute(agent: str, limit: float, stderr: str) -> Fail:
    return Fail(
        "timeout",
        "HANDSHAKE_TIMEOUT",
        f"the agent did not answer within {limit:g} s",
        target=agent,
        hint="is it waiting for a login or an update? run it by hand to see",
        stderr=stderr,
    )


def exited(agent: str, status: int | None, stderr: str, said: str = "") -> Fail:
    """`said`: the reason that it gave in its own protocol, where it did."""
    last = said or (stderr.splitlines()[-1] if stderr else "it said nothing on stderr")
    return Fail(
        "io",
        "AGENT_EXITED",
        f"the agent ended{how(status)} before it was ready: {last}",
        target=agent,
        hint=f"to see what it lacks: operable agent doctor {agent}",
        stderr=stderr,
    )


def needs_auth(agent: str, message: str, methods: Sequence[str]) -> Fail:
    return Fail(
        "authn",
        "AUTH_REQUIRED",
        message or "the agent needs a login first",
        target=agent,
        hint=f"operable agent login {agent}; then start again",
        aip_code="auth_required",
        methods=list(methods),
    )


def session_ended(session_id: str, status: str) -> Fail:
    return Fail(
        "conflict",
        "SESSION_ENDED",
        f"this session has ended ({status})",
        target=session_id,
        hint=f"start another one; --resume {session_id} continues this one if the agent supports it",
    )


def turn_running(session_id: str) -> Fail:
    return Fail(
        "conflict",
        "TURN_RUNNING",
        "a turn is running; agents take one message at a time",
        target=session_id,
        hint="wait for its turn-end, or cancel it",
    )


def how(status: int | None) -> str:
    """How a process ended, as the end of a sentence."""
    if status is None:
        return ""
    return f" with status {status}" if status >= 0 else f" by signal {-status}"


def check_message(session: str, text: str) -> None:
    """Fail when this cannot be written anywhere: JSON can spell a lone surrogate, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Fail("usage", "MESSAGE_INVALID", "the message is not valid Unicode", target=session) from None
