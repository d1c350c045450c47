"""The commands `operable agent …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Install agent CLIs, drive them under rules, and read what they did."
SECTIONS = {
    "Start here": ("list", "install", "prompt", "chat", "logs"),
    "Get an agent ready": ("show", "doctor", "setup", "login", "add", "update", "remove"),
    "Sessions": ("sessions", "interrupt", "kill", "export", "prune"),
    "What it asks, and what you allow": ("approvals", "answer", "approve", "revoke", "audit"),
    "Manifests": ("validate", "probe", "import", "adapters"),
}
