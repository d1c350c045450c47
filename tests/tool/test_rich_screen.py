"""Tables on a terminal: whatever is long is cut, and what is short is there."""

import pytest

from operable.tool.rich_screen import RichScreen


@pytest.mark.parametrize("width", [40, 60, 100])
def test_in_a_narrow_terminal_the_widest_columns_are_cut_and_names_stay(width, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    screen = RichScreen(plain=True)
    rows = [[name, "long words " * 20, "longer, " * 40, "bundled"] for name in ("cargo", "df")]

    screen.table(["name", "summary", "lint", "origin"], rows, header=True)

    lines = capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "cargo", "df"]
    assert all(line.split()[-1] in ("ORIGIN", "bundled") for line in lines)
    assert all(len(line) <= width for line in lines)
    assert "…" in lines[1]
