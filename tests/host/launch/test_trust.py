import pytest

from operable.host.launch.ledger import Ledger
from operable.host.launch.trust import approve, content_digest, not_approved, revoke, standing
from operable.kernel.errors import Fail

MANIFEST = """---
name: agent
acp: ./agent.ACP.md
install: [{method: vendored, path: vendor/agent}]
auth: {ref: secrets/SECRETS.md}
---
Body
"""


@pytest.fixture
def bundle(tmp_path):
    folder = tmp_path / "project" / ".agents" / "agent"
    (folder / "vendor").mkdir(parents=True)
    (folder / "secrets").mkdir()
    (folder / "AGENT-CLI.md").write_text(MANIFEST)
    (folder / "agent.ACP.md").write_text(
        "---\nname: acp\nmetadata: {aip44: {sandbox: ./box.SANDBOX.md}}\n---\n"
    )
    (folder / "box.SANDBOX.md").write_text("---\nprovider: local\n---\n")
    (folder / "secrets" / "SECRETS.md").write_text("---\nsecrets: []\n---\n")
    (folder / "vendor" / "agent").write_text("program")
    (folder / "notes.txt").write_text("nobody names me")
    return folder


@pytest.fixture
def ledger(tmp_path):
    return Ledger(str(tmp_path / "ledger"))


def judged(bundle, ledger, origin="project"):
    return standing(str(bundle / "AGENT-CLI.md"), origin, ledger)


@pytest.mark.parametrize("origin, trusted", [("bundled", True), ("user", True), ("project", False)])
def test_what_comes_with_a_project_is_not_trusted(bundle, ledger, origin, trusted):
    assert judged(bundle, ledger, origin).trusted == trusted


def test_an_approved_manifest_is_trusted_until_it_changes(bundle, ledger):
    seen = judged(bundle, ledger)
    assert seen.why == "the user has not approved it"
    approve(str(bundle / "AGENT-CLI.md"), ledger, expected=seen.digest)
    assert judged(bundle, ledger).trusted
    (bundle / "AGENT-CLI.md").write_text(MANIFEST + "more")
    changed = judged(bundle, ledger)
    assert (changed.trusted, changed.why) == (False, "it has changed since it was approved")
    assert revoke(str(bundle / "AGENT-CLI.md"), ledger)
    assert judged(bundle, ledger).why == "the user has not approved it"


@pytest.mark.parametrize("file", ["agent.ACP.md", "box.SANDBOX.md", "secrets/SECRETS.md", "vendor/agent"])
def test_a_change_in_what_it_names_is_a_change(bundle, ledger, file):
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (bundle / file).write_text("---\nchanged: true\n---\n")
    assert not judged(bundle, ledger).trusted


@pytest.mark.parametrize("file", ["vendor/lib/code.js", "vendor/new.js"])
def test_a_change_beside_a_program_is_a_change(bundle, ledger, file):
    (bundle / "vendor" / "lib").mkdir()
    (bundle / "vendor" / "lib" / "code.js").write_text("good")
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (bundle / file).write_text("evil")
    assert not judged(bundle, ledger).trusted


