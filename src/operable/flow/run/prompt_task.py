"""Prompt tasks: one message to an agent, driven by `operable.host`, under a policy that allows nothing by itself.

The agent is the caller's choice, else the one that the task names (`target.agent_id`), and the built-in one for `main`. Its
manifest says how it is confined; a contract that asks for more than that manifest gives is refused, because no other
program could enforce it: `network: none` needs an agent without egress, `strict` and `allowed_paths` one in bubblewrap whose
workspace is inside. Credentials reach the agent as variables; it has no standard input of its own for them.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

import msgspec

from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json, first, merged_contract, merged_model_policy
from operable.flow.run import process
from operable.flow.run.budgets import agent_budget, over_cost
from operable.flow.run.credentials import Materialised
from operable.flow.run.enclosure import constraints, enclosed, switched_off, unavailable
from operable.flow.run.execution import Execution
from operable.flow.run.process import OUTPUT_LIMIT, TaskResult
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.wire.events import AgentError, TextDelta, TurnEnd, UsageUpdate

if TYPE_CHECKING:
    from operable.flow.run.options import ExecOptions
    from operable.gate.approvals import Ask
    from operable.gate.policy.rules import Policy
    from operable.host.agent_cli import AgentCliHandle
    from operable.host.start.options import StartOptions
    from operable.host.sync import SyncSession

DEFAULT_AGENT = "operable-agent"
_QUESTION = 4000  # characters of a question that a person is shown
_STOP_POLL = 0.2  # seconds; a person who cancels does not notice it
_READING_MANIFESTS = threading.Lock()
_READING = ("kind:read", "kind:search", "kind:think")


class PromptWork:
    """One turn of an agent. Which agent, and whether the contract can be held, is decided before anything is spent."""

    def __init__(self, execution: Execution, options: "ExecOptions") -> None:
        self._it, self._options = execution, options
        task = execution.selected.task
        self._name = options.agent or agent_of(task["target"].get("agent_id"))
        execution.agent = self._name
        self._policy = _rules(task, options.policy)
        try:
            self._agent = find_agent(self._name, execution.caller.cwd)
        except Fail as problem:
            raise FlowError(
                "no_runtime", f"the agent of this task cannot be used: {problem.message}"
            ) from None
        self._choices = _choices(execution, self._agent)
        _hold(execution, self._agent)

    def run(self, given: Materialised) -> TaskResult:
        if given.stdin is not None:
            raise FlowError(
                "presentation_target_unsupported", "an agent has no standard input for a credential"
            )
        it = self._it
        started = time.monotonic()
        try:
            said = self._turn(given)
        except Fail as problem:
            return TaskResult(problem=f"{self._name}: {problem.message}", duration_ms=_elapsed(started))
        it.usage = said.usage
        failure, unsaid = over_cost(it.contract, said.usage)
        if unsaid is not None:
            it.warnings.append(unsaid)
        if said.reason != "completed":
            failure = failure or f"the turn ended as {said.reason}"
        return TaskResult(
            exit_code=0 if failure is None else 1,
            timed_out=said.reason == "timeout",
            duration_ms=_elapsed(started),
            stdout="".join(said.texts),
            stderr="".join(f"{text}\n" for text in said.errors),
            problem=failure,
        )

    def verify(self, verify: Mapping[str, Any]) -> TaskResult:
        it, bound = self._it, self._it.bound
        environment = {**bound.environment, **self._options.environment}
        with enclosed(
            it.contract, cwd=bound.cwd, base=it.caller.cwd, environment=bound.environment
        ) as enclosure:
            return process.check(verify, cwd=bound.cwd, environment=environment, enclosure=enclosure)

    def _turn(self, given: Materialised) -> "_Said":
        from operable.host.start.options import StartOptions

        it, chosen = self._it, self._options
        task = it.selected.task
        timeout = None if it.bound.timeout_ms is None else it.bound.timeout_ms / 1000
        options = StartOptions(
            workspace=it.caller.cwd,
            policy=_configured(self._policy, it.caller.cwd),
            on_ask=None if chosen.on_ask is None else self._ask,
            model=merged_model_policy(it.selected.workflow, task)["model"],
            options=self._choices,
            env={**given.environment, **chosen.environment},
            budget=agent_budget(task, it.contract),
            label=f"flow {it.execution_id}",
            resume=chosen.resume,
        )
        with self._started(options) as session:
            it.session = {"session_id": session.id, "agent_session_id": None}
            said = _Said()
            observe = None if chosen.on_turn is None else chosen.on_turn(self._name)
            with _stoppable(session, chosen.stop):
                for event in session.send(chosen.context + task["prompt"], timeout=timeout):
                    said.hear(event)
                    if observe is not None:
                        observe(event)
            it.session["agent_session_id"] = session.agent_session_id
        return said

    def _started(self, options: "StartOptions") -> "SyncSession":
        """The session, if the gate lets it begin. The manual approval of the task is the answer of a person."""
        from operable.gate.call import CallerId
        from operable.gate.call_gate import CallGate
        from operable.gate.session_start import SessionStart

        it, source = self._it, self._it.selected
        caller = CallerId(it.caller.side, f"{source.workflow['id']}/{source.task['id']}")
        by = "" if it.approval_used is None else "the approval of the task"
        with SessionStart(caller, self._agent.names, it.caller.cwd).admitted_now(CallGate(), answered_by=by):
            return self._agent.start_sync(options)

    def _ask(self, ask: "Ask") -> Any:
        """Hand a question on. What a person is shown has no secrets, and is bounded."""
        assert self._options.on_ask is not None  # noqa: S101 - it is given to the session only then
        return self._options.on_ask(ask, self._it.mask.text(_worded(ask))[:_QUESTION])


def agent_of(agent_id: str | None) -> str:
    """The agent that a task names."""
    return DEFAULT_AGENT if agent_id in (None, "main") else agent_id


def _worded(ask: "Ask") -> str:
    shown = (
        ""
        if ask.arguments in (None, {})
        else f" {json.dumps(ask.arguments, ensure_ascii=False, default=str)}"
    )
    return f"{ask.kind}: {ask.tool or ask.text}{shown}"


@contextmanager
def _stoppable(session: "SyncSession", stop: Callable[[], bool] | None) -> Iterator[None]:
    """Cancel the running turn once `stop` is true."""
    if stop is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_STOP_POLL):
            if stop():
                session.cancel()
                return

    watcher = threading.Thread(target=watch, name="stop-of-a-turn", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()


@dataclass(slots=True)
class _Said:
    """A turn as it is reported; output beyond the limit of any task is left out."""

    texts: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    reason: str = "error"
    usage: dict[str, Any] | None = None
    _size: int = 0

    def hear(self, event: Any) -> None:
        match event:
            case TextDelta(text=text):
                kept = text[: max(0, OUTPUT_LIMIT - self._size)]
                self._size += len(kept)
                self.texts.append(kept)
            case AgentError(error=error):
                self.errors.append(error.message)
            case UsageUpdate(cost=cost) if cost is not None:
                self.usage = {**(self.usage or {}), "cost_usd": cost}
            case TurnEnd(reason=reason, usage=usage):
                self.reason = reason
                if usage is not None:
                    counts = msgspec.structs.asdict(usage)
                    cost = first(counts.pop("cost_usd"), (self.usage or {}).get("cost_usd"))
                    self.usage = {**counts, "cost_usd": cost}


def find_agent(name: str, workspace: str) -> "AgentCliHandle":
    """The agent of this name. Raises Fail if it does not exist, or is not trusted."""
    from operable.host.agent_cli import agent

    # One at a time: threads that read their first manifests at once were seen to hang in msgspec, which learns a type once.
    with _READING_MANIFESTS:
        return agent(name, workspace=workspace)


def _rules(task: Mapping[str, Any], policy: "Policy | str | None") -> "Policy":
    """The caller's rules; for a task that only plans or reads, nothing that changes anything."""
    from operable.gate.policy.pattern import DENY
    from operable.gate.policy.policy_file import load_policy, rules
    from operable.gate.policy.rules import Policy

    chosen = load_policy(policy) if isinstance(policy, str) else policy or Policy()
    intent = task.get("intent") or {}
    if intent.get("mode") == "plan" or intent.get("read_only") is True:
        denied = tuple(rule for rule in chosen.rules if rule.effect == DENY)
        return rules(allow=_READING).with_rules(denied)
    return chosen


