"""Running tasks and workflows here."""
