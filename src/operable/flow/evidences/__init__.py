"""How it is proven that something ran, one provider per file; each ends with its `EVIDENCE`."""
