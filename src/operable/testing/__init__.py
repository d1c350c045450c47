"""Public fakes for tests of tools, agents and hosts: a model, an agent process, recorded conversations.

    from operable.testing import ModelServer, scripted_command

    with ModelServer({"greet": [[{"say": "Hello"}]]}) as models:
        models.url  # for the client; a prompt with SCRIPT:greet gets that reply
    scripted_command("acp", {"default": [{"say": "Hello"}]})  # an agent for a host to start

- `ModelServer` is a model server on loopback that speaks the vendors' streaming formats, from a script.
- `scripted_command` is the command line of an agent process that speaks a host protocol, from a script.
- `run_tool` runs a command of a tool in the process of the test.
- `AgentCassette` is a recorded conversation on the wire: load it, replay it at any chunking, mutate it by seed.

Names are looked up on first use.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.testing.cassettes import AgentCassette as AgentCassette
    from operable.testing.cassettes import CassetteEntry as CassetteEntry
    from operable.testing.cassettes import load as load
    from operable.testing.cassettes import mutate as mutate
    from operable.testing.cassettes import pieces as pieces
    from operable.testing.cassettes import save as save
    from operable.testing.exchange import Exchange as Exchange
    from operable.testing.models import ModelServer as ModelServer
    from operable.testing.player import scripted_command as scripted_command
    from operable.testing.script import ScriptError as ScriptError
    from operable.testing.tool_run import ToolRun as ToolRun
    from operable.testing.tool_run import run_tool as run_tool

_HOMES = {
    "AgentCassette": "operable.testing.cassettes",
    "CassetteEntry": "operable.testing.cassettes",
    "Exchange": "operable.testing.exchange",
    "ModelServer": "operable.testing.models",
    "ScriptError": "operable.testing.script",
    "ToolRun": "operable.testing.tool_run",
    "load": "operable.testing.cassettes",
    "mutate": "operable.testing.cassettes",
    "pieces": "operable.testing.cassettes",
    "run_tool": "operable.testing.tool_run",
    "save": "operable.testing.cassettes",
    "scripted_command": "operable.testing.player",
}

__all__ = [
    "AgentCassette",
    "CassetteEntry",
    "Exchange",
    "ModelServer",
    "ScriptError",
    "ToolRun",
    "load",
    "mutate",
    "pieces",
    "run_tool",
    "save",
    "scripted_command",
]

__getattr__ = lazily(__name__, _HOMES)
