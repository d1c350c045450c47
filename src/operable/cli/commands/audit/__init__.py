"""The commands `operable audit …`, one file each: the file's name is the second word."""
