"""One session with one agent: turns, approvals, the durable log, and the link to the process."""
