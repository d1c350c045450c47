"""Published schemas: valid, public, permissive, and with complaints that name the field."""

import re
from itertools import groupby
from typing import Any

import jsonschema_rs
import pytest

from operable.kernel.errors import CATEGORIES
from operable.spec import requirements, schema, schema_names
from tests.requirement import requirement

FRAMEWORK_TYPES = ["check", "error", "heartbeat", "meta", "plan", "progress", "summary", "warning"]


@pytest.mark.parametrize("name", schema_names())
def test_every_published_schema_is_valid_and_loads_by_its_name(name):
    document = schema(name)

    jsonschema_rs.meta.validate(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@requirement("aoi:10.2:public-id")
@pytest.mark.parametrize("name", schema_names())
def test_the_id_of_a_published_schema_is_no_place_on_this_machine(name):
    assert schema(name)["$id"].startswith(f"urn:operable:schema:{name}:")


def test_an_unknown_schema_name_is_answered_with_the_known_ones():
    with pytest.raises(LookupError, match="aoi-capabilities, aoi-events"):
        schema("nonsense")


def test_a_caller_may_change_what_it_got():
    schema("aoi-events").clear()

    assert schema("aoi-events")


@requirement("aoi:10.4:discriminator")
def test_definitions_are_keyed_by_event_type_and_selected_by_it():
    document = schema("aoi-events")

    selected = {rule["if"]["properties"]["type"]["const"] for rule in document["allOf"]}
    assert selected == {f"aoi:{name}" for name in FRAMEWORK_TYPES}
    for rule in document["allOf"]:
        name = rule["if"]["properties"]["type"]["const"]
        assert rule["then"] == {"$ref": f"#/$defs/{name}"}
        assert document["$defs"][name]["properties"]["type"] == {"const": name}


@requirement("aoi:10.4:discriminator")
def test_a_complaint_names_the_field_and_nothing_else():
    validator = jsonschema_rs.validator_for(schema("aoi-events"))

    problems = list(validator.iter_errors({"type": "aoi:summary", "ok": "yes"}))

    assert [problem.instance_path for problem in problems] == [["ok"]]


@requirement("aoi:10.3:output-permissive")
def test_unknown_fields_and_unknown_types_are_valid():
    validator = jsonschema_rs.validator_for(schema("aoi-events"))

    assert validator.is_valid({"type": "aoi:meta", "tool": "outline", "colour": "blue"})
    assert validator.is_valid({"type": "created", "id": "n1"})
    assert validator.is_valid({"type": "aoi:future", "anything": [1]})


@pytest.mark.parametrize(
    "event", [{}, {"type": 1}, [], "text", {"type": "aoi:summary"}, {"type": "aoi:error"}]
)
def test_what_is_no_event_is_invalid(event):
    assert not jsonschema_rs.validator_for(schema("aoi-events")).is_valid(event)


@requirement("aoi:8.1:envelope")
def test_the_common_fields_are_texts_in_every_meta_event():
    validator = jsonschema_rs.validator_for(schema("aoi-events"))
    common = ["schema_name", "schema_version", "tool", "tool_version", "aoi_version", "timestamp", "trace_id"]

    assert validator.is_valid({"type": "aoi:meta"} | dict.fromkeys(common, "2026-11-15T09:00:00Z"))
    for field in common:
        assert not validator.is_valid({"type": "aoi:meta", field: 2})


@requirement("aoi:9.1:categories")
def test_the_schema_and_the_taxonomy_name_the_same_categories():
    assert schema("aoi-events")["$defs"]["category"]["enum"] == list(CATEGORIES)


def test_a_destructive_command_without_confirmation_is_no_valid_manifest():
    validator = jsonschema_rs.validator_for(schema("aoi-capabilities"))
    manifest: dict[str, Any] = {
        "tool": "outline",
        "tool_version": "1.8.2",
        "aoi_versions": ["0.2"],
        "outputs": ["jsonl"],
        "schemas": [{"name": "com.example.outline.events", "versions": ["1.0.0"], "default": "1.0.0"}],
        "commands": [{"name": "delete", "read_only": False, "destructive": True, "requires_confirm": True}],
    }
    assert validator.is_valid(manifest)

    del manifest["commands"][0]["requires_confirm"]

    assert not validator.is_valid(manifest)


def test_entries_are_well_formed():
    for entry in requirements():
        assert re.fullmatch(r"[a-z]+[a-z0-9-]*:(\d+(\.\d+)?|[a-z]+):[a-z0-9]+(-[a-z0-9]+)*", entry.id)
        assert entry.level in ("MUST", "SHOULD", "MAY"), entry
        assert entry.text.endswith("."), entry
        for reason in (entry.deferred, entry.divergence):
            assert reason is None or len(reason.split()) > 3, entry


def test_the_entries_of_a_draft_stand_together_sorted_by_section_and_then_by_name():
    drafts = [
        (draft, list(entries)) for draft, entries in groupby(requirements(), key=lambda entry: entry.draft)
    ]

    assert len({draft for draft, _ in drafts}) == len(drafts)
    for _, entries in drafts:
        assert entries == sorted(entries, key=lambda entry: entry.order)


def test_every_section_of_the_aoi_draft_that_asks_for_something_has_entries():
    sections = {int(entry.section.split(".")[0]) for entry in requirements() if entry.draft == "aoi"}

    assert sections >= {*range(1, 18), 19}
