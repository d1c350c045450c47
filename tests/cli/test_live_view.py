"""A view that is drawn again and again."""

import pytest
from rich.live import Live
from rich.text import Text

from operable.cli.live_view import draw_until_stopped


def test_it_is_drawn_again_only_where_it_has_changed(monkeypatch):
    drawn = []
    monkeypatch.setattr(Live, "update", lambda _, shown, **__: drawn.append(str(shown)))
    looks = iter(["one", "one", "two", "two", "two", "one"])

    def look(_height):
        found = next(looks, None)
        if found is None:
            raise KeyboardInterrupt
        return Text(found)

    with pytest.raises(KeyboardInterrupt):
        draw_until_stopped(look, 0)

    assert drawn == ["one", "two", "one"]
