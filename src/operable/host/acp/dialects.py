"""How the two versions of the protocol say the same: initialize, log in, open a session, and choose a mode or a model.

Version 2 is a draft that real agents speak already. Which one is spoken is decided by the shape of the agent's answer, not
by its number: goose, openhands and the SDK's echo agent repeat any number while they speak version 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from operable.host.arm import Opened, Opening, PeerError
from operable.kernel.data_class import dataclass

_SPOKEN: Final = {1: "1", 2: "2"}


def initialize(opening: Opening, version: int) -> dict[str, Any]:
    """The parameters of `initialize`; a capability that the host does not grant is not mentioned."""
    client = {"name": opening.client_name, "version": opening.client_version}
    elicitation: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}} if opening.elicitation else {}
    if version == 2:
        return {"protocolVersion": 2, "info": client, "capabilities": elicitation}
    files = {"readTextFile": opening.fs_read, "writeTextFile": opening.fs_write}
    capabilities = {
        "fs": files,
        "terminal": opening.terminal,
        "session": {"configOptions": {"boolean": {}}},
        **elicitation,
    }
    return {"protocolVersion": 1, "clientInfo": client, "clientCapabilities": capabilities}


@dataclass(frozen=True, slots=True)
class Peer:
    """What the agent said about itself, in one shape for both versions."""

    version: int
    name: str = ""
    release: str = ""
    words: Mapping[str, bool] = field(default_factory=dict)
    auth_methods: tuple[str, ...] = ()

    @property
    def login(self) -> str:
        return "auth/login" if self.version == 2 else "authenticate"


def understood(answer: Mapping[str, Any]) -> Peer:
    """The agent's answer to `initialize`, by its shape."""
    second = "agentCapabilities" not in answer and ("capabilities" in answer or "info" in answer)
    info = _dict(answer.get("info" if second else "agentInfo"))
    said = _dict(answer.get("capabilities" if second else "agentCapabilities"))
    methods = [
        method.get("methodId") or method.get("id")
        for method in _list(answer.get("authMethods"))
        if isinstance(method, dict)
    ]
    return Peer(
        2 if second else 1,
        _text(info.get("name")),
        _text(info.get("version")),
        _second_words(said) if second else _first_words(said),
        tuple(method for method in methods if isinstance(method, str)),
    )


def _first_words(said: Mapping[str, Any]) -> dict[str, bool]:
    session = _dict(said.get("sessionCapabilities"))
    mcp = _dict(said.get("mcpCapabilities"))
    prompt = _dict(said.get("promptCapabilities"))
    return {
        "load": said.get("loadSession") is True,
        **{word: prompt.get(word) is True for word in ("image", "audio", "embeddedContext")},
        **{f"mcp.{word}": mcp.get(word) is True for word in ("http", "sse")},
        **{
            f"session.{word}": session.get(word) is not None
            for word in ("list", "resume", "close", "delete", "fork")
        },
    }


def _second_words(said: Mapping[str, Any]) -> dict[str, bool]:
    # Listing, resuming and closing are part of every session of version 2; an empty object says yes.
    session = _dict(said.get("session"))
    prompt = _dict(session.get("prompt"))
    mcp = _dict(session.get("mcp"))
    whole = said.get("session") is not None
    return {
        "load": False,
        **{word: prompt.get(word) is not None for word in ("image", "audio", "embeddedContext")},
        **{f"mcp.{word}": mcp.get(word) is not None for word in ("http", "sse", "stdio")},
        **{f"session.{word}": whole for word in ("list", "resume", "close")},
        **{f"session.{word}": session.get(word) is not None for word in ("delete", "fork")},
    }


# --- opening a session ---------------------------------------------------------------------------------------------------


def open_session(opening: Opening, peer: Peer) -> tuple[str, dict[str, Any]]:
    """The request that opens the session: its method and its parameters."""
    where = {"cwd": opening.cwd, "mcpServers": [_server(given, peer) for given in opening.mcp_servers]}
    if opening.resume is None:
        return "session/new", where
    params = {"sessionId": opening.resume, **where}
    if peer.words["session.resume"]:
        return "session/resume", params
    if peer.words["load"]:
        return "session/load", params
    raise PeerError("resume_unsupported", "The agent cannot resume an earlier session.")


def _server(given: Mapping[str, Any], peer: Peer) -> dict[str, Any]:
    transport = given.get("transport") or given.get("type") or ("http" if given.get("url") else "stdio")
    name = _text(given.get("name"))
    if transport == "stdio":
        server = {
            "name": name,
            "command": _text(given.get("command")),
            "args": [str(word) for word in given.get("args") or ()],
            "env": _pairs(given.get("env")),
        }
        return {"type": "stdio", **server} if peer.version == 2 else server
    if not peer.words.get(f"mcp.{transport}"):
        raise PeerError(
            "mcp_transport_unsupported",
            f"The agent takes no MCP server over {transport}, as {name!r} would be.",
        )
    url = _text(given.get("url"))
    return {"type": transport, "name": name, "url": url, "headers": _pairs(given.get("headers"))}


