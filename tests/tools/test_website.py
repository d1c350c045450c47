"""The documentation as a site: everything is in it and can be found, and reading it fetches nothing from elsewhere."""

import html.parser
import json
import re
import subprocess
from pathlib import Path

import pytest

from operable.cli import tool
from tools import website

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built strictly: mkdocs makes an error of a broken link, a missing anchor and a page in no menu."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    website.build(folder)
    return folder


class Assets(html.parser.HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        names = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
        value = dict(attrs).get(names.get(tag, ""))
        if value and dict(attrs).get("rel") not in ("prev", "next", "canonical"):
            self.found.append(value)


def test_every_page_of_the_documentation_and_every_command_is_a_page_of_the_site(site):
    pages = {str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html")}
    written = {str(path.relative_to(website.DOCS).with_suffix("")) for path in website.DOCS.rglob("*.md")}

    assert {name for name in written if name != "README"} - pages == set()
    assert {f"reference/commands/{name.replace(' ', '-')}" for name in tool.names()} <= pages


def test_a_browser_fetches_nothing_from_elsewhere(site):
    places = [path for path in site.rglob("*.html") if path.name != "404.html"]  # shown at any address
    assert len(places) > 200
    for path in places:
        for asset in Assets(path.read_text("utf-8")).found:
            assert not re.match(r"(\w+:)?//", asset), f"{path.name}: {asset}"
            assert (path.parent / asset.partition("?")[0].partition("#")[0]).exists(), f"{path.name}: {asset}"
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\((?!#|\"?data:)[^)]*//", styles) == []


def test_the_search_knows_commands_errors_and_words_of_the_glossary(site):
    index = json.loads((site / "search/search_index.json").read_text("utf-8"))
    found = {entry["location"]: entry["title"] + entry["text"] for entry in index["docs"]}

    for page, word in {
        "reference/commands/agent-prompt.html": "operable agent prompt",
        "reference/errors.html": "EXTRA_MISSING",
        "reference/glossary.html": "verdict",
        "reference/host.html": "define_agent_cli",
    }.items():
        assert any(word in text for place, text in found.items() if place.startswith(page)), page


def test_llms_txt_lists_every_page_of_the_index_beside_its_source(site):
    text = (site / "llms.txt").read_text("utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)

    assert text.startswith("# Operable\n\n> ")
    assert {path for path in listed if not (site / path).is_file()} == set()
    index = (website.DOCS / "README.md").read_text("utf-8")
    assert {path for path in re.findall(r"\]\(([^)#]+)\)", index) if not path.startswith("..")} <= set(listed)


def test_what_tests_read_behind_a_fence_is_a_title_or_nothing(site):
    page = (site / "learn/first-tool.html").read_text("utf-8")

    assert '<span class="filename">shelf.py</span>' in page
    assert "norun" not in (site / "learn/install.html").read_text("utf-8")


def test_a_broken_link_fails_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(website, "DOCS", tmp_path)
    (tmp_path / "README.md").write_text("# Docs\n\n- [Page](page.md)\n- [Commands](reference/operable.md)\n")
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/operable.md").write_text("# operable\n")
    (tmp_path / "page.md").write_text("# Page\n\nSee [that](page.md#nowhere).\n")

    with pytest.raises(subprocess.CalledProcessError) as refused:
        website.build(Path(tmp_path / "site"))

    assert "nowhere" in refused.value.output
