"""The wrapped kubectl: the real one against an API server of ours on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.drive import running
from tests.tool.drive import Outcome
from tests.wrap.drive import wrap
from tests.wrap.wrappers.kube_api import Cluster, kubeconfig, pod, serving
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.timeout(180)]


class Kubectl:
    """The client, and the server that it asks."""

    def __init__(self, cluster: Cluster, address: str, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        (folder / "config").write_text(kubeconfig(address))
        # A home of its own: kubectl keeps what servers can do by their addresses, and ports are used again.
        self.env = {"KUBECONFIG": str(folder / "config"), "HOME": str(folder)}

    def __call__(self, *words: str) -> Outcome:
        return wrap("kubectl", *words, env=self.env)

    @property
    def changed(self) -> list[str]:
        return [
            f"{verb} {path}" for verb, path in self.cluster.asked if verb != "GET" and "dryRun" not in path
        ]


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    cluster = Cluster()
    with serving(cluster) as address:
        yield Kubectl(cluster, address, tmp_path)


def test_objects_of_a_kind_are_told_one_by_one(kubectl):
    everything, chosen, one = (
        kubectl("get", "pods"),
        kubectl("get", "pods", "--selector", "app=web"),
        kubectl("get", "pods", "b"),
    )

    assert [event["name"] for event in everything.results] == ["a", "b", "c"]
    assert [event["name"] for event in chosen.results] == ["a", "b"]
    assert [(event["kind"], event["uid"]) for event in one.results] == [("Pod", "uid-2")]
    assert one.results[0]["object"]["spec"]["containers"][0]["image"] == "nginx"


def test_pages_go_on_behind_the_last(kubectl):
    first = kubectl("get", "pods", "--limit", "2")
    second = kubectl("get", "pods", "--limit", "2", "--cursor", first.summary["next_cursor"])

    assert [event["name"] for event in first.results + second.results] == ["a", "b", "c"]


def test_secrets_are_masked_everywhere_in_them(kubectl):
    done = kubectl("get", "secrets")

    assert done.results[0]["object"]["data"] == {"password": "[redacted]"}
    assert b"dG9wc2VjcmV0MQ" not in done.stdout


def test_any_text_in_an_object_comes_back(kubectl):
    odd = 'x\n"}\n{"kind":"Pod"} \x1b[1m é\u2028'
    each = pod("odd", 9)
    each["metadata"]["annotations"] = {"note": odd}
    kubectl.cluster.put(each)

    done = kubectl("get", "pod", "odd")

    assert done.results[0]["object"]["metadata"]["annotations"] == {"note": odd}
    assert done.summary["count"] == 1


@pytest.mark.parametrize(
    "words, category, code",
    [
        (["get", "pods", "nope"], "not_found", "OBJECT_NOT_FOUND"),
        (["get", "nonsense"], "usage", "UNKNOWN_RESOURCE"),
        (["get", "pods", "--context", "nope"], "config", "KUBECONFIG_INVALID"),
    ],
)
def test_what_is_not_there_is_told_by_the_words_of_the_program(kubectl, words, category, code):
    done = kubectl(*words)

    assert (done.error["category"], done.error["code"]) == (category, code)
    assert done.summary["ok"] is False


def test_a_server_that_refuses_or_is_not_there_is_told(kubectl):
    kubectl("get", "pods")  # so that it knows what the server can do
    kubectl.cluster.forbidden = True
    refused = kubectl("get", "pods")
    kubectl.folder.joinpath("config").write_text(kubeconfig("127.0.0.1:1"))
    nobody = kubectl("get", "pods")

    assert (refused.error["category"], refused.error["code"]) == ("authz", "FORBIDDEN")
    assert (nobody.error["category"], nobody.error["code"]) == ("temporary", "CLUSTER_NOT_REACHABLE")
    assert nobody.error["retryable"] is True
    assert nobody.results == []


def test_a_watch_tells_what_there_is_and_what_changes(kubectl):
    words = ["kubectl", "watch", "pods", "--limit", "5", "--output", "jsonl"]
    with running("wrap", *words, output=None, env=kubectl.env) as process:
        assert [process.event("change")["name"] for _ in range(3)] == ["a", "b", "c"]
        kubectl.cluster.happened("MODIFIED", pod("a", 11))
        kubectl.cluster.happened("DELETED", pod("b", 12))

        done = process.finish()

    assert [(event["change"], event["name"]) for event in done.results[3:]] == [
        ("MODIFIED", "a"),
        ("DELETED", "b"),
    ]
    assert done.results[3]["resource_version"] == "11"
    assert (done.exit_code, done.summary["truncated"]) == (0, True)


def test_a_watch_that_the_server_ends_with_an_error_is_never_ok(tmp_path):
    """Kubectl prints the error as one more event."""
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    prints = (
        json.dumps({"type": "ADDED", "object": pod("a", 1)})
        + "\n"
        + json.dumps({"type": "ERROR", "object": gone})
    )

    done = wrap("kubectl", "watch", "pods", env=stand_in(tmp_path, "kubectl", prints=prints))

    assert [event["name"] for event in done.results] == ["a"]
    assert (done.error["category"], done.error["upstream_code"]) == ("conflict", 410)
    assert done.summary["ok"] is False


def test_deleting_is_planned_and_confirmed(kubectl):
    plan = kubectl("delete", "pod", "a", "--dry-run")
    refused = kubectl("delete", "pod", "a")
    untouched = list(kubectl.changed)
    done = kubectl("delete", "pod", "a", "--confirm", plan.summary["plan_digest"])

    assert [(event["target"], event["uid"]) for event in plan.of("aoi:plan")] == [("Pod/a", "uid-1")]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert untouched == []
    assert [(event["name"], event["uid"]) for event in done.results] == [("a", "uid-1")]
    assert ("pods", "a") not in kubectl.cluster.objects


def test_deleting_by_labels_needs_the_number_and_takes_what_was_planned(kubectl):
    refused = kubectl("delete", "pods", "--selector", "app=web", "--confirm")
    done = kubectl("delete", "pods", "--selector", "app=web", "--confirm-count", "2")
    nothing = kubectl("delete", "pods", "--confirm")

    assert "--confirm-count 2" in refused.error["message"]
    assert [event["name"] for event in done.results] == ["a", "b"]
    assert not any("labelSelector" in change for change in kubectl.changed)
    assert nothing.error["code"] == "MISSING_OPERAND"
    left = [(kind, name) for kind, name in kubectl.cluster.objects if kind in ("pods", "secrets")]
    assert left == [("pods", "c"), ("secrets", "s")]
    assert len(kubectl.cluster.objects) == len(Cluster().objects) - 2


def test_deleting_what_is_not_there_does_nothing(kubectl):
    done = kubectl("delete", "pod", "nope", "--confirm")

    assert (done.error["category"], done.error["code"]) == ("not_found", "OBJECT_NOT_FOUND")
    assert kubectl.changed == []


@pytest.fixture
def planning(kubectl):
    """A kubectl whose dry runs of `apply` our server can serve."""
    if int(kubectl("version").results[0]["client"]["minor"].rstrip("+")) < 27:
        pytest.skip(
            "up to version 1.26, kubectl asks for a description of the API that only a real server has"
        )
    return kubectl


def test_applying_is_planned_by_the_server(planning):
    kubectl = planning
    file = kubectl.folder / "objects.json"
    made = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    items = [
        made | {"metadata": {"name": "new"}},
        made | {"metadata": {"name": "c", "labels": {"app": "db2"}}},
    ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    plan = kubectl("apply", str(file), "--validate", "false", "--dry-run")
    untouched = list(kubectl.changed)
    done = kubectl("apply", str(file), "--validate", "false", "--confirm", plan.summary["plan_digest"])

    assert [(event["action"], event["target"]) for event in plan.of("aoi:plan")] == [
        ("create", "Pod/new"),
        ("update", "Pod/c"),
    ]
    assert untouched == []
    assert [event["name"] for event in done.results] == ["new", "c"]
    assert kubectl.cluster.objects["pods", "new"]["metadata"]["resourceVersion"] == "100"


def test_contexts_and_versions_are_told_without_credentials(kubectl):
    contexts, version = kubectl("contexts"), kubectl("version")

    assert [(event["name"], event["current"]) for event in contexts.results] == [
        ("here", True),
        ("other", False),
    ]
    assert b"topsecret1" not in contexts.stdout
    assert version.results[0]["server"]["gitVersion"] == "v1.29.0"


@pytest.mark.parametrize("command", ["get", "watch"])
def test_text_between_objects_is_counted_and_a_cut_object_is_never_ok(tmp_path, command):
    inner = json.dumps(
        {"type": "ADDED", "object": pod("a", 1)} if command == "watch" else pod("a", 1), indent=4
    )
    prints = f"Warning: v1 Endpoints is deprecated\n{inner}\n{inner[:-20]}"

    done = wrap("kubectl", command, "pods", env=stand_in(tmp_path, "kubectl", prints=prints))

    assert [event["name"] for event in done.results] == ["a"]
    assert done.of("aoi:warning")[0]["code"] == "UPSTREAM_NON_JSON"
    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


def test_a_name_that_looks_like_an_option_is_a_name(kubectl):
    done = kubectl("get", "pods", "--", "--token=x")

    assert done.error["code"] == "OBJECT_NOT_FOUND"


def test_a_plan_for_one_cluster_is_none_for_another(planning):
    kubectl = planning
    file = kubectl.folder / "pod.json"
    file.write_text(json.dumps(pod("new", 1)))
    plan = kubectl("apply", str(file), "--validate", "false", "--dry-run")
    assert plan.of("aoi:plan")
    other = Cluster()
    with serving(other) as address:
        (kubectl.folder / "config").write_text(kubeconfig(address))
        done = kubectl("apply", str(file), "--validate", "false", "--confirm", plan.summary["plan_digest"])

    assert done.error["category"] == "conflict"
    assert ("pods", "new") not in other.objects


def test_objects_of_several_kinds_are_not_deleted_at_once(tmp_path):
    items = [pod("web", 1), pod("web", 2) | {"kind": "Service"}]
    found = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    env = stand_in(tmp_path, "kubectl", prints=found)

    done = wrap("kubectl", "delete", "all", "--selector", "app=web", "--confirm-count", "2", env=env)

    assert (done.error["category"], done.error["code"]) == ("usage", "SEVERAL_KINDS")


def test_defaults_that_a_user_has_given_commands_are_not_in_force(tmp_path):
    """From version 1.34 on, ~/.kube/kuberc may give any command further options; a variable keeps it from being read."""
    then = """printf '{"kind": "Pod", "metadata": {"name": "%s"}}' "$KUBECTL_KUBERC" """
    done = wrap("kubectl", "get", "pods", env=stand_in(tmp_path, "kubectl", then=then))

    assert [event["name"] for event in done.results] == ["false"]


def test_a_log_is_told_line_by_line(kubectl):
    whole = kubectl("logs", "a")
    last = kubectl("logs", "a", "--tail", "1")
    first = kubectl("logs", "a", "--limit", "1")
    rest = kubectl("logs", "a", "--cursor", first.summary["next_cursor"])
    missing = kubectl("logs", "nope")

    assert [(event["line_number"], event["text"]) for event in whole.results] == [
        (1, "é one"),
        (2, ""),
        (3, "three"),
    ]
    assert [event["text"] for event in last.results] == ["three"]
    assert [event["text"] for event in first.results + rest.results] == ["é one", "", "three"]
    assert (missing.results, missing.error["code"]) == ([], "OBJECT_NOT_FOUND")


def test_an_object_is_described_with_what_was_noted_of_it(kubectl):
    noted = kubectl("describe", "pod", "a")
    quiet = kubectl("describe", "pod", "b")

    assert [event["type"] for event in noted.results] == ["object", "noted"]
    assert (noted.results[1]["reason"], noted.results[1]["message"]) == ("Pulled", "é pulled")
    assert [event["name"] for event in quiet.results] == ["b"]


def test_a_rollout_is_complete_only_if_all_of_it_is(kubectl):
    done = kubectl("rollout", "status", "deployment", "web")
    slow = kubectl("rollout", "status", "deployment", "api")
    none = kubectl("rollout", "status", "pod", "a")

    assert (done.results[0]["state"], done.results[0]["wanted"]) == ("complete", 2)
    assert (slow.results[0]["state"], slow.results[0]["available"], slow.summary["ok"]) == (
        "progressing",
        1,
        True,
    )
    assert none.error["code"] == "NOT_ROLLED_OUT"


@pytest.mark.parametrize("verb", ["restart", "undo"])
def test_a_rollout_is_changed_after_its_plan(verb, kubectl):
    plan = kubectl("rollout", verb, "deployment", "web", "--dry-run")
    refused = kubectl("rollout", verb, "deployment", "web")
    assert kubectl.changed == []
    done = kubectl("rollout", verb, "deployment", "web", "--confirm", plan.summary["plan_digest"])

    (change,) = plan.of("aoi:plan")
    assert (change["action"], change["target"], change["revision"]) == (verb, "Deployment/web", "2")
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [event["name"] for event in done.results] == ["web"]
    assert len(kubectl.changed) == 1
    template = kubectl.cluster.objects["deployments", "web"]["spec"]["template"]
    image = template["spec"]["containers"][0]["image"]
    assert (image == "nginx:1") == (verb == "undo")
    assert bool(template["metadata"].get("annotations")) == (verb == "restart")
