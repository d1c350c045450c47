"""The commands `operable upstream …`, one file each: the file's name is the second word."""
