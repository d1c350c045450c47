"""A call of an operable thing as the gate sees it: who calls what, with what, and what that would do.

    mcp:claude-desktop        calls   wrap/git/push         which runs   git push origin main
    flow:nightly/backup               tool/outline/export
    program:report.py                 app/todo/list
    session:ses_0f2c…                 agent/codex/prompt

For the rules (`operable.gate.policy.rules`) a call is a tool with the name KIND/NAME/ACTION, of kind `read` or `execute`,
with the command line of its program and its declared effect. So `deny execute:git push*` is about an agent's shell and about
`wrap git push` alike. The digest covers everything that a person is shown and that then runs. What is called is copied
when the call is made: a caller that changes its own objects later changes nothing here.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final

from operable.gate.policy.rules import Policy
from operable.gate.policy.tool_call import JudgedCall
from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, Redactor
from operable.kernel.visible import spelt_out

CALLER_KINDS: Final = ("person", "mcp", "http", "acp", "rpc", "agent", "session", "flow", "program")
CALL_KINDS: Final = ("tool", "wrap", "app", "agent", "flow", "mcp")
READ, CHANGE, DESTROY, UNKNOWN = "read", "change", "destroy", "unknown"
CALL_EFFECTS: Final = (READ, CHANGE, DESTROY, UNKNOWN)
# Names come from clients and from files: long enough for any of them, short enough for one line.
_NAME_LIMIT: Final = 128
_TOOL_LIMIT: Final = 1000  # of the whole name, which rules compare to its end
_PART: Final = re.compile(r"[\s/]+")


@dataclass(frozen=True, slots=True)
class CallerId:
    """Who calls. What a name has that cannot be seen is spelled out: it is shown to people and matched by rules."""

    kind: str
    name: str

    def __post_init__(self) -> None:
        if self.kind not in CALLER_KINDS:
            raise Fail(
                "usage",
                "UNKNOWN_CALLER",
                f"there is no kind of caller {spelt_out(self.kind, 40)!r}",
                hint=f"kinds are {' '.join(CALLER_KINDS)}",
            )
        object.__setattr__(self, "name", spelt_out(self.name, _NAME_LIMIT).strip() or "unknown")

    @classmethod
    def parse(cls, text: str) -> "CallerId":
        """From `KIND:NAME`, as it is written in rules and shown to people."""
        kind, _, name = text.partition(":")
        return cls(kind, name)

    @property
    def is_person(self) -> bool:
        """Whether a person makes the call directly; every other caller acts for a model or for a schedule."""
        return self.kind == "person"

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def person() -> CallerId:
    """The user of this process, by the account that it runs under: variables do not count."""
    import os
    import pwd

    uid = os.getuid()
    try:
        return CallerId("person", pwd.getpwuid(uid).pw_name)
    except KeyError:
        return CallerId("person", str(uid))  # containers run under numbers that have no name


@dataclass(frozen=True, slots=True)
class SessionBounds:
    """What the session that calls was started with: the call is not judged more kindly than what it does itself."""

    rules: Policy
    is_confined: bool = False


@dataclass(frozen=True)
class GatedCall:
    """One call. `command` are the words of the program that it runs; empty: the words of the call itself stand for them."""

    caller: CallerId
    kind: str
    name: str
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    effect: str = UNKNOWN
    workspace: str = "."
    command: Sequence[str] = ()
    stdin: str = ""  # what the program reads
    consequence: str = ""  # what a person has to know beside the call itself
    possible: Sequence[str] = ()  # further actions that its words may mean, for rules that deny or ask
    bounds: SessionBounds | None = None
    definition: str = ""  # the digest of what runs under this name, where it may change while a person thinks
    variables: Mapping[str, str] = field(default_factory=dict)  # that the caller declares for the program

    def __post_init__(self) -> None:
        if self.kind not in CALL_KINDS or self.effect not in CALL_EFFECTS:
            raise ValueError(f"not a call: {self.kind} with effect {self.effect}")
        try:
            copied = json.loads(json.dumps(dict(self.arguments), allow_nan=False))
            object.__setattr__(self, "arguments", copied)
            object.__setattr__(self, "command", tuple(self.command))
            object.__setattr__(self, "possible", tuple(self.possible))
            object.__setattr__(self, "variables", {str(n): str(v) for n, v in self.variables.items()})
            _ = self.digest  # of what cannot be sealed, nothing could be approved
        except (TypeError, ValueError, RecursionError) as error:
            raise Fail(
                "usage", "INVALID_ARGUMENTS", "the arguments are not JSON, or are nested too deeply"
            ) from error

    @property
    def tool(self) -> str:
        """The name for rules and records: KIND/NAME/ACTION, the words of an action divided by `/`."""
        return self._named(self.action)

    def _named(self, action: str) -> str:
        # A job of a flow is WORKFLOW/TASK; no other name has parts.
        names = self.name.split("/") if self.kind == "flow" else [self.name]
        parts = (self.kind, *(_PART.sub("-", name) or "-" for name in names), *action.split())
        return spelt_out("/".join(parts), _TOOL_LIMIT)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The command line for rules and people."""
        return tuple(self.command) or (self.name, *self.action.split())

    @property
    def line(self) -> str:
        given = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join((*given, shlex.join(self.words)))

    @cached_property
    def judged(self) -> JudgedCall:
        """For the rules. What is in the command line is not said twice: an allow with an argument answers for all of it."""
        arguments: dict[str, Any] = {"command": list(self.words)}
        if self.variables:
            arguments["env"] = dict(self.variables)
        if self.stdin:
            arguments["stdin"] = self.stdin
        if not self.command:
            arguments = {**self.arguments, **arguments}
        kind = "read" if self.effect == READ else "execute"
        result = "" if self.effect == UNKNOWN else self.effect
        possible = tuple(map(self._named, self.possible))
        return JudgedCall(self.tool, kind, arguments, result=result, possible=possible)

    @cached_property
    def digest(self) -> str:
        """What a decision is bound to: who calls, what is called, with what, and what runs."""
        changing: dict[str, Any] = {"definition": self.definition} if self.definition else {}
        if self.variables:
            changing["variables"] = dict(self.variables)
        return digest(
            {
                **changing,
                "caller": str(self.caller),
                "call": [self.kind, self.name, self.action],
                "arguments": self.arguments,
                "command": list(self.command),
                "stdin": self.stdin,
                "effect": self.effect,
                "workspace": self.workspace,
            }
        )

    def require_same(self, definition: str) -> None:
        """Raises Fail conflict/CALL_CHANGED if another thing has this name by now than when the call was judged."""
        if definition != self.definition:
            message = f"{self.tool} is another one now than when it was asked about; nothing was run"
            raise Fail(
                "conflict", "CALL_CHANGED", message, target=self.tool, hint="look at it, and call it again"
            )

    def shown(self, secrets: Known | None = None) -> dict[str, Any]:
        """The call for people and for the record: without secrets, nothing of it invisible."""
        redactor = Redactor(secrets if secrets is not None else ())
        return {
            "caller": str(self.caller),
            "call": self.tool,
            "effect": self.effect,
            "command": spelt_out(redactor.command(self.line)),
            "arguments": redactor.value(self.arguments),
            "digest": self.digest,
        }
