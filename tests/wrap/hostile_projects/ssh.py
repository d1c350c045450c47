"""A configuration of ssh in the folder of the project, which runs programs; nothing of it is read unasked."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["run", "127.0.0.1", "--dry-run", "--", "ls"],
    ["run", "--config", "config", "127.0.0.1", "--dry-run", "--", "ls", "; touch CANARY", "$(touch CANARY)"],
)
FINE = ("run",)


def lay(scene: Scene) -> None:
    trap = scene.script()
    text = (
        f"Match exec {trap}\nHost *\n  ProxyCommand {trap}\n  PermitLocalCommand yes\n  LocalCommand {trap}\n"
    )
    for name in ("config", ".ssh/config", "ssh_config"):
        scene.write(name, text)
    scene.env |= {"HOME": str(scene.project), "SSH_ASKPASS": trap, "SSH_ASKPASS_REQUIRE": "force"}
