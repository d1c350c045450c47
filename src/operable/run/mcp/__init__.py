"""Talk to MCP servers with the official SDK: the server as a process of ours, and a client session."""
