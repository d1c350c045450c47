"""The states of runs and attempts, in one table each. Nothing else in the engine changes a state.

    blocked     an earlier run of a serial job has not ended
    asking      waits for an approval; holds no slot
    ready       waits for a slot, or for its time (a delay, or the pause before a retry)
    running     an attempt was recorded as started; from here on there may be effects
    cancelling  a user cancelled it while an attempt runs

and eight ends. `lost` means: an attempt was started, its worker died, and the guarantee at-most-once forbids another one. A
run that has ended never changes again: retrying by hand makes a new run.
"""

from collections.abc import Mapping
from enum import StrEnum

from operable.kernel.errors import Fail


class EngineRunState(StrEnum):
    BLOCKED = "blocked"
    ASKING = "asking"
    READY = "ready"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"  # overlap: another run of the job was active
    REFUSED = "refused"  # a budget or a gate said no before the first attempt

    @property
    def is_final(self) -> bool:
        return self in FINAL


class RunEvent(StrEnum):
    TURN_CAME = "turn_came"  # of a blocked run that needs no approval
    TURN_CAME_TO_ASK = "turn_came_to_ask"
    APPROVED = "approved"
    REJECTED = "rejected"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    REPEAT = "repeat"  # the attempt has ended, and another one follows
    ASK_AGAIN = "ask_again"  # the same, and it needs an approval of its own
    LOST = "lost"
    CANCEL = "cancel"  # a user asks for it
    STOPPED = "stopped"  # the attempt of a cancelled run has ended
    REFUSED = "refused"


class AttemptState(StrEnum):
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LOST = "lost"


_S, _E = EngineRunState, RunEvent
INITIAL = frozenset({_S.BLOCKED, _S.ASKING, _S.READY, _S.SKIPPED, _S.REFUSED})
RUN_TABLE: Mapping[tuple[EngineRunState, RunEvent], EngineRunState] = {
    (_S.BLOCKED, _E.TURN_CAME): _S.READY,
    (_S.BLOCKED, _E.TURN_CAME_TO_ASK): _S.ASKING,
    (_S.BLOCKED, _E.CANCEL): _S.CANCELLED,
    (_S.ASKING, _E.APPROVED): _S.READY,
    (_S.ASKING, _E.REJECTED): _S.REJECTED,
    (_S.ASKING, _E.CANCEL): _S.CANCELLED,
    (_S.READY, _E.STARTED): _S.RUNNING,
    (_S.READY, _E.REFUSED): _S.REFUSED,
    (_S.READY, _E.CANCEL): _S.CANCELLED,
    (_S.RUNNING, _E.SUCCEEDED): _S.SUCCEEDED,
    (_S.RUNNING, _E.FAILED): _S.FAILED,
    (_S.RUNNING, _E.TIMED_OUT): _S.TIMED_OUT,
    (_S.RUNNING, _E.REPEAT): _S.READY,
    (_S.RUNNING, _E.ASK_AGAIN): _S.ASKING,
    (_S.RUNNING, _E.LOST): _S.LOST,
    (_S.RUNNING, _E.CANCEL): _S.CANCELLING,
    # An attempt that succeeded before the cancel reached it has succeeded: its effects are complete.
    (_S.CANCELLING, _E.SUCCEEDED): _S.SUCCEEDED,
    (_S.CANCELLING, _E.STOPPED): _S.CANCELLED,
}
ATTEMPT_TABLE: Mapping[AttemptState, frozenset[AttemptState]] = {
    AttemptState.STARTED: frozenset(set(AttemptState) - {AttemptState.STARTED}),
    **{state: frozenset() for state in AttemptState if state is not AttemptState.STARTED},
}
FINAL = frozenset(state for state in EngineRunState if not any(state is begin for begin, _ in RUN_TABLE))
ACTIVE = frozenset(EngineRunState) - FINAL
# How triggers see an end. A run that a user cancelled, or that never began, triggers nothing.
OUTCOMES: Mapping[EngineRunState, str] = {
    _S.SUCCEEDED: "success",
    _S.FAILED: "failure",
    _S.TIMED_OUT: "failure",
    _S.LOST: "failure",
    _S.REJECTED: "failure",
    _S.REFUSED: "failure",
}
# How a run ends with its last attempt. A run may go on after an attempt that did not succeed.
ENDS: Mapping[AttemptState, EngineRunState] = {
    AttemptState.SUCCEEDED: _S.SUCCEEDED,
    AttemptState.FAILED: _S.FAILED,
    AttemptState.TIMED_OUT: _S.TIMED_OUT,
    AttemptState.CANCELLED: _S.CANCELLED,
    AttemptState.LOST: _S.LOST,
}


def next_state(state: EngineRunState, event: RunEvent) -> EngineRunState:
    """Raises Fail if this cannot happen to a run in this state."""
    following = RUN_TABLE.get((state, event))
    if following is None:
        raise Fail(
            "conflict", "RUN_STATE_CONFLICT", f"a run that is {state} cannot be {_WORDS.get(event, event)}"
        )
    return following


_WORDS = {_E.CANCEL: "cancelled", _E.APPROVED: "approved", _E.REJECTED: "rejected"}


def next_attempt_state(state: AttemptState, end: AttemptState) -> AttemptState:
    """Raises Fail if the attempt has ended already."""
    if end not in ATTEMPT_TABLE[state]:
        raise Fail("conflict", "ATTEMPT_ENDED", f"an attempt that has {state} cannot become {end}")
    return end
