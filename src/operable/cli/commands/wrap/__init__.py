"""The commands `operable wrap …`, one file each. Any other word names a wrapped tool (`operable.cli.wrap.dispatch`)."""

# What the help shows beside the commands.
FORMS = ("TOOL [COMMAND] [ARGUMENTS] [OPTIONS]", "--mcp 'SERVER' COMMAND [ARGUMENTS] [OPTIONS]")

# What the help says of this group.
ABOUT = "Call ordinary programs as typed tools with a verdict."
SECTIONS = {
    "Start here": ("list", "show", "doctor"),
    "Get wrappers": ("add", "update", "remove", "verify"),
    "Use one by its own name": ("shim",),
}
