"""The commands `operable wrap …`, one file each. Any other word names a wrapped tool (`operable.cli.wrap.dispatch`)."""

# What the help shows beside the commands.
FORMS = ("TOOL [COMMAND] [ARGUMENTS] [OPTIONS]", "--mcp 'SERVER' COMMAND [ARGUMENTS] [OPTIONS]")
