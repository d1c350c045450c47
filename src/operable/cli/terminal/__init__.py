"""The terminal face of every agent: one prompt, one way to ask, one screen, for all commands that talk."""
