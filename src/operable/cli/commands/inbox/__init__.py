"""The commands `operable inbox …`, one file each: the file's name is the second word."""
