"""The manifests that come with Operable: each is valid without a warning, says nothing that does not exist, and is pinned."""

import re
from pathlib import Path

import pytest

import operable
import operable.host
from operable.agent.acp.answers import _MODES
from operable.host import define_agent_cli
from operable.host.start.choices import arm_for, protocol_mode
from operable.manifest.versions import satisfies
from tests.agents.install import PINS

FOLDER = Path(operable.host.__file__).parent / "agents"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/AGENT-CLI.md"))


@pytest.fixture(params=NAMES)
def handle(request):
    return define_agent_cli(FOLDER / request.param / "AGENT-CLI.md")


def test_the_agents_that_the_project_promises_are_there():
    promised = "aionrs claude-code cline codex codex-app-server copilot droid gemini goose hermes kilo kimi-code opencode pi"

    assert {*promised.split(), "operable-agent", "qwen", "vibe"} <= set(NAMES)


def test_a_manifest_loads_strictly_without_a_warning_and_has_an_arm(handle):
    assert [str(problem) for problem in handle.loaded.problems] == []
    assert arm_for(handle.manifest).name
    assert handle.manifest.name == Path(handle.loaded.path).parent.name


def test_what_it_says_about_modes_is_about_modes_that_it_has(handle):
    quirks = handle.manifest.metadata["operable"]
    modes = {mode.id for mode in handle.manifest.modes}

    assert set(quirks.get("mode_ids", {})) <= modes
    assert set(quirks["unasking_modes"]) - {None} <= modes
    assert quirks["after_denial"] in {"continues", "ends", "cancelled"}


def test_it_begins_in_a_mode_that_asks_or_says_that_it_does_not(handle):
    quirks = handle.manifest.metadata["operable"]

    assert quirks.get("initial_mode") not in quirks["unasking_modes"] or None in quirks["unasking_modes"]


@pytest.mark.parametrize(
    "name, mode, selected",
    [
        ("claude-code", None, "default"),
        ("claude-code", "accept-edits", "default"),
        ("hermes", "accept-edits", "accept_edits"),
        ("codex", None, "read-only"),
        ("codex", "agent", "agent"),
        ("gemini", "yolo", None),
        ("goose", "smart-approve", "smart_approve"),
        ("opencode", None, None),
        ("opencode", "ask", None),
        ("qwen", "default", "default"),
    ],
)
def test_what_the_protocol_selects_is_said_in_the_agents_own_words(name, mode, selected):
    """None: nothing is selected, because the command line or the environment does it, or nothing has to be done."""
    manifest = define_agent_cli(FOLDER / name / "AGENT-CLI.md").manifest

    assert protocol_mode(manifest, mode) == selected


AGENTS = sorted(
    name
    for name in PINS
    if name not in {"node", "mcp-inspector", "acp-sdk", "acp-sdk-0.4.5", "acpx", "skills-ref", "typescript"}
    and not name.startswith("cloud-")
)


@pytest.mark.parametrize("name", AGENTS)
def test_its_version_range_has_the_version_that_is_tested(name):
    pin = PINS[name]
    version = (pin.get("npm") or pin["pip"]).split()[0].rpartition("@" if "npm" in pin else "==")[2]
    handle = define_agent_cli(FOLDER / name / "AGENT-CLI.md")

    assert satisfies(version, handle.manifest.version_check.range)


def test_no_secret_is_handed_to_a_provider_that_does_not_isolate(handle):
    assert handle.manifest.auth is None or handle.manifest.sandbox.provider not in {
        "local",
        "node-permission",
    }


def test_every_member_of_our_metadata_is_documented():
    guide = Path(operable.__file__).parents[2] / "docs/guides/write-an-agent-manifest.md"
    section = (
        guide.read_text("utf-8").partition("## All members of `metadata.operable`")[2].partition("\n## ")[0]
    )
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    documented = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}

    read = re.compile(r"""quirks(?:_of\([\w.]*\))?(?:\.get\(|\[)"(\w+)"|_words\(quirks, "(\w+)"\)""")
    used = set()
    for path in FOLDER.parent.rglob("*.py"):
        used |= {name for found in read.findall(path.read_text("utf-8")) for name in found if name}
    for name in NAMES:
        used |= set(define_agent_cli(FOLDER / name / "AGENT-CLI.md").manifest.metadata["operable"])

    assert documented == used


@pytest.mark.parametrize("name", ["operable-agent", "operable-agent-acp"])
def test_our_own_agent_is_described_as_it_describes_itself(name):
    described = {
        mode.id: mode.description for mode in define_agent_cli(FOLDER / name / "AGENT-CLI.md").manifest.modes
    }

    for mode in ("default", "auto_edit"):
        assert described[mode.replace("_", "-")] == _MODES[mode][1]
