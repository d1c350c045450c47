"""`operable-agentcli`: workflow manifests under the flags, output and exit codes of the program that its callers know."""

from operable.cli.agentcli.front import answer, main

__all__ = ["answer", "main"]
