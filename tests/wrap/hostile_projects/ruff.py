"""A configuration that tells ruff to change files while it looks, and to keep a cache."""

from tests.wrap.hostile_projects import Scene

CALLS = (["check"], ["check", "a.py"], ["fix", "--dry-run"], ["format", "--dry-run"])
RAW = (["ruff", "check", "--quiet"],)
FINE = ("check", "fix", "format")


def lay(scene: Scene) -> None:
    scene.write("a.py", "import os\nx=1\n")
    scene.write(
        "ruff.toml",
        'extend = "more.toml"\nfix = true\nunsafe-fixes = true\ncache-dir = "kept"\noutput-format = "github"\n',
    )
    scene.write("more.toml", 'fix = true\nshow-fixes = true\n[lint]\nselect = ["F", "E"]\n')
