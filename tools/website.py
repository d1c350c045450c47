"""`./dev docs`: the documentation as a site in `build/site`, with search, for a browser and without a network.

The pages are those of `docs/`, and their order is that of `docs/README.md`: a page that is not in the index is not in the
menu either, and there is no second list. Before mkdocs reads them, links out of `docs/` are led to copies of what they name,
and the words that the tests read behind a fence (`norun`, `file=`) become a title. Beside each page is its source, which is
what `llms.txt` lists. mkdocs runs strictly: a broken link, a missing anchor and a page in no menu are errors.

    python -m tools.website [FOLDER]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LIMIT = 540  # seconds
# Pages from outside of docs/ that pages in it lead to.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md")
SUMMARY = (
    "One contract between agents and command lines: write tools, call and judge them, drive agents under rules, run "
    "declared work."
)
CONFIG: dict[str, Any] = {
    "site_name": "Operable",
    "site_description": SUMMARY,
    # Pages that a browser opens from a disk as well; the search needs a server: `python3 -m http.server -d build/site`.
    "use_directory_urls": False,
    "theme": {
        "name": "material",
        "font": False,  # the reader's own; the theme would fetch them from a network
        "icon": {"logo": "material/console-line"},
        "favicon": "icon.svg",
        "features": [
            "navigation.tabs",
            "navigation.prune",
            "navigation.top",
            "search.highlight",
            "search.suggest",
            "content.code.copy",
            "toc.follow",
        ],
        "palette": [
            {
                "media": "(prefers-color-scheme: light)",
                "scheme": "default",
                "primary": "indigo",
                "toggle": {"icon": "material/weather-night", "name": "Dark"},
            },
            {
                "media": "(prefers-color-scheme: dark)",
                "scheme": "slate",
                "primary": "indigo",
                "toggle": {"icon": "material/weather-sunny", "name": "Light"},
            },
        ],
    },
    "plugins": ["search"],
    "markdown_extensions": [
        "tables",
        "sane_lists",
        {"toc": {"permalink": True, "toc_depth": 3}},
        {"pymdownx.highlight": {"use_pygments": True}},
        "pymdownx.superfences",
    ],
    "validation": {
        "nav": {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"},
        "links": {
            "not_found": "warn",
            "anchors": "warn",
            "absolute_links": "warn",
            "unrecognized_links": "warn",
        },
    },
}
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#]+)\)")
FENCE = re.compile(r"^(?P<fence> *```)(?P<language>[a-z]+) (?P<rest>.+)$", re.MULTILINE)
_SOURCES = "(?:src|tools|examples|tests|bench|clients)"
OF_SOURCES = re.compile(rf"\[([^\]]*)\]\({_SOURCES}/[^)]*\)")
OUTWARD = re.compile(rf"\[([^\]]*)\]\((?:\.\./)+{_SOURCES}/[^)]*\)")


def build(folder: Path) -> str:
    """Make the site in a folder, which it replaces. Gives what mkdocs reported. Raises CalledProcessError with that."""
    with tempfile.TemporaryDirectory(prefix="operable-site-") as scratch:
        place = Path(scratch)
        _stage(place / "docs")
        config = CONFIG | {"nav": menu(), "docs_dir": str(place / "docs"), "site_dir": str(folder.resolve())}
        (place / "mkdocs.yml").write_text(json.dumps(config), "utf-8")  # JSON is YAML
        command = [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--config-file",
            str(place / "mkdocs.yml"),
        ]
        done = subprocess.run(
            command,
            env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
        for path in (place / "docs").rglob("*.md"):
            shutil.copyfile(path, folder / path.relative_to(place / "docs"))
        (folder / "llms.txt").write_text(llms(), "utf-8")
        return done.stdout


def menu() -> list[Any]:
    """The index as mkdocs wants it: headings, below them what a line introduces, below that the pages."""
    entries: list[Any] = [{"Start": [{"Operable": "README.md"}]}]
    for title, groups in _index().items():
        pages: list[Any] = [] if title != "Start" else entries.pop()["Start"]
        for group, links in groups.items():
            found = [item for text, path in links for item in _menu_items(text, path)]
            pages += [{group: found}] if group else found
        entries.append({title: pages})
    return [*entries, {"Project": list(PROJECT)}]


def llms() -> str:
    """What llms.txt says (llmstxt.org): each page with its first sentence, as Markdown."""
    lines = ["# Operable", "", f"> {SUMMARY}"]
    for title, groups in _index().items():
        lines += ["", f"## {title}", ""]
        for links in groups.values():
            lines += [f"- [{text}]({path}){_opening(path)}" for text, path in links]
    return "\n".join(lines) + "\n"


def _menu_items(text: str, path: str) -> list[Any]:
    """A page of the menu; the index of the commands brings the pages of the commands."""
    if not path.endswith(".md"):
        return []
    title = text[:1].upper() + text[1:] if not text.startswith(("operable", "outline", "aoi-")) else text
    if path != "reference/operable.md":
        return [{title: path}]
    groups: dict[str, list[Any]] = {}
    for found in re.finditer(
        r"^\| \[operable ([^\]]+)\]\((commands/[^)]+)\)", (DOCS / path).read_text("utf-8"), re.MULTILINE
    ):
        groups.setdefault(found[1].partition(" ")[0], []).append(
            {f"operable {found[1]}": f"reference/{found[2]}"}
        )
    singles = [items[0] for items in groups.values() if len(items) == 1]
    several = [{f"operable {name}": items} for name, items in groups.items() if len(items) > 1]
    return [{title: path}, *singles, *several]


def _index() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """docs/README.md: heading -> the words that introduce a list, or a line of several links -> title and path."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    title, group = "Start", ""
    for line in (DOCS / "README.md").read_text("utf-8").splitlines():
        links = [(text, path) for text, path in LINK.findall(line) if not path.startswith("..")]
        item = re.match(r"(?:-|\d+\.) ", line)
        if line.startswith("## "):
            title, group = line[3:], ""
        elif line.endswith(":") and not item and not links:
            group = line[:-1].removeprefix("For people who ").capitalize()
        elif item and len(links) > 1:
            found.setdefault(title, {})[line[2:].partition(":")[0]] = links
        elif links:
            found.setdefault(title, {}).setdefault(group, []).extend(links)
    return found


