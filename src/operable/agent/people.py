"""What `operable-agent` says to people: its help and its version."""

import sys
from collections.abc import Mapping
from typing import Any

from operable import __version__
from operable.kernel.errors import Fail

HELP = """operable-agent: an agent that hosts drive over stdin and stdout.

  operable-agent --json-stream [OPTIONS]     for hosts that speak JSON-stream
  operable-agent --acp [OPTIONS]             for editors that speak the Agent Client Protocol

  -p, --provider NAME        anthropic, openai, bedrock, vertex, offline
  -m, --model ID             -b, --base-url URL         --max-tokens N
  --max-turns N              --system-prompt TEXT       --auto-approve
  --workspace DIR            --session-id ID            --resume ID|latest
  --offline                  the scripted model, when no key is configured

Keys come from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, AWS_*, VERTEX_*.
"""


def serve_people(options: Mapping[str, Any], _environment: Mapping[str, str]) -> int:
    if options.get("version"):
        sys.stdout.write(f"operable-agent {__version__}\n")
        return 0
    if options.get("help"):
        sys.stdout.write(HELP)
        return 0
    raise Fail(
        "usage", "NO_PROTOCOL", "Say how to talk: --json-stream or --acp", hint="operable-agent --help"
    )
