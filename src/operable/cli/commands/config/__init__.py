"""The commands `operable config …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Show which settings hold, and approve those of a project."
