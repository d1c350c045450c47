"""The events of `operable agent …` besides those of a conversation (`wire`)."""

from __future__ import annotations

from operable.tool import Event, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class Agent(Event):
    """One agent that can be driven: a manifest, and where it comes from."""

    name: str
    id: str
    version: str
    protocol: str
    origin: Literal["project", "user", "bundled"]
    trusted: bool  # whether it may be acted on
    path: str
    description: str
    shadowed_by: str | None = None  # the manifest that is meant by this name instead
    problem: str | None = None  # why it cannot be used
    health: Literal["ok", "missing", "broken", "unapproved"] | None = (
        None  # as in the catalog: missing is not installed; null if another manifest is meant by its name
    )


class Mode(Record):
    """One of the modes that exclude each other."""

    id: str
    description: str


class Knob(Record):
    """One option of an agent."""

    id: str
    kind: str
    choices: list[str]
    description: str


class AgentDetails(Event):
    """What a manifest says about an agent, and its state."""

    name: str
    id: str
    version: str
    description: str
    protocol: str
    adapter: str | None = None
    origin: str
    trusted: bool
    standing: str  # why it is, or is not, trusted
    digest: str | None = None  # what an approval is for
    path: str
    program: str  # as the manifest calls it
    installed: str | None = None  # where the program is; null: it is not installed
    install_methods: list[str]
    sandbox: str
    modes: list[Mode]
    options: list[Knob]
    models: list[str]
    continuation: list[str]  # the default first
    capabilities: dict[str, Any]
    setup_steps: list[str]
    login: bool  # whether it has a login of its own
    warnings: list[str]


class ManifestProblem(Event):
    """One complaint about one place of a manifest."""

    path: str
    line: int
    column: int
    level: Literal["error", "warning"]
    rule: str
    message: str
    key: str
    hint: str | None = None


class ManifestVerdict(Event):
    """Whether a manifest can be used."""

    path: str
    kind: str | None
    ok: bool
    errors: int
    warnings: int


class AgentInstalled(Event):
    """The program of an agent is there, in a version that fits."""

    id: str
    name: str
    binary: str
    version: str
    method: str | None = None  # null: it was there already


class AgentMended(Event):
    """Something that prevented a start was fixed."""

    id: str
    name: str
    action: str  # install, setup or login


class SetupStepDone(Event):
    """One setup step is settled."""

    id: str  # AGENT/STEP
    name: str
    step: str
    outcome: str


class AgentLogin(Event):
    """The state of an agent's login."""

    id: str
    name: str
    state: str


class AgentSession(Event):
    """One session on this machine, running or ended."""

    id: str
    agent: str
    status: Literal["starting", "running", "exited", "killed", "error"]
    workspace: str
    started_at: str
    ended_at: str | None = None
    last_output_at: str | None = None
    turns: int
    exit_code: int | None = None
    agent_session_id: str | None = None  # the agent's own id, for --resume
    agent_version: str
    protocol: str
    label: str | None = None
    error: str | None = None
    pid: int | None = None  # of the host


class AgentStopped(Event):
    """A session was asked to end its turn, or itself; `status` is the one that it has now."""

    id: str  # of the session
    request: Literal["interrupt", "kill"]
    status: Literal["starting", "running", "exited", "killed", "error"]


class AgentExport(Event):
    """What was spoken in a session, as Markdown."""

    session: str
    agent: str
    turns: int
    text: str


class AgentPruned(Event):
    """A session that has ended, and its log, are removed."""

    id: str  # of the session
    agent: str
    bytes: int


class AuditRecord(Event):
    """One record of an audit chain."""

    seq: int
    ts: str
    actor: str
    action: str
    subject: dict[str, Any]
    decision: str | None = None
    policy: str | None = None  # who or what decided
    input: Any = None
    output: Any = None
    metadata: Any = None
    hash: str


class AuditProblem(Event):
    """What is wrong with an audit chain, and where."""

    code: str
    line: int
    message: str


class AuditVerdict(Event):
    """Whether an audit chain is as it was written."""

    path: str
    ok: bool
    records: int
    problems: int
    head: str | None = None  # SEQ HASH: keep it elsewhere, it is an anchor
    lost: int = 0  # begun by a process that ended before it recorded the end
    running: int = 0  # begun, and not ended yet
    times_ahead: int = 0  # records of a time that has not come: a clock was wrong
    signed_from: int | None = None  # the record from which on the operator's key vouches for the chain
    unsigned: int = 0  # records before that one


class AgentQuestion(Event):
    """A question of an agent that waits for an answer. Its id is one among those of its session only."""

    session: str
    question: str
    kind: Literal["permission", "input", "budget"]
    tool: str
    tool_kind: str
    text: str
    arguments: Any
    options: list[dict[str, Any]]
    schema: Any = None
    url: str | None = None
    digest: str  # of what is asked: an answer can be bound to it
    expires_at: int  # milliseconds since 1970; then it is denied
    why: str
    diffs: list[dict[str, Any]]  # changes that the agent shows beside the arguments
    locations: list[str]  # places that the agent lists beside both: a yes does not let the host write there
    announced: list[dict[str, Any]]  # what the agent said of the call before and does not ask about


class AgentAnswer(Event):
    """A question was answered."""

    session: str
    question: str
    allowed: bool
    digest: str


class AgentApproval(Event):
    """The user approved, or no longer approves, exactly this code."""

    kind: Literal["manifest", "adapter"]
    name: str
    approved: bool
    digest: str | None = None
    path: str | None = None


class AgentAdapter(Event):
    """A third-party adapter: code that would be imported, once approved."""

    name: str
    installed: bool
    distribution: str | None = None
    version: str | None = None
    digest: str | None = None
    approved: bool  # exactly this digest
    approved_version: str | None = None
    problem: str | None = None


class ManifestWritten(Event):
    """A manifest that was made from something else."""

    name: str
    path: str
    source: str
    notes: list[str]  # what the source does not say and the user should check


class ProbeFinding(Event):
    """What one question to a program brought to light."""

    question: str
    command: str
    answered: bool
    detail: str


class ManifestDraft(Event):
    """A manifest for a program that was asked what it is."""

    name: str
    protocol: str | None
    manifest: str
    profile: str | None = None  # the ACP.md beside it
    notes: list[str]
