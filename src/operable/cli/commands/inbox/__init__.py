"""The commands `operable inbox …`, one file each: the file's name is the second word."""

# What `operable inbox` alone is, and how the help says so.
BARE = "inbox list"
FORMS = ("[OPTIONS]",)

# What the help says of this group.
ABOUT = "Answer what agents and jobs ask."
