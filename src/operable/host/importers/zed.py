"""`zed`: the external agents in the settings of the editor Zed (`agent_servers` of settings.json).

Entries that name an agent of Zed's own registry (`"type": "registry"`) have no command and are left out: import them from
the registry itself.
"""

from operable.host.importer import Importer, agent_server, entry

IMPORTER = Importer(
    "zed",
    "External agents of Zed",
    lambda found: entry(found, "agent_servers"),
    lambda name, found: agent_server(name, found, "Zed"),
    ("~/.config/zed/settings.json", "~/Library/Application Support/Zed/settings.json"),
)
