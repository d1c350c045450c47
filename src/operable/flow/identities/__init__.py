"""Who a task runs as, one identity provider per file; each ends with its `IDENTITY`."""
