"""The commands `operable upstream …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Connect MCP servers, whose tools are then in the catalog."
