"""What a user and a project have configured: `operable.toml`, `.mcp.json`, skills and commands; and what of it counts."""
