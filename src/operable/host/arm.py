"""The contract between a session and a protocol: a connection without I/O.

An arm turns lines into events and intentions into bytes; it owns no process, no clock and no randomness. The session feeds
it every line that the agent prints (`receive`), and passes it what the user and the policy want (`open`, `send`, `answer`,
…). It then writes what `outgoing` returns. Translation to the seven kinds happens here, once.

Two shapes of agent. A *conversation* (ACP, JSON-stream, app-server…) is one process for many turns. A *per-turn* arm
(`print`, `exec --json`…) is one process per turn: the session asks `turn_command` what to run, feeds its output and status.
Either way one connection lives as long as the session: of a per-turn arm, `open` writes nothing, and each turn is `send`,
`receive` for every line, `eof` with the exit status (which gives the TurnEnd), and the next `send`.

What a connection promises, for any bytes in any chunking: no exception but `PeerError` for a peer that broke the protocol
beyond repair; exactly one TurnEnd per `send`; one ToolResult per ToolCall; nothing about a turn after its TurnEnd except
Notices and LateCalls; ids of questions are never reused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from operable.kernel.data_class import dataclass
from operable.wire.events import AnyEvent, Notice, ToolCall, ToolResult, Usage


class PeerError(Exception):
    """The agent broke its protocol; the session ends with this message. `code` is stable."""

    def __init__(self, code: str, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Opening:
    """What the host wants of a new connection."""

    cwd: str
    session_id: str  # the host's own id: every event carries it
    client_name: str = "operable"
    client_version: str = "0"
    resume: str | None = None  # the agent's own id of an earlier session
    mode: str | None = None  # to be selected by the protocol, where the manifest has no patch for it
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    mcp_servers: Sequence[Mapping[str, Any]] = ()
    fs_read: bool = False  # client methods that the host grants and serves
    fs_write: bool = False
    terminal: bool = False
    elicitation: bool = False
    auth_method: str | None = None
    quirks: Mapping[str, Any] = field(default_factory=dict)  # metadata.operable of the manifest
    history: str = ""  # what was said before, for protocols that take it apart from the first message
    used: Usage | None = None  # what the resumed session has used so far, as the host has recorded it


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the user."""

    text: str
    files: Sequence[str] = ()
    images: Sequence[tuple[str, str]] = ()  # (media type, base64)
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The decision about one agent-prompt. Exactly one of option_id, content is given for anything but deny and cancel."""

    allowed: bool
    option_id: str | None = (
        None  # the choice to send; None: the arm picks its protocol's one-time allow or reject
    )
    reason: str = ""  # sent to the agent on a denial, in the protocol's own way
    content: Any = None  # the answer to a question for input
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """The handshake is done and a session is open; what the agent said about itself, for the drift report.

    Comes again when the agent says more: some report their session id only with the first turn, per-turn agents with every
    turn. What a later one leaves empty is unchanged.
    """

    agent_session_id: str | None
    agent_name: str = ""
    agent_version: str = ""
    protocol_version: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    current_mode: str | None = None
    models: tuple[str, ...] = ()
    current_model: str | None = None
    config_options: Mapping[str, Any] = field(default_factory=dict)
    auth_methods: tuple[str, ...] = ()
    # AIP-45 words that the handshake confirms or denies: resumable, multimodal, … absent = the protocol does not say.
    observed: Mapping[str, bool] = field(default_factory=dict)

    def then(self, later: "Opened") -> "Opened":
        """Both together."""
        names = self.__dataclass_fields__
        return Opened(**{name: getattr(later, name) or getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True)
class NeedsAuth:
    """The agent wants a login first; `methods` as it names them."""

    message: str
    methods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientCall:
    """The agent asks the host to do something that `Opening` granted; answered with `reply`.

    `method` is one of fs/read_text_file, fs/write_text_file, terminal/create, terminal/output, terminal/wait_for_exit,
    terminal/kill, terminal/release.
    """

    call_id: str
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallWithdrawn:
    """The agent no longer waits for this ClientCall or agent-prompt."""

    call_id: str


@dataclass(frozen=True, slots=True)
class CallRevised:
    """The agent announced a call again, in another form; `call` is the whole form. A ToolCall comes only once."""

    call: ToolCall

    @property
    def notice(self) -> Notice:
        """The same for the log and its readers."""
        call = self.call
        data = {"toolCallId": call.tool_call_id, "toolName": call.tool_name, "kind": call.kind}
        more = {"arguments": call.arguments, "title": call.title, "locations": list(call.locations)}
        more |= {"diffs": list(call.diffs)}
        data |= {name: value for name, value in more.items() if value}
        return Notice("tool_revised", f"{call.tool_name} was announced again", call.session_id, data)


@dataclass(frozen=True, slots=True)
class LateCall:
    """A tool call, another form of one, or a result, that came while no turn runs or after the call had ended.

    It is not an event of a turn, and a Notice says it to readers. The gate judges it like any other.
    """

    about: ToolCall | ToolResult | CallRevised


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that is not a message of the protocol; tolerated, counted and reported."""

    line: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class KnownSession:
    """A session that the agent keeps; its id is what `Opening.resume` takes."""

    agent_session_id: str
    cwd: str = ""
    title: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of the agent's own sessions; `cursor` asks for the next one."""

    sessions: tuple[KnownSession, ...]
    cursor: str | None = None


