"""The commands `operable engine …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Run applied jobs on their schedules, and see how they ended."
SECTIONS = {
    "Start here": ("start", "status", "jobs", "runs", "logs"),
    "Run and decide": ("trigger", "retry", "cancel", "approve", "reject", "pause", "resume"),
    "Look closer": ("watch", "timeline", "metrics"),
    "Keep it running": ("unit", "gc"),
}
