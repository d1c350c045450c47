"""The failures of a session in one place: what callers see when an agent does not start, or cannot be talked to."""

from collections.abc import Sequence

from operable.kernel.errors import Fail


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
