"""Workflow manifests: what agents and shells may do, when, as whom and with what proof; compiled, applied, run."""
