"""A .curlrc that writes files and sends them away."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["get", "http://127.0.0.1:9/"],
    ["head", "http://127.0.0.1:9/"],
    ["get", "file:///etc/passwd"],
    ["send", "http://127.0.0.1:9/", "--data", "x", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    lines = f'output = "{scene.project}/CANARY"\nurl = "http://127.0.0.1:{scene.port}/"\ndata = "sprung"\n'
    for name in (".curlrc", "_curlrc", ".config/curlrc"):
        scene.write(name, lines)
    scene.env |= {"HOME": str(scene.project), "CURL_HOME": str(scene.project)}
