"""What is asked, what each answer would cover, and what is made of it."""

import pytest

from operable.cli.terminal.change import changes, diff_lines, in_workspace
from operable.cli.terminal.question import asked_lines, interview
from operable.gate.approvals import Ask
from operable.wire.events import Choice

ONCE, ALWAYS = Choice("o", "Allow", "allow_once"), Choice("a", "Always", "allow_always")
REJECT, OTHER = Choice("r", "Reject", "reject_once"), Choice("x", "Whatever", "")


def ask(*options, kind="permission", **more):
    return Ask("q1", "s", kind, "Run it", "Bash", options=tuple(options), digest="sha256:1", **more)


def answered(question, *typed, lasting="everything"):
    """The decision, and all prompts."""
    talk = interview(question, lasting)
    prompts = [next(talk)]
    for text in typed:
        try:
            prompts.append(talk.send(text))
        except StopIteration as ended:
            return ended.value, prompts
    return "none", prompts


@pytest.mark.parametrize(
    "typed, allowed, remember", [("y", True, ""), (" YES ", True, ""), ("a", True, "call")]
)
def test_a_plain_yes_is_bound_to_what_was_shown(typed, allowed, remember):
    decision, _ = answered(ask(ONCE, REJECT), typed)

    assert (decision.allowed, decision.remember, decision.digest) == (allowed, remember, "sha256:1")


@pytest.mark.parametrize("typed", ["", "maybe", "0", "3", "yesterday", "٣", "²"])
def test_anything_else_is_no_answer(typed):
    decision, prompts = answered(ask(ONCE, REJECT), typed)

    assert decision == "none"
    assert prompts[-1].complaint


def test_a_no_has_its_reason_and_quit_has_no_decision():
    assert answered(ask(), "n too early")[0].reason == "too early"
    assert answered(ask(), "n")[0].reason
    assert answered(ask(), "q")[0] is None


def test_an_agent_without_a_plain_permission_has_its_option_named():
    decision, prompts = answered(ask(ONCE, ONCE, REJECT), "y", "a", "2")

    assert [bool(prompt.complaint) for prompt in prompts] == [False, True, True]
    assert decision.option_id == "o"
    assert [key for key, _ in prompts[0].offers] == ["n", "q", "1", "2", "3"]


def test_what_an_option_covers_is_said_as_far_as_it_is_known():
    offers = dict(answered(ask(ONCE, ALWAYS, OTHER))[1][0].offers)

    assert offers["a"] == "always: everything"
    assert "by its own rules" in offers["2"]
    assert "does not say" in offers["3"]


def test_always_is_not_offered_where_it_cannot_last():
    decision, prompts = answered(ask(), "a", lasting="")

    assert decision == "none"
    assert "a" not in dict(prompts[0].offers)


def test_an_option_that_rejects_is_a_no():
    decision, _ = answered(ask(ONCE, REJECT), "2 because")

    assert (decision.allowed, decision.option_id, decision.reason) == (False, "r", "because")


def test_fields_of_a_form_are_asked_one_by_one_with_their_types():
    schema = {"properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}, "t": {}, "e": {}}}
    decision, prompts = answered(ask(kind="input", schema=schema), "3", "yes", "text", "")

    assert decision.content == {"n": 3, "b": True, "t": "text"}
    assert len(prompts) == 4


def test_nothing_said_to_a_question_for_input_declines():
    assert answered(ask(kind="input"), " ")[0].allowed is False


@pytest.fixture
def work(tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\n")
    return str(tmp_path)


def lines_of(workspace, said="", **members):
    """What a question says beside its diff; `said` is the title above it."""
    question = Ask("q1", "s", "permission", "Run it", "Bash", **members)
    return [
        *asked_lines(question, changes(question.arguments, question.diffs, workspace), workspace, said=said)
    ]


@pytest.mark.parametrize(
    "said, shown",
    [
        ("git status", []),
        ("Run git status", []),
        ("Looks at git status", ["$ git status"]),
        ("Run git status && rm -rf .", ["$ git status"]),
        ("", ["$ git status"]),
    ],
)
def test_a_command_line_is_left_out_only_where_it_is_the_whole_title(said, shown, work):
    assert lines_of(work, said, arguments={"command": "git status"}) == shown


def test_a_command_of_several_lines_is_shown_whole_whatever_its_title(work):
    assert lines_of(work, "a\nb", arguments={"command": "a\nb"}) == ["$ a", "  b"]


@pytest.mark.parametrize(
    "announced, is_shown",
    [
        ({"arguments": {"file_path": "a.py"}, "locations": ["a.py"]}, False),
        ({"arguments": {"file_path": "b.py"}}, True),
        ({"locations": ["a.py", "/etc/passwd"]}, True),
        ({"arguments": {"file_path": "a.py", "content": "else"}}, True),
        ({"arguments": {"file_path": ["a.py"]}}, True),
        ({"kind": "execute"}, True),
    ],
)
def test_what_was_announced_before_is_shown_unless_it_only_names_the_file_of_the_diff(
    announced, is_shown, work
):
    change = {"path": f"{work}/a.py", "oldText": "one", "newText": "1"}
    shown = lines_of(work, diffs=(change,), announced=(announced,))

    assert [line.startswith("announced before: ") for line in shown] == [True] * is_shown


def test_a_path_beside_a_diff_of_another_file_is_shown(work):
    change = {"path": "a.py", "oldText": "one", "newText": "1"}

    assert lines_of(work, diffs=(change,), arguments={"path": f"{work}/./a.py"}) == []
    assert lines_of(work, diffs=(change,), arguments={"path": "b.py"}) == ["path: b.py"]


def test_a_change_that_cannot_be_shown_as_a_diff_leaves_none_of_them_out(work):
    told = [{"path": "a.py", "newText": "1\n"}, {"path": "b.py"}]

    assert changes({"diffs": told}, (), work) == []
    assert "b.py" in "".join(lines_of(work, arguments={"diffs": told}))


@pytest.mark.parametrize(
    "arguments, diffs",
    [
        ({"diffs": [{"path": "a.py", "newText": "one\n2\n"}]}, ()),
        ({}, ({"path": "a.py", "oldText": None, "newText": "one\n2\n"},)),
        ({"changes": [{"path": "a.py", "diff": "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}]}, ()),
    ],
    ids=["as arguments", "without what was there", "as a patch"],
)
def test_a_change_of_a_file_that_exists_is_shown_against_it_however_an_agent_says_it(arguments, diffs, work):
    (change,) = changes(arguments, diffs, work)

    assert [line.split() for line, _ in diff_lines(change)] == [
        ["1", "one"],
        ["2", "-", "two"],
        ["2", "+", "2"],
    ]


def test_a_patch_without_a_place_is_the_text_of_a_new_file(work):
    (change,) = changes({"changes": [{"path": "new.py", "diff": "x = 1\n"}]}, (), work)

    assert [line.split() for line, _ in diff_lines(change)] == [["1", "+", "x", "=", "1"]]


@pytest.mark.parametrize(
    "path, shown",
    [("/w/a/b", "a/b"), ("/w", "/w"), ("/wide/a", "/wide/a"), ("/w/../etc", "/w/../etc"), ("a", "a")],
)
def test_a_file_of_the_workspace_is_named_as_its_person_does(path, shown):
    assert in_workspace(path, "/w") == shown
