"""What the lasting rules of the user and the project say about a call of the agent: allow, ask, deny, or nothing.

The rules are those of `operable.toml`, in the language of policy files, and they come before every mode. An allow takes the
place of the question; it does not reach outside the workspace, nor to files that become execution, which are asked about
each time. A rule that can only guess applies when it denies or asks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from operable.agent.tool.ability import Ability, kind_of
from operable.gate.policy.agent_path import AgentPaths
from operable.gate.policy.pattern import ASK
from operable.gate.policy.rules import Policy, PolicyRule, Ruling
from operable.gate.policy.tool_call import Facts, JudgedCall
from operable.gate.policy.tool_map import ToolMap

TOOLS = ToolMap(
    {
        "Read": {"kind": "read", "path": "file_path"},
        "ViewImage": {"kind": "read", "path": "file_path"},
        "Glob": {"kind": "search", "path": "path"},
        "Grep": {"kind": "search", "path": "path"},
        "Write": {"kind": "edit", "path": "file_path"},
        "Edit": {"kind": "edit", "path": "file_path"},
        "Bash": {"kind": "execute", "command": "command", "aliases": ["ExecCommand"]},
        "Spawn": {"kind": "think"},
        "Skill": {"kind": "think"},
        "UpdatePlan": {"kind": "think"},
    }
)


class CallRules:
    """Rules for the calls of one session."""

    def __init__(self, rules: Sequence[PolicyRule], workspace: str) -> None:
        self._policy = Policy(tuple(rules), ASK)
        self._workspace = workspace

    def judge(self, ability: Ability, arguments: Mapping[str, Any]) -> Ruling | None:
        """The ruling of a rule; None: no rule is about the call."""
        if not self._policy.rules:
            return None
        ruling = self._policy.judge(self.facts(ability, arguments))
        return None if ruling.rule is None else ruling

    def facts(self, ability: Ability, arguments: Mapping[str, Any]) -> Facts:
        return facts_of(ability, arguments, self._workspace)


def facts_of(ability: Ability, arguments: Mapping[str, Any], workspace: str) -> Facts:
    """A call as patterns look at it. A tool of an MCP server is SERVER/TOOL, whatever name the model sees."""
    call = JudgedCall(
        ability.permission,
        kind_of(ability.name, ability.category) if ability.server is None else "other",
        dict(arguments),
        tuple(ability.reaches(arguments)),
    )
    return Facts(call, AgentPaths(workspace), TOOLS)
