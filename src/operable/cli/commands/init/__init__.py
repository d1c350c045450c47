"""The commands `operable init …`, one file each: what can be begun from a template."""
