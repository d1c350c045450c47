"""The commands `operable agent …`, one file each: the file's name is the second word."""
