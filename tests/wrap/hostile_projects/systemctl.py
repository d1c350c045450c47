"""Unit files that would run a program, in a root folder of the project, and a pager."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["units"],
    ["unit-files"],
    ["unit-files", "--root", "."],
    ["timers"],
    ["sockets"],
    ["enable", "evil.service", "--dry-run"],
    ["disable", "evil.service", "--dry-run"],
    ["mask", "evil.service", "--dry-run"],
    ["unmask", "evil.service", "--dry-run"],
    ["start", "evil.service", "--dry-run"],
    ["stop", "evil.service", "--dry-run"],
    ["restart", "evil.service", "--dry-run"],
    ["enable", "evil.service", "--root", ".", "--dry-run"],
    ["disable", "evil.service", "--root", ".", "--dry-run"],
    ["mask", "evil.service", "--root", ".", "--dry-run"],
    ["unmask", "evil.service", "--root", ".", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    unit = f"[Service]\nExecStart={trap}\n[Install]\nWantedBy=multi-user.target\n"
    scene.write("etc/systemd/system/evil.service", unit)
    scene.script("etc/init.d/evil")
    scene.env |= {"PAGER": trap, "SYSTEMD_PAGER": trap, "SYSTEMD_EDITOR": trap}
