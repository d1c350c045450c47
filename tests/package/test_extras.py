"""The built wheel, bare and with each extra: what works, what says which extra it needs, and that nothing is a traceback.

`python -m tests.package` prints the table of it, with sizes and times; docs/reference/extras.md is made of what it keeps.
"""

import json
import tomllib
from pathlib import Path

import pytest

from operable.kernel.extras import EXTRAS
from tests.package import scenes
from tests.package.environments import import_check, with_extra
from tests.package.matrix import KEPT, judged

# Cloud SDKs are not in the lock: what they bring fights with our own pins (docs/decisions/0019).
CLOUDS = {"e2b", "modal", "daytona", "blaxel"}
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
LOCKED = sorted(set(PROJECT["optional-dependencies"]) - CLOUDS)


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text("utf-8"))


@pytest.mark.timeout(600)
def test_every_command_works_bare_or_says_which_extra_it_needs(base, kept, tmp_path):
    outcomes = judged(base, scenes.scenes(), tmp_path)

    assert {name: outcome for name, outcome in outcomes.items() if "TRACEBACK" in outcome} == {}
    for words, extra in scenes.MORE:
        assert (words, outcomes[words]) == (words, f"EXTRA_MISSING {extra}")
    # A command that is new since the table was kept may do either.
    known = outcomes.keys() & kept["bare"].keys()
    assert {name: outcomes[name] for name in known} == {name: kept["bare"][name] for name in known}


@pytest.mark.parametrize("extra", LOCKED)
def test_with_its_extra_a_command_works(base, kept, extra, tmp_path):
    environment = with_extra(base, extra, tmp_path / "environment")
    missed = {name for name, outcome in kept["bare"].items() if outcome == f"EXTRA_MISSING {extra}"}
    own = [scene for scene in scenes.scenes() if scene.name in missed]

    assert judged(environment, own, tmp_path) == {scene.name: "works" for scene in own}
    modules = [module for module, home in EXTRAS.items() if home == extra]
    assert import_check(environment, modules) == ""
    assert all("No module named" in import_check(base, [module]) for module in modules)


def test_a_collector_that_is_configured_needs_its_extra(base, tmp_path):
    environment = with_extra(base, "engine", tmp_path / "environment")
    start = scenes.Scene(("engine", "start"), "otel")

    collector = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    assert judged(environment, [start], tmp_path, collector) == {"engine start": "EXTRA_MISSING otel"}


def test_the_kept_table_has_every_extra_of_the_lock(kept):
    assert sorted(kept["environments"]) == sorted(["", *LOCKED])