def _pairs(given: Any) -> list[dict[str, str]]:
    if isinstance(given, Mapping):
        return [{"name": str(name), "value": str(value)} for name, value in given.items()]
    return [dict(pair) for pair in given or ()]


# --- modes, models, options ----------------------------------------------------------------------------------------------


class SessionSettings:
    """What can be chosen in the session, as the agent reported last, and the request that chooses it."""

    def __init__(self) -> None:
        self.second = False
        self.modes: tuple[str, ...] = ()
        self.models: tuple[str, ...] = ()
        self.mode: str | None = None
        self.model: str | None = None
        self.options: dict[str, dict[str, Any]] = {}

    def learn(self, answer: Mapping[str, Any]) -> None:
        """From the answer that opened the session, or an update."""
        modes, models = _dict(answer.get("modes")), _dict(answer.get("models"))
        if modes:
            self.modes = _ids(modes.get("availableModes"), "id")
            self.mode = _text(modes.get("currentModeId")) or None
        if models:
            self.models = _ids(models.get("availableModels"), "modelId")
            self.model = _text(models.get("currentModelId")) or None
        if isinstance(answer.get("configOptions"), list):
            self.learn_options(answer["configOptions"])

    def learn_options(self, offered: Sequence[Any]) -> None:
        self.options = {}
        for option in offered:
            key = option.get("configId", option.get("id")) if isinstance(option, dict) else None
            if not isinstance(key, str):
                continue
            values = list(_values(option.get("options")))
            self.options[key] = {
                "name": _text(option.get("name")) or key,
                "category": option.get("category") or "",
                "type": option.get("type") or "select",
                "value": option.get("currentValue"),
                "values": values,
            }
        mode, model = self._option_of("mode"), self._option_of("model")
        if mode is not None:
            self.mode = _text(self.options[mode]["value"]) or None
            self.modes = self.modes or tuple(self.options[mode]["values"])
        if model is not None:
            self.model = _text(self.options[model]["value"]) or None
            self.models = tuple(self.options[model]["values"])

    def chosen(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """A request of ours that chose something was granted."""
        self.mode = request.get("modeId", self.mode)
        self.model = request.get("modelId", self.model)
        self.learn(answer)

    def plain(self) -> dict[str, Any]:
        """The current value of every option."""
        return {key: option["value"] for key, option in self.options.items()}

    def choose_mode(self, session_id: str, mode: str) -> tuple[str, dict[str, Any]] | None:
        """None: the agent has no such mode."""
        if mode not in self.modes:
            return None
        option = self._option_of("mode")
        if option is not None and mode in self.options[option]["values"]:
            return self.choose(session_id, option, mode)
        if self.second:
            return None
        return "session/set_mode", {"sessionId": session_id, "modeId": mode}

    def choose_model(self, session_id: str, model: str) -> tuple[str, dict[str, Any]] | None:
        option = self._option_of("model")
        if option is not None and model in self.options[option]["values"]:
            return self.choose(session_id, option, model)
        if model in self.models and not self.second and option is None:
            return "session/set_model", {"sessionId": session_id, "modelId": model}
        return None

    def choose(self, session_id: str, key: str, value: Any) -> tuple[str, dict[str, Any]] | None:
        option = self.options.get(key)
        if option is None:
            return None
        params = {"sessionId": session_id, "configId": key}
        if option["type"] == "boolean":
            if not isinstance(value, bool):
                return None
            return "session/set_config_option", {**params, "type": "boolean", "value": value}
        if str(value) not in option["values"]:
            return None
        kind = {"type": "id"} if self.second else {}
        return "session/set_config_option", {**params, **kind, "value": str(value)}

    def _option_of(self, category: str) -> str | None:
        return next((key for key, option in self.options.items() if option["category"] == category), None)


def opened(session_id: str | None, peer: Peer, settings: SessionSettings) -> Opened:
    words = peer.words
    return Opened(
        session_id,
        peer.name,
        peer.release,
        _SPOKEN[peer.version],
        dict(words),
        settings.modes,
        settings.mode,
        settings.models,
        settings.model,
        settings.plain(),
        peer.auth_methods,
        {
            "resumable": words["load"] or words["session.resume"],
            "multimodal": words["image"] or words["audio"],
        },
    )


def _values(options: Any) -> Sequence[str]:
    found: list[str] = []
    for option in _list(options):
        if isinstance(option, dict) and isinstance(option.get("options"), list):
            found += _values(option["options"])
        elif isinstance(option, dict) and isinstance(option.get("value"), str):
            found.append(option["value"])
    return found


def _ids(offered: Any, name: str) -> tuple[str, ...]:
    return tuple(
        item[name] for item in _list(offered) if isinstance(item, dict) and isinstance(item.get(name), str)
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
