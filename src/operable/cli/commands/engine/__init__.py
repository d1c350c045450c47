"""The commands `operable engine …`, one file each: the file's name is the second word."""
