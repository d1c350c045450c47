"""The engines that can queue tickets, one file each: the file's name is the backend's name."""
