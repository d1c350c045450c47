"""Tables on a terminal: lists are cut, a few rows lose nothing, and words are whole in both."""

import pytest

from operable.tool.human.rich import LIST, LONGEST, RichScreen

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def shown(monkeypatch, capsys):
    """What a terminal of some width shows of tables, line by line."""

    def show(width: int, *tables: tuple[list[str], list[list[str]], bool]) -> list[str]:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        screen = RichScreen(plain=True)
        for columns, rows, header in tables:
            screen.table(columns, rows, header=header)
        text = capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "")
        return [line.rstrip() for line in text.splitlines()]

    return show


def test_a_table_that_fits_has_a_line_for_each_row(shown):
    assert shown(9, (["a", "text"], [["1", "x"], ["22", "words"]], True)) == [
        "A   TEXT",
        "1   x",
        "22  words",
    ]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_long_cells_go_on_below_and_short_ones_stay_whole(shown, width):
    summary = "Build and test packages, and tell what is in them"
    rows = [[name, summary, "bundled"] for name in ("cargo", "df")]

    lines = shown(width, (["name", "summary", "origin"], rows, True))

    assert lines[0].split() == ["NAME", "SUMMARY", "ORIGIN"]
    assert [line.split()[0] for line in lines if line.endswith("bundled")] == ["cargo", "df"]
    assert all(len(line) <= width for line in lines)
    words = " ".join(lines).replace("bundled", "").split()
    assert " ".join(words).count(summary) == 2


def test_ids_stay_whole_and_sentences_share_the_rest(shown):
    columns = ["task", "status", "reason", "execution_id"]
    rows = [["build", "skipped", "trigger.on=failure did not match its parent", DIGEST[-32:]]]

    assert shown(80, (columns, rows, True)) == [
        "TASK   STATUS   REASON                          EXECUTION_ID",
        f"build  skipped  trigger.on=failure did not      {DIGEST[-32:]}",
        "                match its parent",
    ]


@pytest.mark.parametrize("width", [40, 60])
def test_rows_with_too_many_long_cells_are_records_from_which_one_can_copy(shown, width):
    columns = ["path", "line", "rule", "message", "hint"]
    message = "entry.command names a file that is not there: app/gone.py"
    rows = [["shopping/APP.md", str(line), "ENTRY_FILE_MISSING", message, ""] for line in (7, 9)]

    lines = shown(width, (columns, rows, True))

    assert "PATH     shopping/APP.md" in lines
    assert "RULE     ENTRY_FILE_MISSING" in lines
    assert lines.count("") == 2
    assert not any(line.startswith("HINT") for line in lines)  # there is nothing to say
    assert all(len(line) <= width for line in lines)
    assert " ".join(" ".join(lines).split()).count(message) == 2


def test_what_continues_a_table_looks_like_its_beginning(shown):
    columns = ["id", "digest", "path"]
    wide, narrow = [["1", DIGEST, "/somewhere/" * 5]], [["2", "x", "y"]]

    assert shown(80, (columns, wide, True), (columns, narrow, False))[-4:-1] == [
        "ID      2",
        "DIGEST  x",
        "PATH    y",
    ]
    assert shown(80, (columns, narrow, True), (columns, wide, False))[:2] == [
        "ID  DIGEST  PATH",
        "2   x       y",
    ]


def test_a_word_that_is_too_long_for_any_line_is_left_to_the_terminal_to_wrap(shown):
    assert shown(40, (["approved", "digest"], [["True", DIGEST]], True)) == [
        "APPROVED  True",
        f"DIGEST    {DIGEST}",
        "",
    ]


def test_the_whole_of_a_document_in_a_cell_is_left_to_machine_mode(shown):
    assert shown(80, (["content"], [["x" * LONGEST * 50]], True)) == [f"CONTENT  {'x' * LONGEST}…", ""]


def test_a_list_has_one_line_a_row_and_only_sentences_are_cut(shown):
    rows = [
        [f"doc_{number}_0123456789", "a sentence that goes on and on " * 3, "open"] for number in range(LIST)
    ]

    lines = shown(60, (["id", "about", "state"], rows, True))

    assert len(lines) == LIST + 1
    assert all(len(line) <= 60 for line in lines)
    assert all(f"doc_{number}_0123456789  a sentence that" in lines[number + 1] for number in range(LIST))
    assert all("…  open" in line for line in lines[1:])


def test_columns_without_room_are_named_below(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    screen = RichScreen(plain=True)

    screen.table(["id", "digest", "about"], [["x" * 30, DIGEST, "words of a sentence"]] * LIST, header=True)
    screen.end()

    shown = capsys.readouterr()
    assert "sha256" not in shown.out
    assert "no room for: digest, about; a wider terminal or --output jsonl shows them" in shown.err


def test_a_list_that_has_no_room_for_its_first_column_is_records(shown):
    lines = shown(20, (["id", "about"], [["x" * 30, "a word"]] * LIST, True))

    assert lines[0] == "ID     " + "x" * 30
    assert lines.count("ABOUT  a word") == LIST


def test_what_continues_a_list_is_cut_too(shown):
    long, short = [["a", "words " * 30]] * LIST, [["b", "words " * 30]]

    lines = shown(60, (["id", "about"], long, True), (["id", "about"], short, False))

    assert len(lines) == LIST + 2
    assert lines[-1].startswith("b")
    assert lines[-1].endswith("…")
