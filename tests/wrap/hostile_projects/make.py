"""A makefile that runs something while it is read, and in recipes that `make -n` runs all the same."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["build", "--dry-run"],
    ["build", "all", "--jobs", "2", "--dry-run"],
    ["build", "--file", "Makefile", "all", "V=1", "--dry-run"],
)
RAW = (["make", "-n", "all"],)
FINE = ("build",)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(
        "Makefile",
        f"FOUND := $(shell {trap})\ninclude more.mk\nall:\n\t+{trap}\nmore.mk:\n\t{trap}\n\ttouch more.mk\n",
    )
    scene.write("GNUmakefile", f"FOUND := $(shell {trap})\nall:\n\t+{trap}\n")
