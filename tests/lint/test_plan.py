from operable.lint.plan import MACHINE, CommandPlan
from operable.lint.profile import CommandProfile

ITEM = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}


def test_an_input_schema_that_speaks_of_items_only_is_not_taken_for_the_command_line():
    command = CommandPlan(
        "import",
        "notes",
        {"input_modes": ["jsonl"]},
        CommandProfile(),
        MACHINE,
        ask=lambda _, items: None if items else ITEM,
    )

    first = next(command.candidates())

    assert first == ["--input-jsonl", "-"]
    assert command.invocation(first).stdin == b'{"title":"sample"}\n'
