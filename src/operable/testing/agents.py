"""The command line of the scripted agent, for tests of hosts.

    argv = command("acp", {"default": [{"say": "Hello"}]})

The script travels on the command line, so that a test is one value; what scripts can say is in
`operable.testing.scripted_agent`.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

from operable.testing.player import checked


def command(protocol: str = "acp", script: Mapping[str, Any] | None = None) -> list[str]:
    """What to run for a scripted agent; a script that cannot be played is refused here, not in the process."""
    text = json.dumps(checked(dict(script or {})))
    return [sys.executable, "-m", "operable.testing.scripted_agent", "--protocol", protocol, "--json", text]
