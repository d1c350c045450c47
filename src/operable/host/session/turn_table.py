"""The states of a session and of its turn, what can happen in each, and what is then done: one table.

Without I/O. `TurnMachine.feed` takes what happened, changes the state and returns the actions of the row. The rest of the
session feeds it and carries the actions out (`operable.host.session.turns`). What has no row in a state changes nothing.

Two facts make the states: whether a sender waits for a turn, and whether the agent works. They differ after a cancel that
the agent has not answered: the turn has ended for its sender, the agent still works (`SETTLING`), and the next message
waits (`QUEUED`). What the agent says meanwhile is stale: it is judged by the rules, but not shown. An agent that leaves
after a stop is started again in these states.

    state        sender's turn    agent              state        sender's turn   agent
    STARTING     none             handshake          CANCELLING   runs            was asked to stop
    RESTING      none             rests              SETTLING     none            works on a turn that has ended
    WAITING      needs a budget   rests              QUEUED       waits           works on a turn that has ended
    RUNNING      runs             works              CLOSED       none            is gone, or does not count
    PAUSED       needs a budget   is not read
"""

from enum import Enum, auto


class TurnState(Enum):
    """Where a session is."""

    STARTING = auto()
    RESTING = auto()
    WAITING = auto()
    RUNNING = auto()
    PAUSED = auto()
    CANCELLING = auto()
    SETTLING = auto()
    QUEUED = auto()
    CLOSED = auto()


class TurnInput(Enum):
    """What can happen."""

    OPENED = auto()  # the agent finished the handshake
    AUTH_NEEDED = auto()  # the agent wants a login
    SENT = auto()  # the caller sent a message
    WITHIN_BUDGET = auto()  # the answers to CHECK_BUDGET
    OVER_BUDGET = auto()
    LIMIT_REACHED = auto()  # a budget was used up in the middle of a turn
    GRANTED = auto()  # the answers to ASK_BUDGET
    DENIED = auto()
    UNSENDABLE = auto()  # the message did not reach the agent
    CANCELLED = auto()  # the caller cancelled the turn
    TIMED_OUT = auto()  # the turn took too long, or the agent was silent for too long
    ENDED = auto()  # the agent reported the end of its turn
    ALARMED = auto()  # the agent did what it had not asked for
    BROKEN = auto()  # the agent broke its protocol
    TURN_EXITED = auto()  # the process of one turn is gone
    EXITED = auto()  # the process of the session is gone
    LEFT = auto()  # it is gone after a stop, and the agent goes on in another one
    RESTARTED = auto()  # that one finished the handshake
    GRACE_OVER = auto()  # of the timers
    SETTLE_OVER = auto()
    IDLE_OVER = auto()
    CLOSED = auto()  # the session is over


class TurnAction(Enum):
    """What is done about it; `operable.host.session.turns` has a method for each."""

    READY = auto()  # the caller of the start gets its session
    REFUSE_START = auto()  # the caller of the start gets the failure
    CHECK_BUDGET = auto()  # before a turn: WITHIN_BUDGET or OVER_BUDGET follows
    ASK_BUDGET = auto()  # GRANTED or DENIED follows
    BEGIN = auto()  # send the message; UNSENDABLE may follow
    PAUSE = auto()  # read no more of the agent
    RESUME = auto()  # read on
    STOP_TURN = auto()  # withdraw the questions, ask the agent to stop
    REPORT = auto()  # an error into the log
    SHOW_END = auto()  # the agent's turn-end into the log; the sender goes on
    SHOW_SETTLED = auto()  # a notice that the agent rests again
    SHOW_LATE = auto()  # a notice about a turn-end without a turn
    END = auto()  # close what is open, our own turn-end into the log; the sender goes on
    LET_GO = (
        auto()
    )  # end the input of an agent that did not stop, if it can be started again; LEFT may follow
    RESTART = auto()  # start the agent again with its session; RESTARTED or EXITED follows
    KILL = auto()  # end the agent
    LEAVE = auto()  # begin to close the session
    FINISH = auto()  # close the session, as its process ended
    ABANDON = auto()  # let go a caller that still waits, for a start or the end of a turn


class TurnTimer(Enum):
    """A wait of a state."""

    IDLE = auto()  # no turn for too long: IDLE_OVER
    WATCH = auto()  # is the agent silent: a notice, later TIMED_OUT
    TURN = auto()  # the limit of the turn: TIMED_OUT
    BUDGET = auto()  # the seconds of the budget: LIMIT_REACHED
    GRACE = auto()  # the agent does not answer a cancel: GRACE_OVER
    SETTLE = auto()  # the agent does not come to rest: SETTLE_OVER


S, I, A = TurnState, TurnInput, TurnAction  # noqa: E741 - the columns of the table

