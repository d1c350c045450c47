"""The commands `operable config …`, one file each: the file's name is the second word."""
