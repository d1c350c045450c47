"""Command lines as rules look at them: what a shell would run, and with what context."""
