"""A configuration and plugins in the folder of the project."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["ps"],
    ["images"],
    ["networks"],
    ["volumes"],
    ["version"],
    ["events"],
    ["inspect", "web"],
    ["start", "web", "--dry-run"],
    ["stop", "web", "--dry-run"],
    ["rm", "web", "--dry-run"],
    ["logs", "web"],
    ["run", "alpine", "--dry-run"],
    ["exec", "web", "--dry-run", "--", "ls"],
    ["build", ".", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.script("cli-plugins/docker-evil")
    scene.script(".docker/cli-plugins/docker-ps")
    scene.write(
        ".docker/config.json",
        '{"credsStore": "evil", "currentContext": "evil", "aliases": {"builder": "evil"}}',
    )
    scene.write("Dockerfile", f"# syntax=evil\nFROM scratch\nRUN {trap}\n")
    scene.write("docker-compose.yml", "services: {}\n")
