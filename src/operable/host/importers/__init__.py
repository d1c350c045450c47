"""Where other programs keep the agents that they can start, one file each; see `operable.host.importer`."""
