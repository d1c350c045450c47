"""The Model Context Protocol, host side, without I/O: what the arm `mcp` is made of."""
