"""One request to the model server and its outcome, for tests to look at.

Credentials are not kept: headers and parameters that carry one are replaced, and a digest of the credential is kept
instead, so that a test can ask whether a request carried a certain one (`carried`) and a log can be published.
"""

import hashlib
from typing import Any

from operable.testing.dialect import Asked, ScriptPosition
from operable.testing.http_edge import EdgeRequest

_CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "x-amz-security-token")
_REPLACED = "(credential)"


class Exchange:
    """One request to a `ModelServer`, and what became of it."""

    def __init__(
        self, number: int, request: EdgeRequest, dialect: str, asked: Asked, at: ScriptPosition
    ) -> None:
        self.number = number
        self.dialect = dialect
        self.path = request.path
        self.headers = {
            name: _REPLACED if name in _CREDENTIALS else value for name, value in request.headers.items()
        }
        self.body: Any = request.json()
        self.asked = asked
        self.position = at
        self.aside = False
        """whether this was not a turn of the conversation but a request of the agent's own: a title, a summary"""
        self.status = 0
        """known before the client sees the answer; the outcome is known a moment after it (`ModelServer.wait`)"""
        self.outcome = "open"
        """open, completed, disconnected (by the client), cut (by the script), failed (with an error status)"""
        self._credentials = {_digest(credential) for credential in _credentials(request)}

    def carried(self, credential: str) -> bool:
        """Whether the request was made with this key or token."""
        return _digest(credential) in self._credentials

    def document(self) -> dict[str, Any]:
        """For the log: what happened, without the bodies that make logs unreadable."""
        return {
            "number": self.number,
            "dialect": self.dialect,
            "path": self.path,
            "model": self.asked.model,
            "streamed": self.asked.streamed,
            "prompt": self.asked.prompt,
            "tools": [tool.name for tool in self.asked.tools],
            "tool_results": [said.text for said in self.asked.spoken if said.role == "tool"],
            "script": self.position.script,
            "round": self.position.round,
            "aside": self.aside,
            "status": self.status,
            "outcome": self.outcome,
        }


def _credentials(request: EdgeRequest) -> list[str]:
    values = [request.headers[name] for name in _CREDENTIALS if name in request.headers]
    values += [value.partition(" ")[2] for value in values]
    return [*values, request.query.get("key", "")]


def _digest(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()
