"""The commands `operable audit …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Read and verify the record of what was asked, decided and called."
