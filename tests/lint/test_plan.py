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


def command(**claims):
    return CommandPlan("go", "prog", claims, CommandProfile(), MACHINE)


def test_a_command_with_needs_is_judged_as_one_that_changes_nothing():
    reads = command(read_only=False, needs={"network": "it asks the server"}, supports_dry_run=False)

    assert (reads.read_only, reads.mutates) == (True, False)


def test_needs_do_not_excuse_a_command_that_has_a_dry_run():
    changes = command(read_only=False, needs={"network": "it asks the server"}, supports_dry_run=True)

    assert (changes.read_only, changes.mutates) == (False, True)
    assert command(read_only=False, needs={}).mutates
