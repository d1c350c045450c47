"""What a model is asked, in one form for all vendors: who said what, and which tools are on offer.

`position` finds the place in a script. The server keeps no conversations: the marker in the last prompt that has one names
the script, and the replies that the model gave since then say how far it has come. So one server serves any number of
agents and sessions at once, and a resumed session is at the right place by itself.
"""

from typing import Any, NamedTuple

from operable.testing.script import marked


class Spoken(NamedTuple):
    role: str
    """user, assistant, tool, system"""
    text: str


class Offered(NamedTuple):
    """A tool that the model may call."""

    name: str
    schema: dict[str, Any]
    freeform: bool = False
    """takes text instead of a JSON object"""
    namespace: str = ""


class Asked(NamedTuple):
    model: str
    streamed: bool
    spoken: list[Spoken]
    tools: list[Offered]

    @property
    def prompt(self) -> str:
        """The last thing that a user said."""
        return next((said.text for said in reversed(self.spoken) if said.role == "user"), "")

    @property
    def system(self) -> str:
        return "\n".join(said.text for said in self.spoken if said.role == "system")


class ScriptPosition(NamedTuple):
    script: str | list[Any] | None
    round: int
    """how many replies the model has given since the prompt that names the script"""


def position(asked: Asked) -> ScriptPosition:
    for index in range(len(asked.spoken) - 1, -1, -1):
        said = asked.spoken[index]
        wanted = marked(said.text) if said.role == "user" else None
        if wanted is not None:
            return ScriptPosition(wanted, _replies(asked.spoken[index + 1 :]))
    return ScriptPosition(None, 0)


def _replies(spoken: list[Spoken]) -> int:
    """Runs of what the assistant said: some vendors split one reply into several items."""
    count, before = 0, ""
    for said in spoken:
        if said.role == "assistant" and before != "assistant":
            count += 1
        before = said.role
    return count


def text_of(content: Any) -> str:
    """The text in a vendor's content: a string, or a list of parts of which some have text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
    )
