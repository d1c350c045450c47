"""The commands `operable init …`, one file each: what can be begun from a template."""

# What the help says of this group.
ABOUT = "Begin a tool, an application, a skill or a client of a tool."