def _opening(path: str) -> str:
    """The first sentence of a page, behind a colon."""
    if not path.endswith(".md"):
        return ""
    for part in _paragraphs((DOCS / path).read_text("utf-8")):
        words = " ".join(LINK.sub(r"\1", part).split())
        return ": " + re.split(r"(?<=[.:?!]) ", words, maxsplit=1)[0].rstrip(":")
    return ""


def _paragraphs(text: str) -> Iterator[str]:
    without_code = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    for part in without_code.split("\n\n")[1:]:
        if part[:1] not in ("", "#", "|", "`", "-", "!") and not part.startswith(("Generated", "Accepted")):
            yield part


def _stage(place: Path) -> None:
    shutil.copytree(DOCS, place)
    shutil.copyfile(ROOT / "src/operable/serve/web/icon.svg", place / "icon.svg")
    for name in PROJECT:
        shutil.copyfile(ROOT / name, place / name)
    for path in place.rglob("*.md"):
        inside = path.relative_to(place)
        path.write_text(_readable(path.read_text("utf-8"), inside), "utf-8")


def _readable(text: str, inside: Path) -> str:
    """A page whose links stay in the site, and whose fences have a title instead of words for tests."""
    up = "../" * (len(inside.parts) - 1)
    for name in PROJECT:
        text = text.replace(f"]({up}../{name}", f"]({up}{name}")
    if inside.name in PROJECT:
        text = OF_SOURCES.sub(r"\1", re.sub(r"\]\(docs/", "](", text))
    return FENCE.sub(_fence, OUTWARD.sub(r"\1", text))


def _fence(match: re.Match[str]) -> str:
    file = re.search(r"\bfile=(\S+)", match["rest"])
    title = f' title="{file[1]}"' if file else ""
    return f"{match['fence']}{match['language']}{title}"


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        build(folder)
    except subprocess.CalledProcessError as error:
        print(error.output)
        return 1
    print(f"{folder / 'index.html'}: {sum(1 for _ in folder.rglob('*.html'))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
