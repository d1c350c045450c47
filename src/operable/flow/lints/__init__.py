"""What lint looks for in manifests, one rule per file; each ends with its `LINT`."""