def agent_problems(workflow: Json, task: Json, agent: "AgentCliHandle") -> Iterator[tuple[str, str]]:
    """(member, message) for what a task declares and its agent, by its manifest, can never do."""
    for member in _missing(workflow, task, agent):
        yield member, f"agent {agent.id} cannot be given it"
    contract = merged_contract(workflow, task)
    wanted, less = constraints(contract), _less(contract, agent)
    if wanted and less is not None:
        yield "contract", unavailable(wanted, less).message


def _wanted(workflow: Json, task: Json) -> dict[str, Any]:
    """What a task declares of its model that is an option of an agent."""
    policy = merged_model_policy(workflow, task)
    return {name: policy[name] for name in ("provider", "thinking") if policy[name] is not None}


def _missing(workflow: Json, task: Json, agent: "AgentCliHandle") -> list[str]:
    """Members for which the agent has no option, or that need what it cannot do."""
    known = {option.id for option in agent.manifest.options or ()}
    missing = [f"model_policy.{name}" for name in _wanted(workflow, task) if name not in known]
    if (task.get("session") or {}).get("preferred_key") is not None:
        missing += [] if agent.manifest.capabilities.resumable else ["session.preferred_key"]
    return missing


def _configured(policy: "Policy", workspace: str) -> "Policy":
    """The rules with what the configuration of the user and of the project denies, as in every session of an agent."""
    from operable.gate.policy.pattern import DENY
    from operable.project.settings import load_settings

    return policy.with_rules([rule for rule in load_settings(workspace).rules if rule.effect == DENY])


