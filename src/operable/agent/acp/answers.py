"""Parts of answers to an editor: its sessions, what can be chosen in one, how a key is provided, and refusals.

Plain functions; the methods of the protocol that use them are in `server`. A refusal keeps our own code and hint beside
the number that editors know.

What can be chosen is the mode, and the options of the model, each with all of its values. The three modes are offered
twice, as session modes and as a config option, because editors know one or the other. A model is named, not listed:
providers have more than could be listed here, so any name is accepted, and what was named is offered from then on.
"""

import os
from typing import Any

from acp import RequestError, schema
from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from operable.agent.acp.session import AcpSession
from operable.agent.places import sessions_folder
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.store import Sessions, StoredSession
from operable.agent.tool.permissions import MODES
from operable.kernel.errors import Fail
from operable.wire.json_stream import SetConfigFrame

_CODES = {"not_found": -32002, "usage": -32602, "validation": -32602, "conflict": -32600}
_MODES = {
    "default": ("Ask", "Asks before every tool that was not allowed."),
    "auto_edit": (
        "Edit without asking",
        "Reads and edits without asking; asks before commands and foreign tools.",
    ),
    "yolo": ("Ask nothing", "Every tool runs without a question."),
}
_THINKING = {"enabled": "On", "disabled": "Off"}


def modes(conversation: SessionConversation) -> SessionModeState:
    available = [SessionMode(id=mode, name=_MODES[mode][0], description=_MODES[mode][1]) for mode in MODES]
    return SessionModeState(current_mode_id=conversation.desk.permissions.mode, available_modes=available)


def config_options(conversation: SessionConversation) -> list[SessionConfigOptionSelect]:
    """All of them, as they are now."""
    tuning, provider = conversation.tuning, conversation.provider
    models = dict.fromkeys((provider.default_model, tuning.model))
    options = [
        _select(
            "mode", "Mode", "mode", conversation.desk.permissions.mode, {id: _MODES[id][0] for id in MODES}
        ),
        _select("model", "Model", "model", tuning.model, {name: name for name in models}),
    ]
    if provider.thinking:
        current = "disabled" if tuning.thinking_budget is None else "enabled"
        options.append(_select("thinking", "Thinking", "thought_level", current, _THINKING))
    if provider.effort_levels:
        levels = {"": "As the model likes"} if tuning.effort is None else {}
        levels |= {level: level for level in provider.effort_levels}
        options.append(_select("effort", "Effort", "thought_level", tuning.effort or "", levels))
    return options


def choose(conversation: SessionConversation, option: str, value: str | bool) -> None:
    """Choose a value; a running turn goes on with it from its next model call."""
    known = {known.id: known for known in config_options(conversation)}
    if option not in known:
        raise RequestError.invalid_params({"message": f"There is no option {option!r}", "known": list(known)})
    offered = [
        choice.value for choice in known[option].options if isinstance(choice, SessionConfigSelectOption)
    ]
    if not isinstance(value, str) or (value not in offered and option != "model") or not value.strip():
        raise RequestError.invalid_params({"message": f"{option} has no value {value!r}", "known": offered})
    if option == "mode":
        conversation.desk.permissions.mode = value
        return
    wish: dict[str, Any] = {option: value}
    config = SetConfigFrame(**wish)
    if (problem := conversation.config_problem(config)) is not None:
        raise RequestError.invalid_params({"message": problem})
    conversation.configure(config)


def _select(
    id: str, name: str, category: str, current: str, values: dict[str, str]
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        type="select",
        id=id,
        name=name,
        category=category,  # type: ignore[arg-type]  # one of the words of the protocol
        current_value=current,
        options=[SessionConfigSelectOption(value=value, name=label) for value, label in values.items()],
    )


def listed(cwd: str | None) -> list[StoredSession]:
    wanted = None if cwd is None else os.path.realpath(cwd)
    return [each for each in Sessions(sessions_folder()).listing() if wanted is None or each.cwd == wanted]


def forget(session_id: str) -> None:
    try:
        Sessions(sessions_folder()).remove(session_id)
    except Fail as problem:
        raise refusal(problem) from problem


def workspace(cwd: str) -> str:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise RequestError.invalid_params({"message": f"cwd is not an absolute path of a folder: {cwd}"})
    return os.path.realpath(cwd)


def chosen(session: AcpSession) -> dict[str, Any]:
    return {
        "modes": modes(session.conversation),
        "config_options": config_options(session.conversation),
    }


def key_method(provider: str, variable: str) -> schema.EnvVarAuthMethod:
    return schema.EnvVarAuthMethod(
        type="env_var",
        id=f"{provider}-key",
        name=f"Key of {provider}",
        description=f"Start the agent with {variable}",
        vars=[schema.AuthEnvVar(name=variable)],
    )


def refusal(problem: Fail) -> RequestError:
    data = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    if problem.code in ("NO_PROVIDER", "PROVIDER_MISCONFIGURED"):
        return RequestError(-32000, f"Authentication required: {problem.message}", data)
    return RequestError(_CODES.get(problem.category, -32603), problem.message, data)
