"""The laboratory: throw-away folders, confined processes, and one recorded run of a tool at a time."""
