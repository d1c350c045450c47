"""One folder for each wrapped tool: CLI.md, tools/<command>/TOOL.md, and where needed parser.py."""
