"""`python -m operable.cli.agentcli`."""

from operable.cli.agentcli import main

if __name__ == "__main__":
    main()
