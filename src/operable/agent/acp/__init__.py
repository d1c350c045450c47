"""The agent as an ACP server: editors start it and hold several sessions with it."""
