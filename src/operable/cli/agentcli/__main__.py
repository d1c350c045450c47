"""`python -m operable.cli.agentcli`."""

from operable.cli.agentcli import main

main()
