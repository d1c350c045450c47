"""The commands `operable app …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Call applications that are packages with an APP.md."
SECTIONS = {
    "Start here": ("list", "inspect", "call"),
    "Get applications": ("add", "approve", "update", "remove"),
    "Make one": ("validate", "sign", "schedules"),
}
