"""`operable flow graph`: the drawing itself for people, an event for machines."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.cli.drive import operable
from tests.flow.manifests import manifest

GOOD = json.dumps(manifest()).encode()


def test_the_drawing_is_all_that_people_get_on_stdout():
    drawn = operable("flow", "graph", "--draw", "svg", "--after", "2026-01-01", input=GOOD, output=None)
    default = operable("flow", "graph", input=GOOD, output=None)

    assert ET.fromstring(drawn.stdout).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"next 2026-01-01T09:00+00:00" in drawn.stdout
    assert default.stdout.startswith(b"flowchart LR\n")


def test_in_machine_mode_the_drawing_is_in_an_event():
    outcome = operable("flow", "graph", "--draw", "svg", input=GOOD)

    (drawing,) = outcome.of("flow_drawing")
    assert (drawing["language"], drawing["text"][:5]) == ("svg", "<?xml")


@pytest.mark.parametrize(
    "options, input, status, code",
    [
        (["--after", "tomorrow"], GOOD, 64, "TIME_INVALID"),
        (["--runs", "1000"], GOOD, 64, "RUNS_OUT_OF_RANGE"),
        ([], b"{}", 65, "MANIFEST_INVALID"),
    ],
)
def test_what_cannot_be_drawn_is_a_structured_error(options, input, status, code):
    outcome = operable("flow", "graph", *options, input=input)

    assert (outcome.exit_code, outcome.of("aoi:error")[0]["code"]) == (status, code)
