"""A kubeconfig and preferences in the folder of the project, which name a program for the login."""

from tests.wrap.hostile_projects import Scene

CALLS = (
    ["get", "pods"],
    ["watch", "pods"],
    ["version"],
    ["contexts"],
    ["apply", "web.yaml", "--dry-run"],
    ["delete", "pod", "web", "--dry-run"],
    ["logs", "web"],
    ["describe", "pod", "web"],
    ["rollout", "status", "deployment", "web"],
    ["rollout", "restart", "deployment", "web", "--dry-run"],
    ["rollout", "undo", "deployment", "web", "--dry-run"],
)


def lay(scene: Scene) -> None:
    trap = scene.script()
    scene.write(f"--exec={trap}", "a name that is an option")
    scene.write("$(trap)", "a name that a shell would run")
    scene.write("poem.txt", "one\n")
    scene.write("web.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
    user = f"users: [{{name: u, user: {{exec: {{command: {trap}, apiVersion: client.authentication.k8s.io/v1}}}}}}]\n"
    for name in ("config", ".kube/config", "kubeconfig"):
        scene.write(name, f"apiVersion: v1\nkind: Config\n{user}")
    scene.script("kubectl-get")
    scene.write(".kube/kuberc", f"aliases: [{{name: get, command: {trap}}}]\n")
