"""Records the cassettes of tests/host/cassettes from the real agents: `python -m tests.agents.record [FOLDERS]`.

Each folder is one agent on one protocol, each file one short conversation with its own process: text, a second turn,
a tool call allowed and denied, a cancel and what comes after, resuming in a fresh process, an error of the model. Run it again
when a pin of agents.toml moves (`AIONRS_BIN=… python -m tests.agents.record aionrs-0.2.10` for what has no pin), and look at the difference: it is the change of the agent's wire.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from operable.testing.models import ModelServer
from tests.agents import talk_acp, talk_aionrs, talk_claude, talk_codex, talk_once
from tests.agents.install import BIN, DIRECTORY, PINS
from tests.agents.loopback import KEY, environment
from tests.agents.wire import Wire

CASSETTES = Path(__file__).parents[1] / "host" / "cassettes"


class Studio:
    """One agent on one protocol, with a home and a workspace that its conversations share."""

    def __init__(self, agent: str, protocol: str, folder: str, models: ModelServer, root: Path) -> None:
        self.agent = agent
        self.protocol = protocol
        self.folder = folder
        self.home = root / "home"
        self.work = root / "work"
        self.elsewhere = root / "elsewhere"
        self.work.mkdir()
        self.elsewhere.mkdir()
        self.env = environment(agent, self.home, models.url)
        self._replacements = {
            str(self.work): "/work/project",
            str(self.elsewhere): "/work/elsewhere",
            str(self.elsewhere).lstrip("/"): "work/elsewhere",
            str(self.home): "/home/agent",
            str(DIRECTORY): "/opt/agents",
            models.url: "http://127.0.0.1:1",
            KEY: "(key)",
        }

    @contextmanager
    def take(self, scenario: str, argv: list[str], *, stdin: bool = True) -> Iterator[Wire]:
        with Wire([str(BIN / argv[0]), *argv[1:]], self.env, self.work, stdin=stdin) as wire:
            yield wire
            wire.finish()
        pin = PINS.get(self.agent, {"pip": self.folder})
        label = {
            "agent": self.agent,
            "protocol": self.protocol,
            "scenario": scenario,
            "package": pin.get("npm") or pin["pip"],
            "argv": [Path(argv[0]).name, *argv[1:]],
        }
        wire.save(CASSETTES / self.folder / f"{scenario}.jsonl", label, self._replacements)
        print(f"{self.folder}/{scenario}", file=sys.stderr, flush=True)

    def write(self, name: str, *after: str) -> str:
        """A prompt whose script writes a file and then says something."""
        call = {"call": "write", "args": {"path": str(self.work / name), "text": "made\n"}}
        return script([{"say": "Writing."}, call], *([{"say": text}] for text in after))


def script(*replies: list[Any]) -> str:
    return "SCRIPT:" + json.dumps(list(replies))


def _aionrs(studio: Studio) -> None:
    talk_aionrs.record(studio, ["--provider", "anthropic", "--model", "claude-sonnet-5"])


Talk = Callable[[Studio], None]
FOLDERS: dict[str, tuple[str, str, Talk]] = {
    "goose": ("goose", "acp", lambda studio: talk_acp.record(studio, ["goose", "acp"])),
    "codex": ("codex", "acp", lambda studio: talk_acp.record(studio, ["codex-acp"])),
    "gemini": ("gemini", "acp", lambda studio: talk_acp.record(studio, ["gemini", "--acp"])),
    "claude-code": ("claude-code", "acp", lambda studio: talk_acp.record(studio, ["claude-agent-acp"])),
    "opencode": ("opencode", "acp", lambda studio: talk_acp.record(studio, ["opencode", "acp"])),
    "qwen": ("qwen", "acp", lambda studio: talk_acp.record(studio, ["qwen", "--acp"])),
    "copilot": ("copilot", "acp", lambda studio: talk_acp.record(studio, ["copilot", "--acp"])),
    "kimi-code": ("kimi-code", "acp", lambda studio: talk_acp.record(studio, ["kimi", "acp"])),
    "cline": ("cline", "acp", lambda studio: talk_acp.record(studio, ["cline", "--acp"])),
    "hermes": ("hermes", "acp", lambda studio: talk_acp.record(studio, ["hermes", "acp"])),
    "vibe": ("vibe", "acp", lambda studio: talk_acp.record(studio, ["vibe-acp"], "ask")),
    "claude-code-stream-json": (
        "claude-code",
        "claude-stream-json",
        lambda studio: talk_claude.record(studio, talk_claude.CLAUDE),
    ),
    "qwen-stream-json": (
        "qwen",
        "claude-stream-json",
        lambda studio: talk_claude.record(studio, talk_claude.QWEN),
    ),
    "codex-app-server": ("codex", "codex-app-server", talk_codex.record),
    "codex-exec-json": ("codex", "codex-exec-json", talk_once.codex_exec),
    "gemini-stream-json": ("gemini", "gemini-stream-json", talk_once.gemini),
    "opencode-run-json": ("opencode", "opencode-json", talk_once.opencode),
}


def main(folders: list[str]) -> None:
    for folder in folders or FOLDERS:
        if folder.startswith("aionrs-"):  # named after the release that AIONRS_BIN is
            what: tuple[str, str, Talk] = ("aionrs", "json-stream", _aionrs)
        else:
            what = FOLDERS[folder]
        agent, protocol, talk = what
        with ModelServer() as models, tempfile.TemporaryDirectory() as root:
            talk(Studio(agent, protocol, folder, models, Path(root)))


if __name__ == "__main__":
    main(sys.argv[1:])