# fmt: off
TABLE: dict[tuple[TurnState, TurnInput], tuple[TurnState, tuple[TurnAction, ...]]] = {
    (S.STARTING, I.OPENED): (S.RESTING, (A.READY,)),
    (S.STARTING, I.AUTH_NEEDED): (S.STARTING, (A.REFUSE_START,)),
    (S.STARTING, I.ENDED): (S.STARTING, (A.SHOW_LATE,)),
    (S.STARTING, I.ALARMED): (S.STARTING, (A.KILL, A.REPORT)),
    (S.STARTING, I.BROKEN): (S.STARTING, (A.REFUSE_START, A.KILL)),
    (S.STARTING, I.EXITED): (S.STARTING, (A.REFUSE_START,)),

    (S.RESTING, I.SENT): (S.WAITING, (A.CHECK_BUDGET,)),
    (S.RESTING, I.AUTH_NEEDED): (S.RESTING, (A.REPORT,)),
    (S.RESTING, I.ENDED): (S.RESTING, (A.SHOW_LATE,)),
    (S.RESTING, I.IDLE_OVER): (S.RESTING, (A.LEAVE,)),
    (S.RESTING, I.ALARMED): (S.RESTING, (A.KILL, A.REPORT)),
    (S.RESTING, I.BROKEN): (S.RESTING, (A.KILL, A.REPORT)),
    (S.RESTING, I.EXITED): (S.RESTING, (A.FINISH,)),

    (S.WAITING, I.WITHIN_BUDGET): (S.RUNNING, (A.BEGIN,)),
    (S.WAITING, I.OVER_BUDGET): (S.WAITING, (A.ASK_BUDGET,)),
    (S.WAITING, I.GRANTED): (S.WAITING, (A.CHECK_BUDGET,)),
    (S.WAITING, I.DENIED): (S.RESTING, (A.END,)),
    (S.WAITING, I.CANCELLED): (S.RESTING, (A.END,)),
    (S.WAITING, I.AUTH_NEEDED): (S.WAITING, (A.REPORT,)),
    (S.WAITING, I.ENDED): (S.WAITING, (A.SHOW_LATE,)),
    (S.WAITING, I.ALARMED): (S.RESTING, (A.KILL, A.END)),
    (S.WAITING, I.BROKEN): (S.RESTING, (A.KILL, A.END)),
    (S.WAITING, I.EXITED): (S.RESTING, (A.END, A.FINISH)),

    (S.RUNNING, I.UNSENDABLE): (S.RESTING, (A.END,)),
    (S.RUNNING, I.LIMIT_REACHED): (S.PAUSED, (A.PAUSE, A.ASK_BUDGET)),
    (S.RUNNING, I.CANCELLED): (S.CANCELLING, (A.STOP_TURN,)),
    (S.RUNNING, I.TIMED_OUT): (S.CANCELLING, (A.REPORT, A.STOP_TURN)),
    (S.RUNNING, I.AUTH_NEEDED): (S.RUNNING, (A.REPORT,)),
    (S.RUNNING, I.ENDED): (S.RESTING, (A.SHOW_END,)),
    (S.RUNNING, I.ALARMED): (S.SETTLING, (A.KILL, A.END)),
    (S.RUNNING, I.BROKEN): (S.SETTLING, (A.KILL, A.END)),
    (S.RUNNING, I.TURN_EXITED): (S.RESTING, (A.END,)),
    (S.RUNNING, I.EXITED): (S.RESTING, (A.END, A.FINISH)),

    (S.PAUSED, I.GRANTED): (S.RUNNING, (A.RESUME,)),
    (S.PAUSED, I.DENIED): (S.CANCELLING, (A.RESUME, A.REPORT, A.STOP_TURN)),
    (S.PAUSED, I.CANCELLED): (S.CANCELLING, (A.RESUME, A.STOP_TURN)),
    (S.PAUSED, I.TIMED_OUT): (S.CANCELLING, (A.RESUME, A.REPORT, A.STOP_TURN)),
    (S.PAUSED, I.AUTH_NEEDED): (S.PAUSED, (A.REPORT,)),
    (S.PAUSED, I.ENDED): (S.RESTING, (A.RESUME, A.SHOW_END)),
    (S.PAUSED, I.ALARMED): (S.SETTLING, (A.KILL, A.RESUME, A.END)),
    (S.PAUSED, I.BROKEN): (S.SETTLING, (A.KILL, A.RESUME, A.END)),
    (S.PAUSED, I.TURN_EXITED): (S.RESTING, (A.END,)),
    (S.PAUSED, I.EXITED): (S.RESTING, (A.END, A.FINISH)),

    (S.CANCELLING, I.AUTH_NEEDED): (S.CANCELLING, (A.REPORT,)),
    (S.CANCELLING, I.ENDED): (S.RESTING, (A.SHOW_END,)),
    (S.CANCELLING, I.GRACE_OVER): (S.SETTLING, (A.END, A.LET_GO)),
    (S.CANCELLING, I.LEFT): (S.SETTLING, (A.END, A.RESTART)),
    (S.CANCELLING, I.ALARMED): (S.SETTLING, (A.KILL, A.END)),
    (S.CANCELLING, I.BROKEN): (S.SETTLING, (A.KILL, A.END)),
    (S.CANCELLING, I.TURN_EXITED): (S.RESTING, (A.END,)),
    (S.CANCELLING, I.EXITED): (S.RESTING, (A.END, A.FINISH)),

    (S.SETTLING, I.SENT): (S.QUEUED, ()),
    (S.SETTLING, I.LEFT): (S.SETTLING, (A.RESTART,)),
    (S.SETTLING, I.RESTARTED): (S.RESTING, (A.SHOW_SETTLED,)),
    (S.SETTLING, I.AUTH_NEEDED): (S.SETTLING, (A.REPORT,)),
    (S.SETTLING, I.ENDED): (S.RESTING, (A.SHOW_SETTLED,)),
    (S.SETTLING, I.SETTLE_OVER): (S.SETTLING, (A.KILL, A.REPORT)),
    (S.SETTLING, I.IDLE_OVER): (S.SETTLING, (A.LEAVE,)),
    (S.SETTLING, I.ALARMED): (S.SETTLING, (A.KILL, A.REPORT)),
    (S.SETTLING, I.BROKEN): (S.SETTLING, (A.KILL, A.REPORT)),
    (S.SETTLING, I.TURN_EXITED): (S.RESTING, ()),
    (S.SETTLING, I.EXITED): (S.RESTING, (A.FINISH,)),

    (S.QUEUED, I.CANCELLED): (S.SETTLING, (A.END,)),
    (S.QUEUED, I.LEFT): (S.QUEUED, (A.RESTART,)),
    (S.QUEUED, I.RESTARTED): (S.WAITING, (A.SHOW_SETTLED, A.CHECK_BUDGET)),
    (S.QUEUED, I.AUTH_NEEDED): (S.QUEUED, (A.REPORT,)),
    (S.QUEUED, I.ENDED): (S.WAITING, (A.SHOW_SETTLED, A.CHECK_BUDGET)),
    (S.QUEUED, I.SETTLE_OVER): (S.QUEUED, (A.KILL, A.REPORT)),
    (S.QUEUED, I.ALARMED): (S.SETTLING, (A.KILL, A.END)),
    (S.QUEUED, I.BROKEN): (S.SETTLING, (A.KILL, A.END)),
    (S.QUEUED, I.TURN_EXITED): (S.WAITING, (A.CHECK_BUDGET,)),
    (S.QUEUED, I.EXITED): (S.RESTING, (A.END, A.FINISH)),

    **{(state, I.CLOSED): (S.CLOSED, (A.ABANDON,)) for state in TurnState if state is not S.CLOSED},
}
# fmt: on

