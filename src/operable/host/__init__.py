"""Drive agents: install, confine, authenticate, spawn and converse with any agent CLI, through one event taxonomy."""
