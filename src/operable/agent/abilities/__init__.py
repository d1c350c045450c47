"""What the agent itself can do, one tool per file; each ends with its `ABILITY`."""
