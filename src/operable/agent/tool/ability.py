"""The contract between the agent's loop and a tool: arguments in, one outcome out.

`run` blocks in a worker thread and may take as long as it says; it must end soon after its cancellation. It raises
nothing for what can go wrong in the ordinary way: that is an `AbilityOutcome` with `ok=False`, which the model reads. The
loop decides about approval, truncates to `cap`, and turns outcomes into events; a tool knows nothing of the protocol.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from operable.agent.loop.cancellation import Cancellation
from operable.agent.session.history import ImageBlock
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Known
from operable.project.prompts import Skill
from operable.state.real_file import Seen

Category = Literal["info", "edit", "exec", "mcp"]


@dataclass(frozen=True, slots=True)
class AbilityOutcome:
    """What a tool has to say."""

    output: str
    ok: bool = True
    output_type: Literal["text", "diff", "image"] = "text"
    metadata: Mapping[str, Any] | None = None
    image: ImageBlock | None = None


# The words of ACP and of `operable.wire.events`.
_KINDS = {
    "Read": "read",
    "ViewImage": "read",
    "Write": "edit",
    "Edit": "edit",
    "Bash": "execute",
    "ExecCommand": "execute",
    "Glob": "search",
    "Grep": "search",
    "Spawn": "think",
    "Skill": "think",
    "UpdatePlan": "think",
}
_OF_CATEGORY = {"info": "read", "edit": "edit", "exec": "execute"}
NO_SANDBOX = "none"  # the word of a user who wants none


@dataclass(slots=True)
class Scene:
    """What a tool may use. `workspace` is a real path; `granted` are paths outside it that were approved."""

    workspace: str
    cancellation: Cancellation
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    granted: frozenset[str] = frozenset()  # for this call alone
    # The real paths that this call was decided about; None: no decision is known. A link may lead elsewhere by now.
    decided: frozenset[str] | None = None
    read_at: dict[str, Seen] = field(default_factory=dict)  # path -> what the model last saw there
    # What Read has shown and the model can still see: (path, offset, limit) -> the file then.
    shown: dict[tuple[str, int, int], Seen] = field(default_factory=dict)
    known: Known = field(default_factory=Known, repr=False)  # secrets that no result may show
    # Where commands run: a mechanism of `operable.proc.sandboxes`, or NO_SANDBOX. None: see `commands`.
    sandbox: str | None = None
    approved: bool = False  # the user approved this call, and not only calls like it
    # Makes a call with the hooks before and after it: (ability, arguments, scene, run) -> its outcome.
    around: Callable[
        ["Ability", Mapping[str, Any], "Scene", Callable[[], "AbilityOutcome"]], "AbilityOutcome"
    ] = lambda _ability, _arguments, _scene, run: run()
    skills: Mapping[str, Skill] = field(default_factory=dict)  # that the model may read
    call_id: str = ""
    # Gets (call_id, text) of what a program prints while it runs, for a user who watches; secrets are masked.
    heard: Callable[[str, str], object] | None = None
    # Runs sub-agents: [(name, prompt)] -> their answers, in order.
    spawn: Callable[[Sequence[tuple[str, str]]], list["AbilityOutcome"]] | None = None


@dataclass(frozen=True, slots=True)
class Ability:
    """One tool."""

    name: str
    category: Category
    description: str
    schema: Mapping[str, Any]
    run: Callable[[Mapping[str, Any], Scene], AbilityOutcome]
    describe: Callable[[Mapping[str, Any]], str]  # one line for the person who approves
    cap: int  # characters of output that the model gets; more is cut in the middle
    concurrent: bool = False  # may run beside others of the same round
    # Further names of the tool and of its arguments, which models know; they are replaced when a call comes in.
    aliases: tuple[str, ...] = ()
    argument_aliases: Mapping[str, str] = field(default_factory=dict)
    # Paths that the call would touch; outside the workspace they need approval in every mode but yolo.
    reaches: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _arguments: ()
    # Not offered unless this says so (ViewImage without image input).
    offered: Callable[[Mapping[str, Any]], bool] = lambda _capabilities: True
    # Needs a word for each call in every mode but yolo, whatever was allowed before (destructive AOI commands).
    always_ask: bool = False
    server: str | None = None  # the MCP server that has it, under `server_tool`
    server_tool: str = ""

    @property
    def permission(self) -> str:
        """What an allow-list calls it: its name, or SERVER/TOOL, whatever name the model sees. A server has no slash."""
        return self.name if self.server is None else f"{self.server}/{self.server_tool}"


def kind_of(name: str, category: str = "") -> str:
    """The kind of a call, in the words of `operable.wire.events`."""
    return _KINDS.get(name) or _OF_CATEGORY.get(category, "other")
