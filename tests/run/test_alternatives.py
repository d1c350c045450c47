from operable.run.alternatives import SchemaDocument, merged

STRING = {"type": "string"}


def allowed(schema, root=None):
    return [(one.type, one.schema) for one in SchemaDocument(root or schema).alternatives(schema)]


def types(schema, root=None):
    return [name for name, _ in allowed(schema, root)]


def test_every_spelling_of_a_union_is_taken_apart():
    assert types({"type": ["string", "null"]}) == ["string", "null"]
    assert types({"anyOf": [STRING, {"oneOf": [{"type": "integer"}, {"const": None}]}]}) == [
        "string",
        "integer",
        "null",
    ]
    assert types({"enum": ["a", 1, 1.5, True, None, [], {}]}) == [
        "string",
        "integer",
        "number",
        "boolean",
        "null",
        "array",
        "object",
    ]


def test_a_listed_value_that_the_type_excludes_does_not_count():
    assert allowed({"type": "string", "enum": ["a", 1]}) == [("string", {"type": "string", "enum": ["a"]})]
    assert types({"type": "number", "enum": [1, 1.5]}) == ["integer", "number"]


def test_false_allows_nothing_and_true_everything():
    assert types(False) == []
    assert types(True) == ["any"]
    assert types({}) == ["any"]


def test_a_schema_without_a_type_means_what_its_keywords_are_about():
    assert types({"properties": {}}) == ["object"]
    assert types({"items": {}}) == ["array"]
    assert types({"pattern": "x"}) == ["string"]
    assert types({"minimum": 1}) == ["number"]


def test_what_is_beside_a_union_holds_for_every_branch():
    branches = allowed({"minLength": 2, "anyOf": [{"type": "string"}, {"const": "abc"}]})
    assert [schema["minLength"] for _, schema in branches] == [2, 2]


def test_references_lead_through_lists_and_odd_names():
    root = {"$defs": {"a/b~c d": STRING, "list": [{"type": "integer"}]}}
    assert types({"$ref": "#/$defs/a~1b~0c%20d"}, root) == ["string"]
    assert types({"$ref": "#/$defs/list/0"}, root) == ["integer"]
    assert types({"$ref": "#"}, {"type": "null"}) == ["null"]


def test_a_reference_to_nowhere_stays_as_it_is():
    for reference in ("#/$defs/none", "#/$defs/list/7", "https://example.com/x", 3):
        assert allowed({"$ref": reference}, {"$defs": {"list": []}}) == [("any", {"$ref": reference})]


def test_parts_of_one_schema_are_merged_where_both_can_hold():
    one = {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 9,
        "enum": [1, 2, 3],
        "required": ["a"],
        "properties": {"a": {"type": "string"}, "b": True},
        "$defs": {"x": {}},
    }
    other = {
        "type": ["number", "string"],
        "minimum": 2,
        "maximum": 5,
        "enum": [2, 3, 4],
        "required": ["a", "b"],
        "properties": {"a": {"maxLength": 3}, "b": STRING, "c": STRING},
        "$defs": {"y": {}},
    }
    assert merged(one, other) == {
        "type": ["integer"],
        "minimum": 2,
        "maximum": 5,
        "enum": [2, 3],
        "required": ["a", "b"],
        "properties": {"a": {"type": "string", "maxLength": 3}, "b": STRING, "c": STRING},
        "$defs": {"x": {}, "y": {}},
    }


def test_what_cannot_be_merged_is_kept_beside():
    assert merged({"pattern": "a", "title": "A"}, {"pattern": "b", "title": "B"}) == {
        "pattern": "b",
        "title": "B",
        "allOf": [{"pattern": "a"}],
    }
    assert merged({"allOf": [{"pattern": "a"}]}, {"allOf": [{"pattern": "b"}]})["allOf"] == [
        {"pattern": "a"},
        {"pattern": "b"},
    ]


def test_nested_parts_are_flattened():
    schema = {"allOf": [{"allOf": [{"type": "object", "required": ["a"]}]}, {"required": ["b"]}, True]}
    ((name, whole),) = allowed(schema)
    assert name == "object"
    assert sorted(whole["required"]) == ["a", "b"]
