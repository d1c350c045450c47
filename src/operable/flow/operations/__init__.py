"""What can be asked of workflow manifests, one operation per file; each ends with its `OPERATION`."""
