"""The commands `operable app …`, one file each: the file's name is the second word."""
