"""Who may do what: the mode, what was allowed for the session, and the calls that wait for the user's answer.

A call is decided at once (by mode or allow-list) or becomes a pending request, which is answered once, in any order,
by the host. Deciding is plain logic; waiting is the round's business: it receives each decision through
`on_decision`.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from operable.agent.tool.ability import Ability
from operable.agent.tool.call_rules import CallRules
from operable.agent.tool.lasting_commands import LastingCommands, command_scope, is_command
from operable.gate.policy.pattern import ALLOW, ASK, DENY
from operable.kernel.data_class import dataclass

MODES = ("default", "auto_edit", "yolo")
_AUTO_EDIT = ("info", "edit")
_SCOPES = {"info": "every tool that only looks", "edit": "every edit of a file in this workspace"}


@dataclass(frozen=True, slots=True)
class PermissionDecision:
    call_id: str
    allowed: bool
    reason: str = ""


class Permissions:
    """What is allowed without asking, for one session."""

    def __init__(
        self,
        mode: str = "default",
        allow_list: tuple[str, ...] = (),
        rules: CallRules | None = None,
        workspace: str = "/",
    ) -> None:
        self.mode = mode
        self._workspace = workspace
        self._commands = LastingCommands()
        self.rules = rules  # of the configuration; they come before the mode
        self.tools = set(allow_list)  # names of tools; SERVER/TOOL for those of MCP servers
        self.categories: set[str] = set()

    def decide(self, ability: Ability, arguments: Mapping[str, Any], *, each_time: bool) -> tuple[str, str]:
        """(allow, ask or deny; why, where a rule has decided). `each_time`: see `allows`."""
        ruling = None if self.rules is None else self.rules.judge(ability, arguments)
        if ruling is not None and ruling.effect in (DENY, ASK):
            return ruling.effect, ruling.reason
        if ruling is not None and not (each_time or ability.always_ask):
            return ALLOW, ruling.reason
        return (ALLOW if self.allows(ability, arguments, each_time=each_time) else ASK), ""

    def allows(self, ability: Ability, arguments: Mapping[str, Any], *, each_time: bool) -> bool:
        """Whether a call needs no question. `each_time`: what it touches is asked about for each call (`Reach`)."""
        if self.mode == "yolo":
            return True  # the protocol's word for "everything"
        if each_time or ability.always_ask:
            return False
        if ability.permission in self.tools or ability.category in self.categories:
            return True
        if is_command(ability) and self._commands.covers(ability, arguments, self._workspace):
            return True
        return self.mode == "auto_edit" and ability.category in _AUTO_EDIT

    def remember(self, ability: Ability, arguments: Mapping[str, Any]) -> None:
        """Allow what `lasting_scope` says."""
        if is_command(ability):
            self._commands.add(arguments)
        elif ability.category in _SCOPES:
            self.categories.add(ability.category)
        else:
            self.tools.add(ability.permission)


def lasting_scope(ability: Ability, arguments: Mapping[str, Any]) -> str:
    """What `always` covers, in words: commands that begin alike, this tool, or a category that only looks or edits.

    The draft gives `always` to the category. Commands, and the tools of all servers, are one category each: a yes to one
    is not a yes to all (docs/decisions/0022 and 0047).
    """
    if is_command(ability):
        return command_scope(arguments)
    if ability.server is not None:
        return f"the tool {ability.server_tool} of the server {ability.server}"
    return _SCOPES.get(ability.category) or f"the tool {ability.name}"


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """A call that waits for the user. `is_lasting`: an approval may last."""

    ability: Ability
    arguments: Mapping[str, Any]
    is_lasting: bool
    on_decision: Callable[[PermissionDecision], None]


class ToolPermissions:
    """The pending requests of a session, those of its sub-agents included; used from any thread."""

    def __init__(self, permissions: Permissions) -> None:
        self.permissions = permissions
        self._lock = threading.Lock()
        self._pending: dict[str, _PendingCall] = {}
        self._call_ids: set[str] = set()

    def own_id(self, call_id: str) -> str:
        """This id, or one made of it that no other call of the session has: some models count from 1 in every answer."""
        with self._lock:
            unique, count = call_id or "call", 1
            while unique in self._call_ids:
                count += 1
                unique = f"{call_id or 'call'}-{count}"
            self._call_ids.add(unique)
            return unique

    def ask(
        self,
        call_id: str,
        ability: Ability,
        arguments: Mapping[str, Any],
        *,
        each_time: bool,
        on_decision: Callable[[PermissionDecision], None],
    ) -> str:
        """What an approval with `always` would cover, in words; empty: this call alone."""
        # An approval of one destructive or far-reaching call says nothing about the next one.
        is_lasting = not (each_time or ability.always_ask)
        with self._lock:
            self._pending[call_id] = _PendingCall(ability, arguments, is_lasting, on_decision)
        return lasting_scope(ability, arguments) if is_lasting else ""

    def approve(self, call_id: str, scope: str = "once") -> bool:
        """False: nothing waits under this id. `always` also allows what `lasting_scope` says from now on."""
        with self._lock:
            pending = self._pending.pop(call_id, None)
            if pending is None:
                return False
            if scope == "always" and pending.is_lasting:
                self.permissions.remember(pending.ability, pending.arguments)
        pending.on_decision(PermissionDecision(call_id, allowed=True))
        return True

    def deny(self, call_id: str, reason: str = "") -> bool:
        """False: nothing waits under this id."""
        with self._lock:
            pending = self._pending.pop(call_id, None)
        if pending is None:
            return False
        pending.on_decision(PermissionDecision(call_id, allowed=False, reason=reason))
        return True

    def waits(self, call_id: str) -> bool:
        """Whether this call waits for an answer."""
        with self._lock:
            return call_id in self._pending

    def withdraw(self, call_ids: list[str]) -> None:
        """These calls are no longer wanted; an answer that comes later finds nothing."""
        with self._lock:
            for call_id in call_ids:
                self._pending.pop(call_id, None)
