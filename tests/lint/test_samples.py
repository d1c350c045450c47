from operable.lint.samples import example_item, from_examples, from_schema


def test_an_example_gives_its_arguments_without_what_decides_or_shows():
    examples = [
        "notes create 'A title' --confirm --output jsonl --tag x",
        "$ notes create b --confirm-count=3",
    ]

    assert list(from_examples(examples, "notes", ["create"])) == [["A title", "--tag", "x"], ["b"]]


def test_a_tool_may_be_installed_under_another_name_than_its_own():
    examples = ["notes-aoi create a", "create b", "other create c d"]

    assert list(from_examples(examples, "notes", ["create"])) == [["a"], ["b"], ["c", "d"]]


def test_examples_of_other_commands_and_of_shells_are_passed_over():
    examples = ["notes list", "notes create a | jq .", "cat x | notes create -", "notes create 'unclosed", 7]

    assert list(from_examples(examples, "notes", ["create"])) == []


def test_what_follows_a_double_dash_is_left_alone():
    assert list(from_examples(["run -- tool --output jsonl"], "run-tool", ["run"])) == [
        ["--", "tool", "--output", "jsonl"]
    ]


def test_required_arguments_are_generated_where_they_belong():
    schema = {
        "properties": {
            "title": {"type": "string", "x-cli": "TITLE"},
            "mode": {"enum": ["a", "b"], "x-cli": "--mode"},
            "count": {"type": "integer", "minimum": 3},
            "unused": {"type": "string"},
        },
        "required": ["title", "mode", "count"],
    }

    assert from_schema(schema) == ["sample", "--mode", "a", "--count", "3"]
    assert from_schema(schema, other=True) == ["other", "--mode", "b", "--count", "4"]
    assert from_schema(None) is None


def test_an_item_has_what_its_schema_requires():
    schema = {
        "properties": {"title": {"type": "string"}, "tags": {"type": "array"}},
        "required": ["title", "tags"],
    }

    assert example_item(schema) == {"title": "sample", "tags": ["sample"]}
