"""Control lines beside the conversation of Claude Code: requests of ours and which are open, and answers to the agent's."""

from typing import Any

from operable.host.conversation import Conversation


class Control:
    """`open`: our requests that wait for an answer, what each is for, and the value that it sets."""

    def __init__(self, books: Conversation) -> None:
        self.open: dict[str, tuple[str, Any]] = {}
        self._books = books
        self._numbered = 0

    def request(self, subtype: str, value: Any, **fields: Any) -> None:
        self._numbered += 1
        request_id = f"operable-{self._numbered}"
        self.open[request_id] = (subtype, value)
        request = {"subtype": subtype, **fields}
        self._books.write_json({"type": "control_request", "request_id": request_id, "request": request})

    def respond(self, control_id: str, response: dict[str, Any]) -> None:
        self._answer({"subtype": "success", "request_id": control_id, "response": response})

    def refuse(self, control_id: str, error: str) -> None:
        self._answer({"subtype": "error", "request_id": control_id, "error": error})

    def _answer(self, response: dict[str, Any]) -> None:
        self._books.write_json({"type": "control_response", "response": response})
