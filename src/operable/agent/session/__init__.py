"""One session: its state, its history, and its files."""
