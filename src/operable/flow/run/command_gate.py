"""The programs of a task at the gate of every call: the rules of the user's policy file about commands bind them.

A task of a flow runs up to four kinds of programs, and each run of one is a call of `flow:WORKFLOW/TASK`:

    flow/WORKFLOW/TASK/shell     the program of the task, with its arguments, its declared variables and its input
    flow/WORKFLOW/TASK/verify    the line that says whether the work is done
    flow/WORKFLOW/TASK/value     a line that gives a credential or a proof
    flow/WORKFLOW/TASK/delivery  the program that announces the end of a run

So `deny = ["execute:rm *"]` is about an agent's shell, about `wrap` and about a task alike, with the same reader of lines.
`require_allowed` refuses a task of which any program is denied before anything of it runs; `admitted` lets one of them
run, on record. The manual approval of the task is the answer of a person, and so is the yes to a request for exactly this
command.
Without a policy file nothing is judged here, and no module of the gate is loaded: the log of workflows has the start.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import merged_verify
from operable.flow.manifest.selection import Selected, value_commands
from operable.flow.manifest.tools import tool_of
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.state.paths import policy_path

if TYPE_CHECKING:
    from operable.gate.approvals import Ask, Decision
    from operable.gate.call import GatedCall

SHELL: Final = "shell"
VERIFY: Final = "verify"
VALUE: Final = "value"
DELIVERY: Final = "delivery"
_STOP_POLL = 0.2  # seconds; a person who cancels does not notice it


class TaskProgram(NamedTuple):
    """One program of a task: in which step, its words, its input and the variables that are declared for it."""

    step: str
    words: Sequence[str]
    stdin: str = ""
    variables: Mapping[str, str] = {}

    @classmethod
    def line(cls, step: str, text: str) -> "TaskProgram":
        return cls(step, ("sh", "-c", text))

    @classmethod
    def of_task(cls, shell: Mapping[str, Any]) -> "TaskProgram":
        words = (str(shell["program"]), *map(str, shell.get("args") or ()))
        return cls(SHELL, words, str(shell.get("stdin") or ""), dict(shell.get("env") or {}))


class CommandGate:
    """The gate for the programs of one task. `side` is the kind of its caller, `known` are its secrets; `stop`, once true,
    takes a question back.
    """

    def __init__(
        self,
        selected: Selected,
        *,
        side: str,
        cwd: str,
        known: Known | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self._selected, self._side, self._cwd = selected, side, cwd
        self._known, self._stop = known, stop

    def require_allowed(self) -> None:
        """Raises FlowError authorization_denied if a rule denies any program of the task: nothing of it may run."""
        if policy_path() is None:
            return
        from operable.gate.policy.call_policy import CallPolicy
        from operable.gate.policy.pattern import DENY

        policy = CallPolicy()
        for program in self._programs():
            try:
                is_denied = policy.judge(self._call(program)).effect == DENY
            except Fail:
                is_denied = True  # the gate says what is wrong with the rules
            if is_denied:
                with self.admitted(program):
                    continue  # pragma: no cover - the rules were changed at this moment; the others are judged also

    @contextmanager
    def admitted(self, program: TaskProgram, answered_by: str = "") -> Iterator[Callable[[str], None]]:
        """Around a run of it; gives what takes the code of its end. Raises FlowError authorization_denied.

        `answered_by`: the person who said yes to exactly this.
        """
        if policy_path() is None:
            yield lambda _code: None
            return
        from operable.gate.approvals import Decision
        from operable.gate.call_gate import CallGate

        call = self._call(program)
        answer = Decision(True, by=answered_by, digest=call.digest) if answered_by else None
        try:
            admission = CallGate(secrets=self._known).admit_now(
                call, on_ask=None if self._stop is None else self._withdrawn, answer=answer
            )
        except Fail as refused:
            raise FlowError("authorization_denied", refused.message, hint=refused.hint) from refused
        with admission:
            yield admission.close

    async def _withdrawn(self, ask: "Ask") -> "Decision":
        """The answer of a caller who no longer wants the task to run."""
        import asyncio

        from operable.gate.approvals import Decision

        assert self._stop is not None  # noqa: S101 - it is asked only then
        while not self._stop():  # noqa: ASYNC110 - only a look at the store of the engine says it
            await asyncio.sleep(_STOP_POLL)
        return Decision(False, "the task was cancelled", "the caller", digest=ask.digest, cancelled=True)

    def _programs(self) -> Iterator[TaskProgram]:
        task = self._selected.task
        if self._selected.is_shell and tool_of(task) is None:
            yield TaskProgram.of_task(task["shell"])
        verify = merged_verify(self._selected.workflow, task)
        if verify is not None:
            yield TaskProgram.line(VERIFY, str(verify["shell"]))
        for text in value_commands(self._selected):
            yield TaskProgram.line(VALUE, text)

    def _call(self, program: TaskProgram) -> "GatedCall":
        from operable.gate.call import CHANGE, CallerId, GatedCall

        name = f"{self._selected.workflow['id']}/{self._selected.task['id']}"
        return GatedCall(
            CallerId(self._side, name),
            "flow",
            name,
            program.step,
            {},
            CHANGE,
            self._cwd,
            program.words,
            program.stdin,
            variables=program.variables,
        )
