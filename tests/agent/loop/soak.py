"""A long conversation with a model that has a small window: `python -m tests.agent.loop.soak [TURNS]`.

The model server refuses what its model cannot contain, and what breaks the rules of its vendor. So each turn that is answered
was sent as a valid conversation that fits.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from operable.agent.assembly import tools
from operable.agent.instructions import system_prompt
from operable.agent.loop.run import AgentRun
from operable.agent.provider.model import ProviderSettings
from operable.agent.session.conversation import SessionConversation, Tuning
from operable.agent.session.history import TextBlock
from operable.agent.session.store import NullStore
from operable.agent.tool.permissions import Permissions
from operable.kernel import catalogue
from operable.testing.models import ModelServer
from operable.testing.vendor_rules import tokens
from operable.wire import json_stream as protocol

WINDOW = 8192
PROSE = "All that we have found so far, in many words. " * 20


class Soaked(NamedTuple):
    answered: int
    largest: int  # tokens of a request that was accepted
    refused: int  # requests that the server refused
    errors: list[str]
    compactions: int


def conversation(workspace: Path, url: str, provider: str = "openai", **tuning: Any) -> SessionConversation:
    model = catalogue.load("operable.agent.providers", provider, "MODEL", kind="provider")
    base = f"{url}/v1" if provider.startswith("openai") else url
    options = {"workspace": str(workspace)}
    return SessionConversation(
        provider=model,
        session=model.configure(ProviderSettings(base, "k", {})),
        tuning=Tuning(
            "local-model", compaction="full", system_prompt=system_prompt(str(workspace), None), **tuning
        ),
        toolbox=tools(options, {}),
        workspace=str(workspace),
        environment={"PATH": "/usr/bin:/bin"},
        store=NullStore(),
        permissions=Permissions("yolo"),
    )


def say(talk: SessionConversation, text: str) -> list[protocol.Event]:
    events: list[protocol.Event] = []
    AgentRun(talk, "m", events.append).work([TextBlock(text)])
    return events


def soak(workspace: Path, turns: int, *, provider: str = "openai", window: int | None = WINDOW) -> Soaked:
    """`window`: what the agent is told; None: it learns it from the first refusal."""
    (workspace / "notes").write_text("A line of notes that a model may read.\n" * 60)
    call = f'{{"call":"Read","args":{{"file_path":"{workspace}/notes"}}}}'
    answered, compactions, errors = 0, 0, []
    with ModelServer(default=[[{"say": PROSE}]], window=WINDOW) as server:
        talk = conversation(workspace, server.url, provider, window=window)
        for number in range(turns):
            script = (
                f'SCRIPT:[[{call}],[{{"say":"Answer {number}."}}]]'
                if number % 2
                else f"Tell me about {number}."
            )
            events = say(talk, script)
            text = "".join(event.text for event in events if isinstance(event, protocol.TextDeltaFrame))
            answered += bool(text)
            errors += [event.error.message for event in events if isinstance(event, protocol.ErrorFrame)]
            notes = [event.message for event in events if isinstance(event, protocol.InfoFrame)]
            compactions += sum("context" in note for note in notes)
        talk.session.close()
        accepted = [exchange for exchange in server.exchanges if exchange.status == 200]
        refused = len(server.exchanges) - len(accepted)
        return Soaked(answered, max(tokens(each.body) for each in accepted), refused, errors, compactions)


def main(arguments: list[str]) -> int:
    turns = int(arguments[0]) if arguments else 200
    with tempfile.TemporaryDirectory() as folder:
        for provider in ("openai", "anthropic", "openai-responses"):
            result = soak(Path(folder), turns, provider=provider)
            sys.stdout.write(f"{provider}: {turns} turns, {result}\n")
            if result.answered != turns or result.errors or result.largest > WINDOW:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