def test_links_that_lead_out_are_not_followed(bundle, ledger, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("a")
    (bundle / "vendor" / "link").symlink_to(tmp_path / "outside")
    (bundle / "vendor" / "file").symlink_to(tmp_path / "outside" / "file")
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (tmp_path / "outside" / "file").write_text("b")
    assert judged(bundle, ledger).trusted


def test_a_program_that_would_take_for_ever_to_read_is_refused(bundle, ledger):
    with open(bundle / "vendor" / "agent", "wb") as file:
        file.truncate(5 * 1024**3)  # sparse: no block is written
    with pytest.raises(Fail) as caught:
        judged(bundle, ledger)
    assert caught.value.code == "MANIFEST_TOO_LARGE"


def test_a_change_in_what_it_does_not_name_is_none(bundle, ledger):
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (bundle / "notes.txt").write_text("changed")
    assert judged(bundle, ledger).trusted


def test_a_file_that_appears_where_it_names_one_is_a_change(bundle, ledger):
    (bundle / "vendor" / "agent").unlink()
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (bundle / "vendor" / "agent").write_text("evil")
    assert not judged(bundle, ledger).trusted


@pytest.mark.parametrize("repository", [True, False])
@pytest.mark.parametrize("form", ["{project}/tools/run", "/proc/self/cwd/tools/run"])
def test_an_absolute_program_of_the_project_is_part_of_what_is_approved(
    bundle, ledger, form, repository, monkeypatch
):
    project = bundle.parents[1]
    if repository:
        (project / ".git").mkdir()
    (project / "tools").mkdir()
    monkeypatch.chdir(project)
    (bundle / "AGENT-CLI.md").write_text(f"---\nname: agent\nbin: {form.format(project=project)}\n---\n")
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (project / "tools" / "run").write_text("good")
    assert not judged(bundle, ledger).trusted  # it appears
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    assert judged(bundle, ledger).trusted
    (project / "tools" / "run").write_text("evil")
    assert not judged(bundle, ledger).trusted


def test_an_absolute_program_of_the_system_may_be_renewed(bundle, ledger, tmp_path):
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "run").write_text("1")
    (bundle.parents[1] / ".git").mkdir()
    (bundle / "AGENT-CLI.md").write_text(f"---\nname: agent\nbin: {tmp_path}/usr/run\n---\n")
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    (tmp_path / "usr" / "run").write_text("2")
    assert judged(bundle, ledger).trusted


def test_an_approval_does_not_move_to_another_place(bundle, ledger, tmp_path):
    approve(str(bundle / "AGENT-CLI.md"), ledger)
    copy = tmp_path / "copy" / "AGENT-CLI.md"
    copy.parent.mkdir()
    copy.write_text(MANIFEST)
    assert not standing(str(copy), "project", ledger).trusted


def test_what_was_not_looked_at_is_not_approved(bundle, ledger):
    seen = judged(bundle, ledger)
    (bundle / "AGENT-CLI.md").write_text(MANIFEST + "sneaked in")
    with pytest.raises(Fail) as caught:
        approve(str(bundle / "AGENT-CLI.md"), ledger, expected=seen.digest)
    assert caught.value.code == "MANIFEST_CHANGED"
    assert not judged(bundle, ledger).trusted


def test_files_outside_of_the_bundle_are_never_read(bundle, ledger, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("a")
    (bundle / "AGENT-CLI.md").write_text("---\na: ../../../outside\nb: /etc/hostname\nc: .\n---\n")
    before = content_digest(str(bundle / "AGENT-CLI.md"))
    outside.write_text("b")
    assert content_digest(str(bundle / "AGENT-CLI.md")) == before


@pytest.mark.parametrize("content", [b"\xff\xfe", b"no frontmatter", b"---\n: [\n---\n", b""])
def test_a_manifest_that_cannot_be_read_still_has_a_digest(bundle, content):
    (bundle / "AGENT-CLI.md").write_bytes(content)
    assert content_digest(str(bundle / "AGENT-CLI.md")).startswith("sha256:")


def test_the_refusal_says_what_to_do(bundle, ledger):
    fail = not_approved("agent", "/p", judged(bundle, ledger))
    assert (fail.category, fail.code) == ("authz", "MANIFEST_NOT_APPROVED")
    assert "operable agent approve agent" in str(fail.hint)
    assert str(fail.details["digest"]).startswith("sha256:")


def test_a_manifest_that_is_gone_is_a_clear_failure(tmp_path):
    with pytest.raises(Fail) as caught:
        content_digest(str(tmp_path / "AGENT-CLI.md"))
    assert caught.value.code == "MANIFEST_UNREADABLE"
