"""What `operable-agent` has for people: its help, its version, the sessions that it keeps, and where it keeps them."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from operable import __version__
from operable.kernel.errors import EX_SIGPIPE, Fail

HELP = """\
operable-agent: a tool-using agent that hosts, editors and people can drive.

Usage:
  operable-agent --json-stream [OPTIONS]   serve a host that speaks JSON-stream on stdin and stdout
  operable-agent --acp [OPTIONS]           serve an editor that speaks the Agent Client Protocol
  operable-agent session list              the sessions that are kept here, newest first
  operable-agent config path               where sessions are kept, and which files instruct the model
  operable chat                            the same agent at the terminal, for people

Model:
  -p, --provider NAME      anthropic, openai, openai-responses, bedrock, vertex or offline; by default the first
                           whose key is set                                                [PROVIDER]
  -m, --model ID           a model of the provider                                         [MODEL]
  -b, --base-url URL       another address of the provider                                 [BASE_URL]
  -k, --api-key KEY        the key; better given by the environment, where others cannot see it  [API_KEY]
  --max-tokens N           how long one answer may be (default 8192)
  --thinking enabled       let the model think; --thinking-budget N says how much
  --effort LEVEL           how much effort it takes, where the provider has levels
  --offline                the scripted model, where no other is configured: no key, no network

Work:
  --workspace DIR          the folder that it works in (default: here); also --project-dir
  --system-prompt TEXT     instructions in place of our own; AGENTS.md files are added to either
  --max-turns N            rounds of tools for one message (default: no limit)
  --context-window TOKENS  the size of the model's window, where it is not known: 8192 for many local models
  --compaction MODE        off, safe (old tool results) or full (also summaries; the default)
  --max-tool-call-malformed-turns N, --max-tool-call-failure-turns N
                           when to stop a model that goes in circles (default 3; 0: never)
  --tool COMMAND           offer an agent-operable tool to the model; may be repeated
  --app NAME               offer an application (APP.md) that you have approved; may be repeated

Permission:
  --allow TOOL             a tool that needs no question; SERVER/TOOL for one of an MCP server; may be repeated
  --auto-approve           nothing needs a question
  --sandbox NAME           bubblewrap: commands see the system and the workspace, no network; none: no sandbox
                           (default: calls that the user was not asked about write only to the workspace)

Session:
  --session-id ID          begin a session of this name; an error when there is one
  --resume ID|latest       go on with a session; latest is the last one of the workspace
  --no-session             keep nothing

Other:
  --log-level LEVEL        error, warning, info or debug; logs go to stderr
  -h, --help               this text
  -V, --version            the version

Keys come from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY; AWS_REGION with AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY or AWS_PROFILE; VERTEX_PROJECT_ID, VERTEX_REGION and GOOGLE_APPLICATION_CREDENTIALS.

Examples:
  operable-agent --json-stream --offline --no-session
  operable-agent --json-stream --provider anthropic --workspace ~/project --allow Read --allow Grep
  operable-agent --acp                     as the command of an agent server in an editor's settings
  operable-agent --json-stream --resume latest
"""
_WIDE = 60  # characters of a summary


def serve_people(options: Mapping[str, Any], _environment: Mapping[str, str]) -> int:
    """Answer, on stdout; the exit status."""
    if sys.stdout is None:  # closed from the start
        return EX_SIGPIPE
    try:
        sys.stdout.write(_answer(options))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer has no other reader
        return EX_SIGPIPE
    return 0


def _answer(options: Mapping[str, Any]) -> str:
    if options.get("version"):
        return f"operable-agent {__version__}\n"
    if options.get("help"):
        return HELP
    match options["words"]:
        case ["session", "list"]:
            return _sessions(options.get("workspace"))
        case ["config", "path"]:
            return _places(os.path.realpath(options.get("workspace", ".")))
        case []:
            raise Fail(
                "usage",
                "NO_PROTOCOL",
                "Choose a protocol: --json-stream or --acp",
                hint="operable-agent --help; for people: operable chat",
            )
        case words:
            raise Fail(
                "usage",
                "UNKNOWN_COMMAND",
                f"Unknown command: {' '.join(words)}",
                hint="operable-agent --help",
            )


def _sessions(workspace: str | None) -> str:
    from datetime import datetime

    from operable.agent.places import sessions_folder
    from operable.agent.session.store import Sessions
    from operable.tool.human.cells import cell

    wanted = None if workspace is None else os.path.realpath(workspace)
    rows = [("ID", "USED", "TURNS", "MODEL", "WORKSPACE", "BEGAN WITH")]
    for listed in Sessions(sessions_folder()).listing():
        if wanted is None or listed.cwd == wanted:
            used = datetime.fromtimestamp(listed.updated_at).astimezone().strftime("%Y-%m-%d %H:%M")
            rows.append(
                (listed.id, used, str(listed.turns), listed.model, listed.cwd, listed.summary[:_WIDE])
            )
    if len(rows) == 1:
        return "No sessions.\n"
    return _table([[cell(text) for text in row] for row in rows])


def _places(workspace: str) -> str:
    from operable.agent.instructions import instruction_files
    from operable.agent.places import sessions_folder
    from operable.tool.human.cells import cell

    rows = [["sessions", sessions_folder()]]
    rows += [["instructions", path] for path in instruction_files(workspace)]
    return _table([[name, cell(path)] for name, path in rows])


def _table(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
    return "".join(f"{line}\n" for line in lines)