# The timers that run in a state: one that the next state also has goes on, the others stop.
TIMERS: dict[TurnState, frozenset[TurnTimer]] = {
    S.STARTING: frozenset(),
    S.RESTING: frozenset({TurnTimer.IDLE}),
    S.WAITING: frozenset(),
    S.RUNNING: frozenset({TurnTimer.WATCH, TurnTimer.TURN, TurnTimer.BUDGET}),
    S.PAUSED: frozenset({TurnTimer.WATCH, TurnTimer.TURN}),
    S.CANCELLING: frozenset({TurnTimer.GRACE}),
    S.SETTLING: frozenset({TurnTimer.SETTLE, TurnTimer.IDLE}),
    S.QUEUED: frozenset({TurnTimer.SETTLE}),
    S.CLOSED: frozenset(),
}

# A sender waits for the end of its turn.
WITH_TURN = frozenset({S.WAITING, S.RUNNING, S.PAUSED, S.CANCELLING, S.QUEUED})
# What the agent says belongs to a turn that has ended.
STALE = frozenset({S.SETTLING, S.QUEUED})
# No answer goes to the agent: real agents ran a command that was allowed after its turn had been cancelled.
UNANSWERED = frozenset({S.CANCELLING, S.SETTLING, S.QUEUED, S.CLOSED})


class TurnMachine:
    """The state of one session."""

    def __init__(self) -> None:
        self.state = TurnState.STARTING
        self.is_stale = False  # asked for every event of an agent, so a plain attribute

    def feed(self, happened: TurnInput) -> tuple[TurnAction, ...]:
        """What is to be done, in this order; the state is already the next one."""
        self.state, actions = TABLE.get((self.state, happened), (self.state, ()))
        self.is_stale = self.state in STALE
        return actions

    @property
    def is_closed(self) -> bool:
        return self.state is TurnState.CLOSED

    @property
    def is_cancelling(self) -> bool:
        return self.state is TurnState.CANCELLING

    @property
    def has_turn(self) -> bool:
        return self.state in WITH_TURN

    @property
    def may_answer(self) -> bool:
        return self.state not in UNANSWERED
