"""Drawings: what they show, that nothing in a manifest can break out of them, and that boxes do not overlap."""

import re
from datetime import UTC, datetime
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.flow.errors import FlowError
from operable.flow.graph.model import graph, mermaid
from operable.flow.graph.svg import svg
from operable.flow.manifest.schedules import moment, next_runs
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered

AFTER = datetime(2026, 1, 1, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(value, runs=1):
    return graph(value, AFTER, runs)


def texts(image):
    return ["".join(text.itertext()) for text in ET.fromstring(image).iter(f"{SVG}text")]


def boxes(image):
    """(x, y, width, height) of every task."""
    groups = ET.fromstring(image).iter(f"{SVG}g")
    rects = [rect for group in groups for rect in group.findall(f"{SVG}rect")]
    return [tuple(int(rect.attrib[name]) for name in ("x", "y", "width", "height")) for rect in rects]


FULL = manifest(
    shell_task(
        "build",
        schedule={"cron": "0 9 * * *", "tz": "Europe/Zurich"},
        identity={"ref": "robot"},
        on_failure={"prompt": "look at it"},
    ),
    shell_task(
        "deploy",
        **triggered("build", delay_s=30, condition="contains:ok"),
        approval={"policy": "manual", "risk_level": "high", "approver_scope": "domain:example.org"},
        contract={"sandbox": "strict", "network": "none", "required_trust_level": "supervised"},
        enabled=False,
    ),
    identity_profiles=[
        {"id": "robot", "provider": "none", "subject": {"kind": "agent", "principal": "agent://robot"}}
    ],
)


def test_a_drawing_shows_schedules_next_runs_identities_gates_and_what_leads_to_what():
    shown = texts(svg(drawn(FULL, runs=2)))
    text = mermaid(drawn(FULL, runs=2))

    for words in (
        "0 9 * * * Europe/Zurich",
        "next 2026-01-01T09:00+01:00",
        "next 2026-01-02T09:00+01:00",
        "as agent://robot",
        "trust: supervised (none)",
        "confined: sandbox strict, network none",
        "disabled",
    ):
        assert words in shown
        assert words in text
    assert "approval: manual, high risk, by domain:example.org" in text
    assert 'w0t0 -- "success, after 30 s, contains:ok" --> w0t2' in text
    assert 'w0t0 -. "failure" .-> w0t1' in text
    assert "class w0t2 disabled" in text


HOSTILE = '</text></title><script>alert(1)</script> ]]> & " \' ` \u202e gnp.exe \x1f \n end --> x["y"]; %%{init: {}}%% #quot;'


def test_no_name_breaks_out_of_an_svg():
    value = manifest(
        prompt_task("a", name=HOSTILE.replace("\x1f", ""), prompt="漢字" * 200),
        shell_task("b", **triggered("a", condition=f"contains:{HOSTILE}".replace("\x1f", ""))),
        workflow={"name": HOSTILE.replace("\x1f", "") + "\ud800"},
    )
    image = svg(drawn(value))

    image.encode("utf-8")
    root = ET.fromstring(image)
    known = {"svg", "title", "defs", "marker", "path", "rect", "g", "text"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == known
    assert "\u202e" not in image
    assert not any(name.startswith(("on", "href", "{")) for element in root.iter() for name in element.attrib)
    assert max(map(len, texts(image))) <= 90


def test_no_name_breaks_out_of_a_mermaid_label():
    value = manifest(
        prompt_task("a", name=HOSTILE.replace("\x1f", ""), prompt=HOSTILE.replace("\x1f", "")),
        workflow={"name": HOSTILE.replace("\x1f", "")},
    )
    text = mermaid(drawn(value))

    assert len(text.splitlines()) == 4
    for line in text.splitlines()[1:3]:
        (label,) = re.findall(r'"([^"]*)"', line)
        assert set(re.findall(r"<[^>]*>", label)) <= {"<b>", "</b>", "<br/>"}
        assert not set("`[]{};%\\") & set(re.sub(r"#[0-9]+;", "", label))


@st.composite
def forests(draw):
    """Tasks with one parent each, sometimes in a circle, some of them with much to say."""
    count = draw(st.integers(1, 9))
    tasks = []
    for number in range(count):
        others: list[int | None] = [None, *(other for other in range(count) if other != number)]
        parent = draw(st.sampled_from(others))
        tall = {
            "contract": {"sandbox": "strict", "required_trust_level": "supervised"},
            "approval": {"policy": "manual"},
        }
        tasks.append(
            shell_task(
                f"t{number}",
                **({} if parent is None else triggered(f"t{parent}")),
                **(tall if draw(st.booleans()) else {}),
            )
        )
    return manifest(*tasks)


@settings(deadline=None)
@given(forests())
def test_every_task_has_a_box_inside_the_image_and_no_two_overlap(value):
    image = svg(drawn(value))
    placed = boxes(image)

    assert len(placed) == len(value["workflows"][0]["tasks"])
    width, height = (int(ET.fromstring(image).attrib[name]) for name in ("width", "height"))
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in placed)
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(placed, 2):
        assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1


def test_a_long_chain_is_drawn():
    tasks = [shell_task("t0"), *(shell_task(f"t{n}", **triggered(f"t{n - 1}")) for n in range(1, 1500))]

    assert len(boxes(svg(drawn(manifest(*tasks))))) == 1500


def test_what_is_no_manifest_is_refused_with_the_validation():
    with pytest.raises(FlowError) as refused:
        drawn({})

    assert refused.value.details["validation"]["ok"] is False


def test_next_runs_follow_the_zone_over_a_change_of_the_clock():
    before = datetime(2026, 3, 28, 12, tzinfo=UTC)

    assert next_runs("0 9 * * *", "Europe/Zurich", before, 2) == [
        "2026-03-29T09:00+02:00",
        "2026-03-30T09:00+02:00",
    ]
    assert next_runs("0 0 31 2 *", "UTC", before, 2) == []
    assert next_runs("0 9 * * *", "Nowhere/Land", before, 2) == []
    assert next_runs("0 9 * * *", "../etc/passwd", before, 2) == []


def test_a_moment_without_a_zone_is_utc():
    assert moment("2026-01-01T10:00") == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert moment("2026-01-01T10:00+01:00") == datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert moment(None).tzinfo is not None
