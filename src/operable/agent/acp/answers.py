"""Parts of answers to an editor: its sessions, what can be chosen in one, how a key is provided, and refusals.

Plain functions; the methods of the protocol that use them are in `server`. A refusal keeps our own code and hint beside
the number that editors know.
"""

import os
from typing import Any

from acp import RequestError, schema

from operable.agent.acp import settings
from operable.agent.acp.session import AcpSession
from operable.agent.places import sessions_folder
from operable.agent.session.store import Listed, Sessions
from operable.kernel.errors import Fail

_CODES = {"not_found": -32002, "usage": -32602, "validation": -32602, "conflict": -32600}


def listed(cwd: str | None) -> list[Listed]:
    wanted = None if cwd is None else os.path.realpath(cwd)
    return [each for each in Sessions(sessions_folder()).listing() if wanted is None or each.cwd == wanted]


def workspace(cwd: str) -> str:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise RequestError.invalid_params({"message": f"cwd is not an absolute path of a folder: {cwd}"})
    return os.path.realpath(cwd)


def chosen(session: AcpSession) -> dict[str, Any]:
    return {
        "modes": settings.modes(session.conversation),
        "config_options": settings.config_options(session.conversation),
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
