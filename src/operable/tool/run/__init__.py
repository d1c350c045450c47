"""What only some runs load: structured input, changes and their guards, cursors, relays, coroutines, failures."""
