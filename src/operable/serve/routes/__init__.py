"""The routes of the daemon: one resource per file, each of which ends with `ROUTES`."""
