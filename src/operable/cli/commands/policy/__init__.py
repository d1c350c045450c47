"""The commands `operable policy …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Show the rules on calls, check them, and try a call against them."
