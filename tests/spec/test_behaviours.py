"""The requirements file: well-formed, sorted, and written as sentences."""

import re
from itertools import groupby

from operable.spec import requirements


def test_entries_are_well_formed():
    for entry in requirements():
        assert re.fullmatch(r"[a-z]+[a-z0-9-]*:(\d+(\.\d+)?|[a-z]+):[a-z0-9]+(-[a-z0-9]+)*", entry.id)
        assert entry.level in ("MUST", "SHOULD", "MAY"), entry
        assert entry.text.endswith("."), entry
        for reason in (entry.deferred, entry.divergence):
            assert reason is None or len(reason.split()) > 3, entry


def test_the_entries_of_a_draft_stand_together_sorted_by_section_and_then_by_name():
    drafts = [
        (draft, list(entries)) for draft, entries in groupby(requirements(), key=lambda entry: entry.draft)
    ]

    assert len({draft for draft, _ in drafts}) == len(drafts)
    for _, entries in drafts:
        assert entries == sorted(entries, key=lambda entry: entry.order)


def test_every_section_of_the_aoi_draft_that_asks_for_something_has_entries():
    sections = {int(entry.section.split(".")[0]) for entry in requirements() if entry.draft == "aoi"}

    assert sections >= {*range(1, 18), 19}
