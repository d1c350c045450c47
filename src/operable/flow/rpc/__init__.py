"""JSON-RPC 2.0 over lines: the protocol without I/O, and the server on stdin and stdout."""
