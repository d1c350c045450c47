"""The page about wrapped tools is about those of the package, whoever makes it."""

from operable.manifest import render
from tests.wrap.drive import CLI, TOOL
from tools.pages import wrappers


def test_a_wrapper_of_whoever_makes_the_page_does_not_stand_in_it(tmp_path, monkeypatch):
    own = tmp_path / "jq"
    (own / "tools" / "go").mkdir(parents=True)
    (own / "CLI.md").write_text(render(CLI | {"name": "jq", "id": "jq", "description": "Another."}, ""))
    (own / "tools" / "go" / "TOOL.md").write_text(render(TOOL | {"id": "jq.go"}, ""))
    monkeypatch.setenv("OPERABLE_WRAPPERS", str(tmp_path))

    assert "Another." not in wrappers.render()
