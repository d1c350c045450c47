"""The commands `operable flow …`, one file each: the file's name is the second word."""
