"""How an authorization is proven, one method per file; each ends with its `PROOF`."""
