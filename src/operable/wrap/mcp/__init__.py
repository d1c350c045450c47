"""Any MCP server as an agent-operable tool."""
