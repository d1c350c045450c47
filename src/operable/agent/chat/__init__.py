"""A conversation with the agent inside this process, and a person at a terminal."""
