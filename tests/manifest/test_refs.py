import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.manifest import ManifestError, Workspace, load, render
from operable.manifest.refs import resolve
from tests.manifest.samples import ACP, RUNNER, SANDBOX, SECRETS, changed


@pytest.fixture
def place(tmp_path):
    """A workspace with one agent in it, and a file outside that must stay there."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "SANDBOX.md").write_text(render(SANDBOX))
    agent = tmp_path / "work" / "agents" / "hermes"
    agent.mkdir(parents=True)
    (agent / "hermes.ACP.md").write_text(render(ACP))
    (agent / "SANDBOX.md").write_text(render(SANDBOX))
    (agent / "SECRETS.md").write_text(render(SECRETS))
    (agent / "RUNNER.md").write_text(render(RUNNER))
    return tmp_path / "work"


def agent(place, **changes: object) -> str:
    path = place / "agents" / "hermes" / "AGENT-CLI.md"
    path.write_text(render(changed("agent-cli", **changes)))
    return str(path)


def refusal(path: str, workspace) -> tuple[str, str]:
    with pytest.raises(ManifestError) as caught:
        load(path, workspace=workspace)
    [problem] = caught.value.problems
    return problem.rule, problem.message


def test_references_beside_the_file_are_followed_and_come_with_the_manifest(place):
    path = agent(place, sandbox="./SANDBOX.md", auth={"ref": "./SECRETS.md"}, runner={"ref": "RUNNER.md"})

    found = load(path, workspace=place)

    assert sorted(found.bound) == ["acp", "runner", "sandbox", "secrets"]
    assert found.bound["sandbox"].value.id == "@acme/strict"
    assert found.bound["runner"].kind == "runner"


def test_without_a_workspace_nothing_is_followed(place):
    assert load(agent(place, sandbox="/etc/passwd")).bound == {}


def test_a_reference_may_be_relative_to_the_workspace(place):
    (place / "policies").mkdir()
    (place / "policies" / "SANDBOX.md").write_text(render(SANDBOX))

    assert "sandbox" in load(agent(place, sandbox="policies/SANDBOX.md"), workspace=place).bound


def test_a_shared_manifest_is_found_by_owner_and_slug_under_the_declared_folders(place):
    (place / "shared" / "@acme" / "strict").mkdir(parents=True)
    (place / "shared" / "@acme" / "strict" / "SANDBOX.md").write_text(render(SANDBOX))
    path = agent(place, sandbox={"ref": "@acme/strict"})

    assert "sandbox" in load(path, workspace=place).bound
    assert refusal(path, Workspace(str(place), shared=("elsewhere",)))[0] == "SANDBOX_REF_UNRESOLVABLE"


@pytest.mark.parametrize(
    "reference, reason",
    [
        ("./missing.md", "no such file"),
        ("../../../outside/SANDBOX.md", "out of the workspace"),
        ("/etc/passwd", "relative path"),
        ("~/SANDBOX.md", "relative path"),
        ("https://example.com/SANDBOX.md", "addresses are not followed"),
        ("file:SANDBOX.md", "addresses are not followed"),
        ("@acme", "@owner/slug"),
        ("@acme/../../outside", "@owner/slug"),
        (".", "not a file"),
    ],
)
def test_a_reference_that_leads_nowhere_or_out_is_refused_with_the_reason(place, reference, reason):
    rule, message = refusal(agent(place, sandbox=reference), place)

    assert rule == "SANDBOX_REF_UNRESOLVABLE"
    assert reason in message


@pytest.mark.parametrize(
    "changes, rule",
    [
        ({"acp": "./none.md"}, "ACP_REF_UNRESOLVABLE"),
        ({"auth": {"ref": "./none.md"}}, "SECRETS_REF_UNRESOLVABLE"),
        ({"runner": "./none.md"}, "RUNNER_REF_UNRESOLVABLE"),
    ],
)
def test_each_reference_has_its_own_code(place, changes, rule):
    assert refusal(agent(place, **changes), place)[0] == rule


def test_a_link_out_of_the_workspace_is_not_followed(place):
    os.symlink(place.parent / "outside" / "SANDBOX.md", place / "agents" / "hermes" / "LINK.md")
    os.symlink(place.parent / "outside", place / "agents" / "hermes" / "folder")

    for reference in ("./LINK.md", "./folder/SANDBOX.md"):
        assert "out of the workspace" in refusal(agent(place, sandbox=reference), place)[1]


def test_a_link_inside_the_workspace_is_followed(place):
    os.symlink("SANDBOX.md", place / "agents" / "hermes" / "LINK.md")

    assert "sandbox" in load(agent(place, sandbox="./LINK.md"), workspace=place).bound


def test_links_that_go_round_in_a_circle_are_refused(place):
    os.symlink("b.md", place / "agents" / "hermes" / "a.md")
    os.symlink("a.md", place / "agents" / "hermes" / "b.md")

    assert refusal(agent(place, sandbox="./a.md"), place)[0] == "SANDBOX_REF_UNRESOLVABLE"


def test_a_workspace_that_is_itself_a_link_is_a_workspace(place, tmp_path):
    os.symlink(place, tmp_path / "linked")
    agent(place, sandbox="./SANDBOX.md")

    found = load(tmp_path / "linked" / "agents" / "hermes" / "AGENT-CLI.md", workspace=tmp_path / "linked")

    assert "sandbox" in found.bound


def test_a_manifest_that_is_referred_to_is_judged_too_with_its_own_lines(place):
    (place / "agents" / "hermes" / "SANDBOX.md").write_text(
        "---\nprovider: local\nconfig: {}\nmount: []\n---\n"
    )
    path = agent(place, sandbox="./SANDBOX.md")

    with pytest.raises(ManifestError) as caught:
        load(path, workspace=place)

    assert [(os.path.basename(each.path), each.rule) for each in caught.value.problems] == [
        ("AGENT-CLI.md", "REF_INVALID"),
        ("SANDBOX.md", "KEY_UNKNOWN"),
    ]
    assert caught.value.problems[1].line == 4


def test_secrets_in_a_sandbox_that_does_not_isolate_them_are_announced(place):
    auth = {"ref": "./SECRETS.md", "state": {"env": ["ACME_API_KEY"]}}
    local = {"provider": "local", "config": {}}

    found = load(agent(place, auth=auth, sandbox=local), workspace=place)

    assert [(each.rule, each.key) for each in found.problems] == [("SANDBOX_ENV_NOT_ISOLATED", "auth")]
    assert load(agent(place, auth=auth), workspace=place).problems == ()


def test_what_setup_stores_is_a_declared_secret_and_oauth_needs_one_of_that_kind(place):
    steps = [
        {"id": "a", "kind": "oauth", "secret_slug": "acme/api-key"},
        {"id": "b", "kind": "prompt", "prompt": "?", "persist": {"secret_slug": "acme/api-kee"}},
    ]

    with pytest.raises(ManifestError) as caught:
        load(agent(place, auth={"ref": "./SECRETS.md"}, setup=steps), workspace=place)

    assert [(each.rule, each.hint) for each in caught.value.problems] == [
        ("SECRET_NOT_OAUTH", None),
        ("SECRET_UNDECLARED", "did you mean acme/api-key?"),
    ]


def test_a_password_in_an_address_is_not_repeated(place):
    rule, message = refusal(agent(place, sandbox="https://user:hunter2@example.com/S.md"), place)

    assert rule == "SANDBOX_REF_UNRESOLVABLE"
    assert "hunter2" not in message


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(["..", ".", "agents", "link", "SANDBOX.md", "", "outside", "@acme"]), max_size=8
        ).map("/".join),
    )
)
def test_no_reference_whatsoever_leaves_the_workspace(tmp_path_factory, reference):
    place = tmp_path_factory.getbasetemp() / "never-leaves"
    work = place / "work" / "agents"
    if not work.exists():
        work.mkdir(parents=True)
        (place / "outside").mkdir()
        (place / "outside" / "SANDBOX.md").write_text("x")
        (work / "SANDBOX.md").write_text("x")
        os.symlink(place / "outside", work / "link")

    resolved = resolve(reference, str(work / "AGENT-CLI.md"), Workspace(str(place / "work")), "SANDBOX.md")

    if resolved.path is None:
        assert resolved.reason
    else:
        assert os.path.realpath(resolved.path).startswith(str((place / "work").resolve()) + os.sep)
