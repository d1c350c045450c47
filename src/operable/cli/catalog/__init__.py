"""What `operable catalog` and `operable mcp` share."""
