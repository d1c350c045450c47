"""What authors write: tools, commands, events, inputs, and what their annotations mean."""
