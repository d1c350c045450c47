"""A folder that is no repository, with settings that name a program for the password."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["snapshots"],
    ["stats"],
    ["check"],
    ["ls"],
    ["find", "*"],
    ["backup", "poem.txt", "--dry-run"],
    ["forget", "--keep-last", "1", "--dry-run"],
    ["init", "--dry-run"],
    ["restore", "--target", "CANARY", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write("repo/config", "no repository\n")
    scene.write(".resticrc", f"password-command = {trap}\n")
    scene.env |= {"RESTIC_REPOSITORY": str(scene.project / "repo"), "RESTIC_PASSWORD": "x"}
