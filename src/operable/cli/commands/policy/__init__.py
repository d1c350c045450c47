"""The commands `operable policy …`, one file each: the file's name is the second word."""
