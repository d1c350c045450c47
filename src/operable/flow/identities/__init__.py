"""The identity that a task runs as, one provider per file; each ends with its `IDENTITY`."""
