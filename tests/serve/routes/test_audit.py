"""The audit chain over HTTP: pages from the newest on, a verdict, and an edit that shows."""

import pytest

from operable.gate.audit.chain import Audit
from tests.serve.daemon import DaemonUnderTest


@pytest.fixture
def chain(daemon: DaemonUnderTest, request):
    slug = request.node.name.replace("[", "-").strip("]")[:60]
    path = daemon.agents / slug / "audit.jsonl"
    path.parent.mkdir(parents=True)
    audit = Audit(str(path), actor="tester", workspace=slug)
    for number in range(5):
        audit.record("test.action", subject={"kind": "test", "ref": str(number)})
    return slug, path


def test_pages_go_from_the_newest_record_to_the_first(daemon, chain):
    slug, _ = chain
    page = daemon.admin.get(f"/audit?workspace={slug}&limit=3").json
    rest = daemon.admin.get(f"/audit?workspace={slug}&limit=3&before={page['before']}").json

    assert [each["seq"] for each in page["records"] + rest["records"]] == [4, 3, 2, 1, 0]
    assert "before" not in rest
    assert {"slug": slug} in daemon.admin.get("/audit/workspaces").json["workspaces"]


def test_a_chain_is_verified_and_an_edit_shows(daemon, chain):
    slug, path = chain
    verdict = daemon.admin.get(f"/audit/verify?workspace={slug}").json
    assert (verdict["ok"], verdict["records"], verdict["problems"]) == (True, 5, [])

    path.write_bytes(path.read_bytes().replace(b'"ref":"2"', b'"ref":"9"'))

    verdict = daemon.admin.get(f"/audit/verify?workspace={slug}").json
    assert (verdict["ok"], verdict["problems"][0]["code"]) == (False, "chain.tampered")


def test_a_token_of_another_workspace_sees_neither_records_nor_names(daemon, chain):
    slug, _ = chain
    other = daemon.token(f"other-{slug}"[:60], "read", workspace="elsewhere")

    assert other.get(f"/audit?workspace={slug}").status == 403
    assert other.get(f"/audit/verify?workspace={slug}").status == 403
    assert other.get("/audit/workspaces").json == {"workspaces": []}


@pytest.mark.parametrize("slug", ["..", "none", "%2e%2e%2f", "a/b"])
def test_only_names_of_workspaces_are_accepted(daemon, slug):
    answer = daemon.admin.get(f"/audit?workspace={slug}")

    assert (answer.status, answer.code) == (404, "NO_SUCH_CHAIN")
