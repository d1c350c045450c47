"""MCP servers of others, registered once and offered under our gate."""
