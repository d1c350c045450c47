"""The rules of compatibility (docs/explain/compatibility.md): each row of its tables is tried with two contracts.

The page is what users rely on, `compare` is what is done; neither may change without the other.
"""

import re
from pathlib import Path

import pytest

from operable.run import compare
from operable.run.contract import Contract
from tests.requirement import requirement

PAGE = Path(__file__).parents[1] / "docs" / "explain" / "compatibility.md"
PLAIN: dict[str, object] = {
    "properties": {"type": {"const": "x"}, "a": {"type": "string"}},
    "required": ["type", "a"],
}


def fields(a: object = None, *, required: bool = True, **more: object) -> dict[str, object]:
    """The schema of an event or of an input: a field or parameter `a`, and perhaps others."""
    properties = {"type": {"const": "x"}, **({} if a is None else {"a": a}), **more}
    demanded = [
        "type",
        *(["a"] if required and a is not None else []),
        *(name for name in more if name.endswith("_")),
    ]
    return {"type": "object", "properties": properties, "required": demanded}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
EMITS = {
    "a new field": (fields(TEXT), fields(TEXT, b=TEXT), "minor"),
    "a field goes, or gets another name": (fields(TEXT), fields(None), "breaking"),
    "a field that was always there becomes optional": (
        fields(TEXT),
        fields(TEXT, required=False),
        "breaking",
    ),
    "an optional field is now always there": (fields(TEXT, required=False), fields(TEXT), "minor"),
    "a field gets another type": (fields(TEXT), fields(NUMBER), "breaking"),
    "a field can also be null, or of one more type": (
        fields(TEXT),
        fields({"type": ["string", "null"]}),
        "breaking",
    ),
    "a field can no longer be null": (fields({"type": ["string", "null"]}), fields(TEXT), "minor"),
    "one more value in an enumeration": (fields({"enum": ["a"]}), fields({"enum": ["a", "b"]}), "breaking"),
    "one value less in an enumeration": (fields({"enum": ["a", "b"]}), fields({"enum": ["a"]}), "minor"),
    "another description": (fields(TEXT), fields(TEXT | {"description": "new"}), "compatible"),
}
ACCEPTS = {
    "a new optional parameter": (fields(TEXT), fields(TEXT, b=TEXT), "minor"),
    "a new required parameter": (fields(TEXT), fields(TEXT, b_=TEXT), "breaking"),
    "a parameter goes": (fields(TEXT), fields(None), "breaking"),
    "a required parameter becomes optional": (fields(TEXT), fields(TEXT, required=False), "minor"),
    "a parameter takes one more value": (fields({"enum": ["a"]}), fields({"enum": ["a", "b"]}), "minor"),
    "a parameter takes one value less": (fields({"enum": ["a", "b"]}), fields({"enum": ["a"]}), "breaking"),
    "another default": (fields(TEXT | {"default": "a"}), fields(TEXT | {"default": "b"}), "breaking"),
}
READS: dict[str, object] = {"name": "c", "read_only": True, "supports_cursor": True, "default_limit": 100}
PROMISES: dict[str, tuple[list[dict[str, object]], list[dict[str, object]], str]] = {
    "a new command": ([READS], [READS, {**READS, "name": "d"}], "minor"),
    "a command goes": ([READS], [], "breaking"),
    "a command that only read now changes things": ([READS], [{**READS, "read_only": False}], "breaking"),
    "a command now needs a confirmation, or authentication": (
        [READS],
        [{**READS, "requires_confirm": True}],
        "breaking",
    ),
    "a command no longer takes `--cursor`, `--dry-run` or another standard option": (
        [READS],
        [{**READS, "supports_cursor": False}],
        "breaking",
    ),
    "a lower default limit or timeout": ([READS], [{**READS, "default_limit": 50}], "breaking"),
    "a higher default limit or timeout": ([READS], [{**READS, "default_limit": 500}], "minor"),
    "a finite command becomes unbounded": ([READS], [{**READS, "unbounded": True}], "breaking"),
}


def documented_level(change: str) -> str:
    found = re.search(rf"^\| {re.escape(change)} \| (\w+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert found, f"the page does not say what {change!r} is"
    return found[1]


def event_contract(event: dict[str, object], *more: str) -> Contract:
    definitions = {"x": event} | {name: {"properties": {"type": {"const": name}}} for name in more}
    return Contract(schema={"$defs": definitions})


@requirement("aoi:1.1:compatibility-documented")
@pytest.mark.parametrize("change", EMITS)
def test_what_the_page_says_of_emitted_events_is_what_is_judged(change):
    before, after, level = EMITS[change]

    assert compare(event_contract(before), event_contract(after)).level == level == documented_level(change)


@requirement("aoi:1.1:compatibility-documented")
def test_what_the_page_says_of_event_types_is_what_is_judged():
    one, two = event_contract(PLAIN), event_contract(PLAIN, "y")

    assert compare(one, two).level == documented_level("a new event type")
    assert compare(two, one).level == documented_level("an event type goes")


@requirement("aoi:1.1:compatibility-documented")
@pytest.mark.parametrize("change", ACCEPTS)
def test_what_the_page_says_of_accepted_input_is_what_is_judged(change):
    before, after, level = ACCEPTS[change]
    old, new = (Contract(schema={"$defs": {"x": PLAIN}}, inputs={"c": part}) for part in (before, after))

    assert compare(old, new).level == level == documented_level(change)


@requirement("aoi:1.1:compatibility-documented")
@pytest.mark.parametrize("change", PROMISES)
def test_what_the_page_says_of_commands_is_what_is_judged(change):
    before, after, level = PROMISES[change]
    old, new = (Contract(capabilities={"tool": "t", "commands": part}) for part in (before, after))

    assert compare(old, new).level == level == documented_level(change)


@requirement("aoi:1.1:compatibility-documented")
def test_the_rules_of_compatibility_cover_types_names_versions_and_codes():
    text = PAGE.read_text("utf-8")

    for heading in (
        "Versions",
        "What a tool emits",
        "What a tool accepts",
        "Error codes",
        "Field names and types",
    ):
        assert f"## {heading}\n" in text
    assert "MAJOR.MINOR.PATCH" in text
    rows = set(re.findall(r"^\| (.+?) \| (?:minor|breaking|compatible) \|$", text, re.MULTILINE))
    tried = {*EMITS, *ACCEPTS, *PROMISES, "a new event type", "an event type goes"}
    assert rows - tried == {"another exit code for a category"}


@requirement("aoi:1.1:compatibility-documented")
def test_another_exit_code_is_a_break_as_the_page_says():
    old, new = (
        Contract(capabilities={"tool": "t", "exit_codes": {"usage": code}, "commands": []})
        for code in (64, 2)
    )

    assert compare(old, new).level == documented_level("another exit code for a category") == "breaking"
