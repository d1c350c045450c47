"""Every kind of manifest, also one that is added later: its schema, its model and its names fit together."""

from typing import Any

import msgspec
import pytest

from operable.kernel.errors import Fail
from operable.manifest import Kind, all_kinds, kind_named
from operable.manifest.blocks import Block
from operable.spec import schema

KINDS = pytest.mark.parametrize("kind", all_kinds().values(), ids=lambda kind: kind.name)


def properties(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of a schema, where they stand in the shared blocks as well."""
    if "properties" in document:
        return dict(document["properties"])
    name = document["$ref"].rpartition("/")[2]
    return dict(schema("manifest-blocks")["$defs"][name]["properties"])


@KINDS
def test_the_schema_and_the_model_have_the_same_fields_and_need_the_same_ones(kind: Kind):
    document = schema(kind.schema)
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind.model)}

    # `runtime` is the older form of a runner; it is migrated before the model sees it.
    assert set(fields) == set(properties(document)) - {"runtime"}
    required = document.get("required") or schema("manifest-blocks")["$defs"][kind.name].get("required", [])
    assert {name for name, field in fields.items() if field.required} == set(required)


@KINDS
def test_a_kind_is_named_after_its_file_and_schema(kind: Kind):
    assert kind_named(kind.name) is kind
    assert kind.file_name.removesuffix(".md").lower() == kind.name
    assert kind.schema == f"manifest-{kind.name}"
    assert issubclass(kind.model, Block)
    assert kind.summary.endswith(".")


@KINDS
def test_what_a_kind_refers_to_is_a_kind(kind: Kind):
    for reference in kind.references:
        assert kind_named(reference.kind).name == reference.kind
        assert reference.unresolvable.endswith("REF_UNRESOLVABLE")


def test_no_kind_recognises_what_is_no_manifest():
    assert [
        kind.name for kind in all_kinds().values() if kind.recognise({"title": "A page", "tags": ["x"]})
    ] == []


def test_an_unknown_kind_is_answered_with_the_nearest():
    with pytest.raises(Fail) as caught:
        kind_named("sandboks")

    assert caught.value.hint == "Did you mean sandbox?"
