"""What manifests are compiled to, one backend per file; each ends with its `TARGET`."""
