"""What `operable explain` knows: codes of errors, verdicts, notes, categories and exit statuses."""

from __future__ import annotations

from operable.tool.discovery.candidates import Candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def codes(_words: list[str]) -> Iterator[tuple[str, str]]:
    from operable.cli.explanations import known_words

    return known_words()


CANDIDATES = Candidates("explain:words", find=codes)
