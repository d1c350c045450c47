"""ARCHITECTURE.md is a map: short, and every place that it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PACKAGES = ROOT / "src" / "operable"


def test_the_map_fits_on_a_few_screens():
    assert len(TEXT.splitlines()) <= 120


def test_every_path_that_the_map_names_exists():
    named = re.findall(r"`([\w./<>-]+/[\w./<>-]*|[\w-]+\.(?:md|toml))`", TEXT)
    places = [re.sub(r"<[^>]*>.*", "", name) for name in named if not name.startswith("operable ")]
    missing = [place for place in places if not (ROOT / place).exists() and not (PACKAGES / place).exists()]
    assert len(places) > 50
    assert not missing


def test_every_package_is_on_the_map_and_nothing_else():
    tree = re.findall(r"^[├└]── (\w+)/", TEXT, re.MULTILINE)
    assert sorted(tree) == sorted(path.parent.name for path in PACKAGES.glob("*/__init__.py"))


def test_the_rooms_on_the_map_are_those_of_the_tree():
    for package, rooms in re.findall(r"^[├└]── (\w+)/ +(.*)$", TEXT, re.MULTILINE):
        for room in re.findall(r"\b([a-z_]+)/(?!O)", rooms.replace("commands/<group>/", "commands/")):
            assert (PACKAGES / package / room).is_dir(), f"{package}/{room}"
