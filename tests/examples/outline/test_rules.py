"""What a note may be made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.examples.outline import rules
from operable.examples.outline.commands.search import words_only
from operable.tool import Fail


@given(st.text(alphabet="ab/ .", max_size=20))
def test_a_clean_folder_stays_as_it_is(text):
    try:
        clean = rules.folder(text)
    except Fail:
        return
    assert rules.folder(clean) == clean
    assert "//" not in clean
    assert clean.strip("/") == clean


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=5), max_size=8))
def test_clean_tags_can_be_stored_one_a_line(values):
    try:
        clean = rules.tags(values)
    except Fail:
        return
    assert ("\n".join(clean)).split("\n") == (clean or [""])


@given(st.text(max_size=30))
def test_a_query_always_has_balanced_quotes(query):
    assert words_only(query).count('"') % 2 == 0


@pytest.mark.parametrize("value", ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123Z"])
def test_times_are_iso_8601_in_utc(value):
    assert rules.timestamp("created_at", value) == value


@pytest.mark.parametrize("value", ["", "Z", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00+01:00", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00.12x4Z", "٢٠٢٦-01-31T12:00:00Z"])  # fmt: skip
def test_other_times_are_refused(value):
    with pytest.raises(Fail):
        rules.timestamp("created_at", value)