def _choices(it: Execution, agent: "AgentCliHandle") -> dict[str, Any]:
    """Options of the agent for what the task declares of its model; FlowError if the agent has no such option."""
    missing = _missing(it.selected.workflow, it.selected.task, agent)
    if missing:
        message = f"agent {agent.id} cannot be given {' and '.join(missing)}"
        raise FlowError("unsupported_capability", message)
    return _wanted(it.selected.workflow, it.selected.task)


def _hold(it: Execution, agent: "AgentCliHandle") -> None:
    """FlowError when the agent's own confinement is less than the contract."""
    wanted = constraints(it.contract)
    if wanted:
        off = switched_off(it.caller.environment.get("AGENTCLI_SANDBOX", ""))
        missing = off or _less(it.contract, agent)
        if missing is not None:
            raise unavailable(wanted, missing)


def _less(contract: Mapping[str, Any], agent: "AgentCliHandle") -> str | None:
    """What the agent's sandbox leaves open that the contract does not."""
    from operable.host.start.placement import sandbox_of

    block, network = sandbox_of(agent.loaded), contract["network"]
    if block.provider.removeprefix("mastra-") != "bubblewrap":
        return f"agent {agent.id} runs in {block.provider}"
    if network == "none" and block.network.egress:
        return f"agent {agent.id} needs a network"
    if network == "restricted" and "*" in block.network.egress:
        return f"agent {agent.id} may reach every host"
    outside = [mount for mount in block.mounts if mount.source != "workspace" and mount.mode == "read-write"]
    if contract["allowed_paths"] and outside:
        return f"agent {agent.id} may write outside of its workspace"
    return None


def _elapsed(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
