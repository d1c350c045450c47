"""`jetbrains`: the agents that the IDEs of JetBrains start (`agent_servers` of ~/.jetbrains/acp.json)."""

from operable.host.importer import Importer, agent_server, entry

IMPORTER = Importer(
    "jetbrains",
    "Agents of the JetBrains IDEs",
    lambda found: entry(found, "agent_servers"),
    lambda name, found: agent_server(name, found, "JetBrains AI Assistant"),
    ("~/.jetbrains/acp.json",),
)
