"""From a fresh process to an open session: initialize, log in where it is asked for, open or resume a session, choose.

Each step is a request, and its response leads to the next. Whatever is not available ends the handshake with a
`PeerError`: a session in another mode than the wanted one would be a session with other rights.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from operable.host.acp import dialects
from operable.host.acp.values import AUTH_REQUIRED, UNSUPPORTED_VERSION
from operable.host.agent_failure import explained
from operable.host.arm import Happening, NeedsAuth, Opening, PeerError
from operable.wire.jsonrpc import RpcError, RpcLink

Wish = tuple[str, dict[str, Any]]
"""A request that chooses something: its method and its parameters."""

_BARRIER: Final = "_operable/barrier"
"""A request that no agent knows. While it is refused, the agent goes on with what it writes."""
_QUIET: Final = 2
"""Refusals in a row without any history between them, after which the history is over."""
_ROUNDS: Final = 1000
"""Refusals after which it is not waited for any longer; the handshake has a deadline besides."""


class Handshake:
    """The opening of one session. `heard` counts the replayed words: those of the agent, and all of them."""

    def __init__(self, link: RpcLink, opening: Opening, heard: Callable[[], tuple[int, int]]) -> None:
        self._link = link
        self._opening = opening
        self._heard = heard
        self._counted = self._quiet = self._rounds = 0
        self._logged_in = False
        self._wanted = 0
        self.peer = dialects.Peer(1)
        self.settings = dialects.SessionSettings()
        self.agent_id: str | None = None
        self.replaying = False
        """The agent repeats the history of the session that it resumes."""
        self.ready = False

    def start(self) -> None:
        self._initialize(2 if self._opening.quirks.get("acp_version") == 2 else 1)

    def wishes(self, mode: str | None, model: str | None, options: Mapping[str, Any]) -> list[Wish] | None:
        """The requests that choose these; None: the agent does not have all of them."""
        session_id, settings = self.agent_id or "", self.settings
        wishes: list[Wish | None] = []
        if mode is not None and mode != settings.mode:
            wishes.append(settings.choose_mode(session_id, mode))
        if model is not None and model != settings.model:
            wishes.append(settings.choose_model(session_id, model))
        wishes += [settings.choose(session_id, key, value) for key, value in options.items()]
        found = [wish for wish in wishes if wish is not None]
        return found if len(found) == len(wishes) else None

    def _initialize(self, version: int, *, again: bool = False) -> None:
        params = dialects.initialize(self._opening, version)
        self._link.request("initialize", params, (self._on_initialize, version, again))

    def _on_initialize(
        self, result: dict[str, Any], error: RpcError | None, version: int, again: bool
    ) -> list[Happening]:
        if error is not None:
            other = _other_version(error, version)
            if other is None or again:
                raise PeerError(
                    "handshake_failed",
                    f"The agent refused to initialize: {explained(error.message, error.data)}",
                    error.data,
                )
            self._initialize(other, again=True)
            return []
        self.peer = dialects.understood(result)
        self.settings.second = self.peer.version == 2
        self._open_session()
        return []

    def _open_session(self) -> None:
        method, params = dialects.open_session(self._opening, self.peer)
        self.replaying = self._opening.resume is not None
        self._link.request(method, params, (self._on_open, method))

    def _on_open(self, result: dict[str, Any], error: RpcError | None, method: str) -> list[Happening]:
        if error is not None:
            return self._not_opened(error)
        agent_id = result.get("sessionId") or self._opening.resume
        if not isinstance(agent_id, str):
            raise PeerError("handshake_failed", "The agent opened a session without an id.")
        self.agent_id = agent_id
        self.settings.learn(result)
        words, self._counted = self._heard()
        if method == "session/load" and not words:
            # Gemini answers first and replays the history afterwards, piece by piece.
            return self._wait()
        return self._choose()

    def _wait(self) -> list[Happening]:
        self._rounds += 1
        self._link.request(_BARRIER, {}, (self._on_barrier,))
        return []

    def _not_opened(self, error: RpcError) -> list[Happening]:
        if error.code != AUTH_REQUIRED:
            code = "session_refused" if self._opening.resume is None else "resume_failed"
            raise PeerError(
                code, f"The agent opened no session: {explained(error.message, error.data)}", error.data
            )
        if self._opening.auth_method is None or self._logged_in:
            return [NeedsAuth(explained(error.message, error.data), self.peer.auth_methods)]
        # Only now: an agent that is logged in already would start its login all over, in a browser.
        self._logged_in = True
        self._link.request(self.peer.login, {"methodId": self._opening.auth_method}, (self._on_login,))
        return []

    def _on_login(self, _result: dict[str, Any], error: RpcError | None) -> list[Happening]:
        if error is not None:
            return [NeedsAuth(explained(error.message, error.data), self.peer.auth_methods)]
        self._open_session()
        return []

    def _on_barrier(self, _result: dict[str, Any], _error: RpcError | None) -> list[Happening]:
        _, counted = self._heard()
        self._quiet = self._quiet + 1 if counted == self._counted else 0
        self._counted = counted
        return self._choose() if self._quiet >= _QUIET or self._rounds >= _ROUNDS else self._wait()

    def _choose(self) -> list[Happening]:
        opening = self._opening
        wishes = self.wishes(opening.mode, opening.model, opening.options)
        if wishes is None:
            wanted = [opening.mode, opening.model, *opening.options]
            names = ", ".join(str(name) for name in wanted if name is not None)
            raise PeerError("select_failed", f"The agent does not have all that was chosen: {names}.")
        for wish in wishes:
            self._wanted += 1
            self._link.request(*wish, (self._on_chosen, wish[1]))
        return [] if wishes else self._opened()

    def _on_chosen(
        self, result: dict[str, Any], error: RpcError | None, chosen: dict[str, Any]
    ) -> list[Happening]:
        if error is not None:
            what = chosen.get("modeId") or chosen.get("modelId") or chosen.get("configId")
            raise PeerError(
                "select_failed",
                f"The agent refused to choose {what}: {explained(error.message, error.data)}",
                error.data,
            )
        self.settings.chosen(chosen, result)
        self._wanted -= 1
        return [] if self._wanted else self._opened()

    def _opened(self) -> list[Happening]:
        self.ready = True
        return [dialects.opened(self.agent_id, self.peer, self.settings)]


def _other_version(error: RpcError, version: int) -> int | None:
    """Which version to try after a refusal; None: none."""
    if version == 2:
        return 1
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    offered = supported if isinstance(supported, list) else []
    return 2 if error.code == UNSUPPORTED_VERSION and 2 in offered else None