Happening = (
    AnyEvent | Opened | NeedsAuth | ClientCall | CallWithdrawn | CallRevised | LateCall | Noise | SessionPage
)


@dataclass(frozen=True, slots=True)
class TurnCommand:
    """How a per-turn agent is run for one turn: words after `bin` and `bin_args`, and its standard input."""

    arguments: tuple[str, ...]
    stdin: bytes | None = None


class Connection(Protocol):
    """One conversation. All methods return at once; bytes to write are collected in `outgoing`."""

    def open(self, opening: Opening) -> None: ...
    def receive(self, line: bytes) -> list[Happening]: ...
    def send(self, message: Message) -> None: ...
    def cancel(self) -> list[Happening]:
        """Stop the running turn: open questions are answered `cancelled` first; late approvals are never sent."""
        ...

    def answer(self, request_id: str, answer: Answer) -> list[Happening]: ...
    def reply(self, call_id: str, result: Any = None, error: Mapping[str, Any] | None = None) -> None: ...
    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> bool:
        """Ask for another mode, model or option value; False: this protocol cannot."""
        ...

    def close(self) -> None:
        """The protocol's own goodbye, if it has one."""
        ...

    def eof(self, exit_status: int | None) -> list[Happening]:
        """The agent's output is over: what is still open is closed (error + turn-end of a running turn)."""
        ...

    def outgoing(self) -> bytes:
        """What must be written now; empties the buffer."""
        ...


@dataclass(frozen=True, slots=True)
class Arm:
    """A protocol. `connect()` makes a connection; `turn_command` is there for per-turn arms only."""

    name: str
    title: str
    connect: Any  # () -> Connection
    per_turn: bool = False
    # (message, resume: str | None, quirks) -> TurnCommand
    turn_command: Any = None
    # AIP-45 discriminator values that select it: ("acp",), ("mcp",), ("proprietary",)
    protocols: tuple[str, ...] = ("proprietary",)
    # `adapter` values of manifests that mean this arm, besides "operable/<name>"
    adapters: tuple[str, ...] = ()
    # (agent's session id) -> words for the command line, where a conversation is resumed by argument and not by message
    resume_arguments: Any = None
    can_ask: bool = True
    can_resume: bool = True
    # Agents of this protocol may leave instead of ending a turn that is stopped: the end of their input lets them go, and
    # they are started again with `resume_arguments`. `open` of the same connection is then called again.
    restarts: bool = False
