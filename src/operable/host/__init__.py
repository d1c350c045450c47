"""Drive agents: install, confine, authenticate, spawn and converse with any agent CLI, through one event taxonomy.

    from operable.host import agent

    async with await agent("claude-code").start(workspace=".") as session:
        async for event in session.send("Say hello"):
            ...

Names are looked up on first use: importing this package costs nothing. See docs/guides/drive-an-agent.md.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.gate.approvals import Ask as Ask
    from operable.gate.approvals import Decision as Decision
    from operable.gate.approvals import answer_ask as answer_ask
    from operable.gate.approvals import pending_asks as pending_asks
    from operable.gate.audit.chain import verify_audit as verify_audit
    from operable.gate.policy.policy_file import load_policy as load_policy
    from operable.gate.policy.policy_file import rules as rules
    from operable.gate.policy.rules import Policy as Policy
    from operable.host.agent_cli import AgentCliHandle as AgentCliHandle
    from operable.host.agent_cli import Completion as Completion
    from operable.host.agent_cli import agent as agent
    from operable.host.agent_cli import complete as complete
    from operable.host.agent_cli import define_agent_cli as define_agent_cli
    from operable.host.arm import Message as Message
    from operable.host.continuation import Conversations as Conversations
    from operable.host.session.context import Limits as Limits
    from operable.host.session.log_files import Record as Record
    from operable.host.session.log_files import read_log as read_log
    from operable.host.session.registry import Registry as Registry
    from operable.host.session.session import Session as Session
    from operable.host.session.transcript import Said as Said
    from operable.host.session.turn import Turn as Turn
    from operable.host.session.turn import TurnResult as TurnResult
    from operable.host.start.options import StartOptions as StartOptions
    from operable.host.sync import SyncSession as SyncSession

_HOMES = {
    "AgentCliHandle": "operable.host.agent_cli",
    "Ask": "operable.gate.approvals",
    "Completion": "operable.host.agent_cli",
    "Conversations": "operable.host.continuation",
    "Decision": "operable.gate.approvals",
    "Limits": "operable.host.session.context",
    "Message": "operable.host.arm",
    "Policy": "operable.gate.policy.rules",
    "Record": "operable.host.session.log_files",
    "Registry": "operable.host.session.registry",
    "Said": "operable.host.session.transcript",
    "Session": "operable.host.session.session",
    "StartOptions": "operable.host.start.options",
    "SyncSession": "operable.host.sync",
    "Turn": "operable.host.session.turn",
    "TurnResult": "operable.host.session.turn",
    "agent": "operable.host.agent_cli",
    "answer_ask": "operable.gate.approvals",
    "complete": "operable.host.agent_cli",
    "define_agent_cli": "operable.host.agent_cli",
    "load_policy": "operable.gate.policy.policy_file",
    "pending_asks": "operable.gate.approvals",
    "read_log": "operable.host.session.log_files",
    "rules": "operable.gate.policy.policy_file",
    "verify_audit": "operable.gate.audit.chain",
}

__all__ = [
    "AgentCliHandle",
    "Ask",
    "Completion",
    "Conversations",
    "Decision",
    "Limits",
    "Message",
    "Policy",
    "Record",
    "Registry",
    "Said",
    "Session",
    "StartOptions",
    "SyncSession",
    "Turn",
    "TurnResult",
    "agent",
    "answer_ask",
    "complete",
    "define_agent_cli",
    "load_policy",
    "pending_asks",
    "read_log",
    "rules",
    "verify_audit",
]

__getattr__ = lazily(__name__, _HOMES)
