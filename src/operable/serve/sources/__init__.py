"""Where operable things come from: one source per file."""
