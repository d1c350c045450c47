"""How output is read, one kind a file."""
