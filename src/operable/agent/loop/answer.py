"""One answer of a model, as it came: what was thought, said and called, in its order.

The order is the provider's own and goes back to it unchanged: a signed thought belongs to what follows it, and there may
be several. A thought ends with its signature or with its provider's data, which come in a piece of their own.
"""

from operable.agent.provider.model import Called, Said, Thought
from operable.agent.session.history import Block, Text, Thinking, ToolUse


class Answer:
    def __init__(self) -> None:
        self._pieces: list[Said | Thought | Called] = []

    def add(self, piece: Said | Thought | Called) -> None:
        self._pieces.append(piece)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self._pieces if isinstance(piece, Said))

    @property
    def calls(self) -> list[Called]:
        return [piece for piece in self._pieces if isinstance(piece, Called)]

    def drop_calls(self) -> None:
        self._pieces = [piece for piece in self._pieces if not isinstance(piece, Called)]

    def blocks(self) -> tuple[Block, ...]:
        """The assistant's turn."""
        blocks: list[Block] = []
        said: list[str] = []
        thought: list[str] = []
        for piece in self._pieces:
            if not isinstance(piece, Said):
                _close(blocks, said, Text)
            if not isinstance(piece, Thought):
                _close(blocks, thought, Thinking)
            match piece:
                case Said(text):
                    said.append(text)
                case Called(call_id, name, arguments):
                    blocks.append(ToolUse(call_id, name, dict(arguments)))
                case Thought(text, signature, data):
                    thought.append(text)
                    if signature or data is not None:
                        blocks.append(Thinking("".join(thought), signature, data))
                        thought.clear()
        _close(blocks, said, Text)
        _close(blocks, thought, Thinking)
        return tuple(blocks)


def _close(blocks: list[Block], pieces: list[str], kind: type[Text] | type[Thinking]) -> None:
    if text := "".join(pieces):
        blocks.append(kind(text))
    pieces.clear()
