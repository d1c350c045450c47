"""The filtered way out of a sandbox: a proxy, the rules that it enforces, and the secrets that it inserts."""
