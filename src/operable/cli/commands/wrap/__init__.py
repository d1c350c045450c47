"""The commands `operable wrap …`, one file each. Any other word is the name of a wrapped tool (`operable.cli.wrapping`)."""

# What the help shows beside the commands.
FORMS = ("TOOL [COMMAND] [ARGUMENTS] [OPTIONS]", "--mcp 'SERVER' COMMAND [ARGUMENTS] [OPTIONS]")
