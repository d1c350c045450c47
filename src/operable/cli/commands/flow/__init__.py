"""The commands `operable flow …`, one file each: the file's name is the second word."""

# What the help says of this group.
ABOUT = "Declare what runs when, under which identity and with whose approval; then run it."
SECTIONS = {
    "Start here": ("init", "validate", "run", "apply"),
    "Read a manifest": ("lint", "graph", "digests", "schema", "describe", "convert", "merge"),
    "Run by hand": ("exec", "verify", "audit", "evidence"),
    "Jobs in a backend": ("plan", "inspect", "prune", "compile", "targets", "capabilities"),
    "Approvals": ("approve", "approvals", "revoke"),
    "Identity, authorization and proof": (
        "whoami",
        "identity",
        "authorization",
        "authorization-proof",
        "signing",
    ),
    "Manifests under names": ("registry", "register", "unregister", "import"),
    "This installation": ("paths", "version", "skill-path"),
}
