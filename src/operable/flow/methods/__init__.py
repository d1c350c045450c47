"""What clients can ask over JSON-RPC, one method per file; each ends with its `METHOD`."""
