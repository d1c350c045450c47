"""Who decides whether a task may run, one authorization provider per file; each ends with its `AUTHORIZER`."""
