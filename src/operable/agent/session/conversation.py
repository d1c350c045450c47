"""The state of one session: what was said, with which model, under which permissions, with which tools, in which workspace.

Owned by the process for its whole life; a run changes it from its own thread, and there is never more than one run.
It knows nothing of the protocol: what the host may see is decided by the run and the server.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from operable.agent.loop.cancellation import Cancellation
from operable.agent.loop.compaction import CHARACTERS_PER_TOKEN, Compaction
from operable.agent.loop.guards import Guard
from operable.agent.loop.round import STOPPED
from operable.agent.provider import model as models
from operable.agent.provider.model import ModelCall
from operable.agent.session.history import HistoryTurn, TextBlock, Tokens, ToolOutputBlock, ToolUseBlock
from operable.agent.session.validity import open_calls, valid
from operable.agent.tool.ability import Ability, Scene
from operable.agent.tool.permissions import Permissions, ToolPermissions
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Known
from operable.project.settings import Settings
from operable.wire.json_stream import SetConfigFrame

DEFAULT_THINKING = 4096  # tokens, when thinking is wanted without an amount
_LEAST_ANSWER = 256  # tokens; of a small window an answer may take a quarter
_LEAST_WINDOW = 1024  # tokens; a smaller number in a refusal is not the size of a window


@dataclass(slots=True)
class Tuning:
    """What `set_config` may change between messages, and what the command line said."""

    model: str
    max_tokens: int = 8192
    thinking_budget: int | None = None
    effort: str | None = None
    image_input: str = "unknown"
    compaction: str = "safe"
    window: int | None = None  # tokens of the model's window; None: what is known of the model
    system_prompt: str = ""
    max_turns: int | None = None
    malformed_limit: int = 3
    failure_limit: int = 3


class ConversationStore(Protocol):
    """Where a session is kept; `operable.agent.session.store` on disk, or nothing at all for a sub-agent."""

    def append(self, turn: HistoryTurn) -> None: ...
    def replace(self, turns: Sequence[HistoryTurn]) -> None: ...

    def save(self, tokens: Tokens, cost_usd: float | None, model: str) -> str | None:
        """Make it durable; why that is impossible at the moment, else None. Nothing here raises."""


class ConfiguredServers(Protocol):
    """The MCP servers of the configuration; `operable.agent.tool.mcp`."""

    def settle(self, cancellation: Cancellation) -> None: ...


class SessionConversation:
    """See the module."""

    def __init__(
        self,
        *,
        provider: models.Model,
        session: models.ModelSession,
        tuning: Tuning,
        toolbox: Mapping[str, Ability],
        workspace: str,
        environment: Mapping[str, str],
        store: ConversationStore,
        permissions: Permissions | None = None,
        desk: ToolPermissions | None = None,
        sandbox: str | None = None,
        turns: Sequence[HistoryTurn] = (),
        tokens: Tokens | None = None,
        cost_usd: float | None = 0.0,
        depth: int = 0,
        known: Known | None = None,
        project: Settings | None = None,
    ) -> None:
        self.project = project or Settings()  # what the user and the project have configured
        self.notes = list(self.project.notes)  # what the next run says first, once
        self.provider = provider
        self.tuning = tuning
        self.toolbox = dict(toolbox)
        self.workspace = workspace
        self.environment = environment
        self.desk = desk or ToolPermissions(permissions or Permissions())
        self.turns = list(turns)
        self.tokens = tokens or Tokens()
        self.cost_usd = cost_usd  # None: some of it was used by a model whose price is not known
        self.owner = ""  # the name of the sub-agent whose conversation it is
        self.depth = depth  # 0: the conversation of a person; more: of a sub-agent
        self.session = session
        self._store = store
        self._compaction = Compaction()
        self.known = known if known is not None else Known()
        self._scene = Scene(
            workspace,
            Cancellation(),
            environment,
            known=self.known,
            sandbox=sandbox,
            skills=self.project.skills,
        )
        if self.project.hooks:
            from operable.agent.tool.hooks import ToolHooks

            self._scene.around = ToolHooks(self.project.hooks, self.project.still_counts).around
        # Servers that are configured connect from the start; the first run waits for them.
        self.servers: ConfiguredServers | None = None
        for call_id in _call_ids(self.turns):
            self.desk.own_id(call_id)

    def ability(self, name: str) -> Ability | None:
        """The tool that the model means, also by an older name."""
        found = self.toolbox.get(name)
        return found or next((tool for tool in self.toolbox.values() if name in tool.aliases), None)

    def by_own_names(self, called: ModelCall) -> ModelCall:
        """The call with the own name of its tool and of its arguments: rules and people know a tool by one name."""
        ability = self.ability(called.name)
        if ability is None:
            return called
        arguments = {
            other
            if (other := ability.argument_aliases.get(name, name)) not in called.arguments
            else name: value
            for name, value in called.arguments.items()
        }
        return replace(called, name=ability.name, arguments=arguments)

    def listen(self, heard: Callable[[str, str], object]) -> None:
        """Call this with (call_id, text) for what programs print while they run."""
        self._scene.heard = heard

    def scene(self, cancellation: Cancellation) -> Scene:
        """What the tools of a round may use; what they have read is remembered for the session."""
        return replace(self._scene, cancellation=cancellation)

    def branch(
        self, store: ConversationStore, toolbox: Mapping[str, Ability], tuning: Tuning
    ) -> "SessionConversation":
        """A conversation of its own for a sub-agent: the same model, the same queue of approvals, nothing said yet."""
        return SessionConversation(
            provider=self.provider,
            session=self.session,
            tuning=tuning,
            toolbox=toolbox,
            workspace=self.workspace,
            environment=self.environment,
            store=store,
            desk=self.desk,
            sandbox=self._scene.sandbox,
            depth=self.depth + 1,
            known=self.known,
            project=replace(self.project, notes=()),
        )

    def settle(self, cancellation: Cancellation) -> list[str]:
        """Wait for the servers that are configured; what is to be said first."""
        if self.servers is not None:
            self.servers.settle(cancellation)
        notes, self.notes = self.notes, []
        return notes

    def config_problem(self, config: SetConfigFrame) -> str | None:
        """What is wrong with these wishes; None when they can be fulfilled."""
        levels = self.provider.effort_levels
        if config.effort is not None and config.effort not in levels:
            known = ", ".join(levels) or "none"
            return f"effort {config.effort!r} is not offered by {self.provider.name} (known: {known})."
        if config.image_input not in (None, "supported", "unsupported", "unknown"):
            return "image_input is supported, unsupported or unknown."
        if config.compaction not in (None, "off", "safe", "full"):
            return "compaction is off, safe or full."
        if config.thinking not in (None, True, False, "enabled", "disabled"):
            return "thinking is enabled or disabled."
        if config.thinking_budget is not None and config.thinking_budget < 1:
            return "thinking_budget is a positive number of tokens."
        return None

    def configure(self, config: SetConfigFrame) -> list[str]:
        """Fulfil them; what has changed, as `name=value`."""
        tuning = self.tuning
        wanted: dict[str, Any] = {}
        if config.model is not None:
            wanted["model"] = config.model
            if config.model != tuning.model:
                # An unknown model gets no images until the configuration says that it sees them.
                wanted["image_input"] = self.provider.images(config.model)
                tuning.window = None  # it was that of the other model
        for name in ("image_input", "effort", "compaction"):
            if (value := getattr(config, name)) is not None:
                wanted[name] = value
        if config.thinking is not None:
            enabled = config.thinking in (True, "enabled")
            wanted["thinking_budget"] = (tuning.thinking_budget or DEFAULT_THINKING) if enabled else None
        if config.thinking_budget is not None and config.thinking not in (False, "disabled"):
            wanted["thinking_budget"] = config.thinking_budget
        changed = {name: value for name, value in wanted.items() if getattr(tuning, name) != value}
        for name, value in changed.items():
            setattr(tuning, name, value)
        return [f"{name}={value}" for name, value in changed.items()]

    def guard(self) -> Guard:
        tuning = self.tuning
        return Guard(
            max_turns=tuning.max_turns,
            malformed_limit=tuning.malformed_limit,
            failure_limit=tuning.failure_limit,
        )

    def add(self, turn: HistoryTurn) -> None:
        self.turns.append(turn)
        self._store.append(turn)

    def remark(self, text: str) -> None:
        """A word from the agent itself to the model."""
        self.add(HistoryTurn("user", (TextBlock(f"[notice] {text}"),)))

    def count(self, tokens: Tokens) -> None:
        """What a model call has used, of this conversation or of a sub-agent."""
        self.tokens += tokens
        price = self.provider.price(self.tuning.model)
        if price is None or self.cost_usd is None:
            self.cost_usd = None
            return
        used = (
            tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens, tokens.cache_write_tokens
        )  # fmt: skip
        self.cost_usd += sum(count * dollars for count, dollars in zip(used, price, strict=True)) / 1_000_000

    def heard(self, tokens: Tokens) -> None:
        """What the call that answered the whole history has used: so full is the window."""
        self._compaction.heard(tokens)

    @property
    def window_used(self) -> int:
        """Tokens of the model's window that the last answer has used."""
        return self._compaction.used

    def save(self) -> str | None:
        """Why the session could not be saved; None when it was."""
        return self._store.save(self.tokens, self.cost_usd, self.tuning.model)

    def close_open_calls(self, text: str = STOPPED) -> None:
        """After a run was cut off: give every call of the last answer a result, so that readers see what became of it."""
        if lost := open_calls(self.turns):
            self.add(
                HistoryTurn("user", tuple(ToolOutputBlock(call_id, text, is_error=True) for call_id in lost))
            )

    @property
    def window(self) -> int:
        """Tokens of the model's window: as configured, as a provider has said, or as it is known of the model."""
        return self.tuning.window or self.provider.context_window(self.tuning.model)

    def learn_window(self, size: int | None) -> bool:
        """A provider that refuses a request as too long may name the size that it accepts; True: that is news."""
        is_news = size is not None and _LEAST_WINDOW <= size < self.window
        if is_news:
            self.tuning.window = size
        return is_news

    def compact(
        self, cancellation: Cancellation, count: Callable[[Tokens], None], *, force: bool = False
    ) -> str | None:
        """Make room when the window is nearly full, or `force`d; a note for the host when something was done."""
        request = self._request((), with_tools=True)
        shorter, note = self._compaction.shorten(
            self.turns,
            self.window,
            self.tuning.compaction,
            lambda turns: self._summary(turns, cancellation, count),
            room=request.max_tokens,
            overhead=self._overhead(request),
            force=force,
        )
        if shorter is not None:
            self.turns = shorter
            self._store.replace(shorter)
            self._scene.shown.clear()  # the model can no longer look it up
        return note

    def _overhead(self, request: models.ModelRequest) -> int:
        """About how many tokens a request has besides its turns: the instructions and the tools."""
        tools = sum(len(tool.name) + len(tool.description) + len(str(tool.schema)) for tool in request.tools)
        return (len(request.system) + tools) // CHARACTERS_PER_TOKEN

    def stream(self, cancellation: Cancellation, *, with_tools: bool) -> Iterator[models.Piece]:
        """The model's answer to the history so far."""
        return self.session.stream(self._request(self.turns, with_tools=with_tools), cancellation)

    def _request(self, turns: Sequence[HistoryTurn], *, with_tools: bool) -> models.ModelRequest:
        tuning = self.tuning
        offered = [
            tool
            for tool in self.toolbox.values()
            if tool.offered({"image_input": tuning.image_input, "skills": self.project.skills})
        ]
        return models.ModelRequest(
            model=tuning.model,
            turns=valid(turns),
            system=tuning.system_prompt,
            tools=tuple(models.ToolOffer(tool.name, tool.description, tool.schema) for tool in offered)
            if with_tools
            else (),
            max_tokens=min(tuning.max_tokens, max(self.window // 4, _LEAST_ANSWER)),
            thinking_budget=tuning.thinking_budget,
            effort=tuning.effort,
        )

    def _summary(
        self, turns: Sequence[HistoryTurn], cancellation: Cancellation, count: Callable[[Tokens], None]
    ) -> str:
        """The model's own summary of older turns."""
        said = []
        for piece in self.session.stream(self._request(turns, with_tools=False), cancellation):
            if isinstance(piece, models.ModelText):
                said.append(piece.text)
            elif isinstance(piece, models.Finished):
                count(piece.tokens)
        return "".join(said)


def _call_ids(turns: Sequence[HistoryTurn]) -> Iterator[str]:
    return (block.call_id for turn in turns for block in turn.blocks if isinstance(block, ToolUseBlock))
