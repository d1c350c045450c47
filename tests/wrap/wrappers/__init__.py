"""The wrapped tools against the real programs, one file a tool."""
