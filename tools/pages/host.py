"""docs/reference/host.md: driving agents, from the signatures and docstrings of operable.host."""

from tools.api import gaps, page

PATH = "docs/reference/host.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "Starting": ("agent", "define_agent_cli", "AgentCliHandle", "StartOptions", "Limits"),
    "A session": ("Session", "Message", "Turn", "TurnResult", "Conversations"),
    "Without an event loop": ("SyncSession",),
    "One question, one answer": ("complete", "Completion"),
    "Rules and questions": (
        "rules",
        "load_policy",
        "Policy",
        "Ask",
        "Decision",
        "pending_asks",
        "answer_ask",
    ),
    "Records": ("Registry", "Record", "read_log", "Said", "verify_audit"),
}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "AgentCliHandle": {
        "id": "The id of the manifest.",
        "manifest": "The manifest as a typed value.",
        "loaded": "",
        "trusted": "Whether the manifest may be acted on; None: as the approvals of the user say.",
    },
    "StartOptions": {
        "workspace": "The folder that the agent works in.",
        "is_judged": "Whether `workspace` is a real path that was judged: a path that leads elsewhere by now is refused.",
        "mode": "One of the modes of the manifest; its default when left out.",
        "model": "One of the models of the manifest.",
        "options": "Values for the options of the manifest.",
        "continuation": "The strategy by which earlier turns reach the agent; the manifest's when left out.",
        "policy": "The rules, or the path of a policy file; None: every question is denied unless `on_ask` answers.",
        "on_ask": "Called with each question that no rule answers.",
        "session_id": "The id of the new session; one is made when left out.",
        "env": "Variables for the agent beyond those that its manifest names; their values are masked.",
        "limits": "How long each wait may take.",
        "label": "A name for people, shown by `operable agent sessions`.",
        "origin": "Where the session comes from, for its meta data: ground, agent, the session that asked for it.",
        "mcp_servers": "MCP servers that the agent is to use.",
        "sandbox": 'A provider in place of the manifest\'s; "none": no sandbox, with all rights of the host.',
        "secret_backends": "Where secrets are looked for, in this order.",
        "report": "Called with what a start has to say while it goes on.",
    },
    "Session": {
        "id": "The id under which the session is kept.",
        "log": "The durable log of its events.",
        "status": "`starting`, `running`, `exited`, `killed` or `error`.",
        "opened": "What the agent said of itself in the handshake.",
        "on_collapse": "",
        "on_idle": "",
        "context": "",
        "on_exit": "",
        "ready": "",
        "make_link": "",
        "on_close": "",
    },
    "Message": {
        "text": "What is said.",
        "files": "Paths of files that go with it.",
        "message_id": "An id of the caller's own, for protocols that carry one.",
    },
    "Turn": {
        "end": "The turn-end event, once it was read.",
        "first_id": "The number of its first event in the log.",
        "session": "",
        "reader": "",
    },
    "TurnResult": {
        "ok": "Whether the turn was completed.",
        "reason": "Why it ended, as its turn-end says.",
        "text": "What the agent said.",
        "usage": "Tokens and cost, if the agent reports them.",
        "errors": "What it reported as errors.",
        "tool_calls": "How many tool calls were seen.",
        "first_id": "The number of its first event in the log.",
        "last_id": "The number of its last event in the log.",
    },
    "SyncSession": {
        "id": "See `Session`.",
        "status": "See `Session`.",
        "agent_session_id": "See `Session`.",
        "asks": "See `Session`.",
        "cancel": "End the running turn. False: none was running.",
        "answer": "Answer a question.",
        "select": "Change the mode or the model.",
        "close": "End the session and its agent.",
        "session": "",
    },
    "Completion": {
        "result": "What the agent said.",
        "reason": "Why the turn ended.",
        "usage": "Tokens and cost, if the agent reports them.",
    },
    "Policy": {
        "judge": "What the rules say of a call: the effect, and the rule that decided.",
        "rules": "The rules, in their order.",
        "default": "What happens to a question that no rule answers: `deny`, `ask` or `allow`.",
        "autonomy": "A ceiling over every allow (AIP-7), from 0 (asks about everything) to 4 (none).",
        "budget": "Limits of a session: turns, tokens, usd, seconds.",
        "ask_timeout": "Seconds that a question waits; then it is denied.",
        "unless": "Patterns of calls that are allowed in place of the default, where no rule is about them.",
    },
    "Ask": {
        "id": "The id to answer it by.",
        "session_id": "The session that asks.",
        "kind": "`permission`, `input` or `budget`.",
        "text": "The question, for people.",
        "tool": "The tool that the agent wants to call.",
        "tool_kind": "The kind of that tool: `execute`, `edit`, `read` and so on.",
        "arguments": "The arguments of the call.",
        "options": "The answers that the agent offers.",
        "schema": "The form of the input that is asked for.",
        "url": "An address at which the user answers.",
        "digest": "The digest of the tool and its arguments, which an answer repeats.",
        "why": "Why no rule answered it.",
    },
    "Decision": {
        "allowed": "Whether the agent may.",
        "reason": "Why, for the agent and the audit.",
        "by": "Who decided.",
        "option_id": "The chosen one of the options.",
        "content": "The input that was asked for.",
        "remember": "For which later calls it also holds.",
        "digest": "The digest of the question that was shown; another one is refused.",
        "cancelled": "Whether the question was withdrawn.",
    },
    "Registry": {
        "workspace_folder": "The folder with the sessions of a workspace.",
        "audit_path": "The file of the audit chain of a workspace.",
    },
    "Record": {
        "id": "Its number.",
        "at": "Milliseconds since 1970.",
        "event": "The event.",
    },
    "Said": {
        "who": "`user` or `agent`.",
        "text": "What was said.",
    },
}


def render() -> str:
    return page("operable.host", PARTS, TEXTS, "[drive an agent](../guides/drive-an-agent.md)")


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.host", PARTS, TEXTS)
