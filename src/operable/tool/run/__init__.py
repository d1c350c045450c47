"""One run of a command: context, guards of changes, cursors, stops, and how it ends."""
