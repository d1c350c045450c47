import pytest

from operable.host.launch import discover
from operable.host.launch.discover import Discovery
from operable.host.launch.ledger import Ledger
from operable.host.launch.trust import approve
from operable.kernel.errors import Fail
from tests.requirement import requirement


def write(folder, name, *, text="", **fields):
    path = folder / name / "AGENT-CLI.md"
    path.parent.mkdir(parents=True)
    lines = {"name": name, "id": name, "version": "1.0.0", "protocol": "acp", **fields}
    path.write_text(
        text or "---\n" + "".join(f"{key}: {value}\n" for key, value in lines.items()) + "---\nBody\n"
    )
    return path


@pytest.fixture
def places(tmp_path):
    return tmp_path / "project", tmp_path / "user", tmp_path / "bundled"


@pytest.fixture
def discovery(tmp_path, places):
    project, user, bundled = places
    return Discovery(Ledger(str(tmp_path / "ledger")), str(project), str(user), str(bundled))


@requirement("aip45:lifecycle:discover")
def test_manifests_of_the_project_the_user_and_operable_are_found(places, discovery):
    project, user, bundled = places
    write(project / ".agents", "one", description="The first")
    write(project / ".operable" / "agents", "two")
    write(user, "three")
    write(bundled, "four")
    found = {each.name: each for each in discovery.all()}
    assert {name: each.origin for name, each in found.items()} == {
        "one": "project",
        "two": "project",
        "three": "user",
        "four": "bundled",
    }
    assert (found["one"].description, found["one"].version, found["one"].protocol) == (
        "The first",
        "1.0.0",
        "acp",
    )
    assert {name: each.trusted for name, each in found.items()} == {
        "one": False,
        "two": False,
        "three": True,
        "four": True,
    }


def test_the_user_comes_before_operable(places, discovery):
    _, user, bundled = places
    write(bundled, "agent")
    mine = write(user, "agent")
    assert discovery.find("agent").path == str(mine)
    first, second = discovery.all()
    assert (first.shadowed_by, second.shadowed_by) == (None, str(mine))


@pytest.mark.parametrize("origin, reads", [("user", 2), ("bundled", 1)])
def test_what_came_with_operable_is_read_once_and_again_when_it_has_changed(
    places, discovery, monkeypatch, origin, reads
):
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    read: list[str] = []
    texts = discover._texts

    def counted(path):
        read.append(path)
        return texts(path)

    monkeypatch.setattr(discover, "_texts", counted)
    folder = dict(zip(("project", "user", "bundled"), places, strict=True))[origin]
    path = write(folder, "agent", description="Old")

    assert [discovery.find("agent").description for _ in range(2)] == ["Old", "Old"]
    assert read == [str(path)] * reads

    path.write_text(path.read_text().replace("Old", "Newer"))

    assert discovery.find("agent").description == "Newer"


def test_a_project_comes_first_but_only_when_it_is_approved(places, discovery):
    project, _, bundled = places
    theirs, ours = write(project / ".agents", "agent"), write(bundled, "agent")
    assert discovery.find("agent").path == str(ours)
    approve(str(theirs), discovery.ledger)
    assert discovery.find("agent").path == str(theirs)
    theirs.write_text(theirs.read_text() + "changed")
    assert discovery.find("agent").path == str(ours)


def test_the_first_folder_of_a_project_comes_before_the_second(places, discovery):
    project, _, _ = places
    write(project / ".operable" / "agents", "agent")
    first = write(project / ".agents", "agent")
    assert discovery.find("agent").path == str(first)


def test_an_unapproved_manifest_is_found_and_refused(places, discovery):
    path = write(places[0] / ".agents", "agent")
    found = discovery.find("agent")
    with pytest.raises(Fail) as caught:
        found.require_trusted()
    assert (caught.value.code, caught.value.target) == ("MANIFEST_NOT_APPROVED", str(path))
    approve(str(path), discovery.ledger)
    discovery.find("agent").require_trusted()


def test_an_id_is_as_good_as_a_name_but_a_name_is_better(places, discovery):
    _, user, _ = places
    write(user, "agent", id="agent-id")
    write(user, "other", id="agent")
    assert discovery.find("agent-id").name == "agent"
    assert discovery.find("agent").name == "agent"


@pytest.mark.parametrize("how", ["file", "folder"])
def test_a_path_names_its_file(places, discovery, tmp_path, how):
    path = write(tmp_path / "elsewhere", "agent")
    write(places[2], "agent")
    found = discovery.find(str(path if how == "file" else path.parent))
    assert (found.path, found.origin, found.trusted) == (str(path), "project", False)


def test_a_path_into_the_users_own_folder_is_the_users(places, discovery, tmp_path):
    path = write(places[1], "agent")
    assert discovery.find(str(path)).origin == "user"
    (tmp_path / "link").symlink_to(places[1])
    assert discovery.find(str(tmp_path / "link" / "agent")).trusted


def test_a_link_out_of_the_users_folder_is_judged_by_where_it_leads(places, discovery, tmp_path):
    outside = write(tmp_path / "elsewhere", "agent")
    places[1].mkdir()
    (places[1] / "agent").symlink_to(outside.parent)
    assert not discovery.find(str(places[1] / "agent")).trusted


def test_what_is_not_there_is_said_with_what_was_perhaps_meant(places, discovery):
    write(places[1], "claude-code")
    with pytest.raises(Fail) as caught:
        discovery.find("claud-code")
    assert (caught.value.code, caught.value.details["near"]) == ("UNKNOWN_AGENT", ["claude-code"])
    with pytest.raises(Fail) as caught:
        discovery.find("./nowhere/AGENT-CLI.md")
    assert caught.value.code == "MANIFEST_NOT_FOUND"


@pytest.mark.parametrize("text", ["no frontmatter", "---\na: [\n---\n", "\udcff"])
def test_a_manifest_that_cannot_be_read_is_listed_with_its_problem(places, discovery, text):
    path = places[1] / "broken" / "AGENT-CLI.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    write(places[1], "good")
    broken, good = discovery.all()
    assert (broken.name, good.name, good.problem) == ("broken", "good", None)
    assert broken.problem


def test_only_the_frontmatter_is_looked_at(places, discovery):
    write(
        places[1], "agent", text="---\nname: agent\nid: [not, a, text]\n---\n" + "---\nname: evil\n---\n" * 10
    )
    (found,) = discovery.all()
    assert (found.name, found.id) == ("agent", "")


def test_hidden_and_missing_folders_hold_nothing(places, discovery):
    write(places[1], ".hidden")
    assert discovery.all() == []
