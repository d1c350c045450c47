"""`outline search`: notes by their words.

Whatever a person types is a valid query: every word is quoted for FTS5, whose own syntax is out of reach.
"""

from operable.examples.outline.database import Reading, narrowed
from operable.tool import Event, Fail, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Hit(Event):
    """One search result, the best first."""

    rank: int
    id: str
    title: str
    snippet: str
    folder: str
    score: float


@command(
    limit=20,
    cursor="rank",
    columns=("rank", "id", "title", "snippet"),
    examples=[
        "search 'agent operable' --output jsonl --limit 2",
        "search '\"exact phrase\" begin*' --output jsonl",
    ],
)
def search(
    query: str, *, folder: "str | None" = None, tag: "str | None" = None, page: "Page"
) -> "Iterator[Hit]":
    """Find notes that have all of these words, the best first.

    query: words; "words in quotes" belong together; a star at the end of a word means words that begin so
    folder: only in and below this folder
    tag: only with this tag
    """
    if not query.strip():
        raise Fail(
            "usage", "EMPTY_QUERY", "There is nothing to look for", target="QUERY", hint="outline list"
        )
    if folder is not None:
        from operable.examples.outline import rules

        folder = rules.folder(folder)
    where, values = narrowed(folder, tag)
    shown = page.after or 0
    with Reading() as connection:
        if connection is None:
            return
        # Sorting by `rank` alone lets FTS5 sort numbers and make snippets (of the body; the title is
        # shown anyway) only for the rows that are given out.
        rows = connection.execute(
            "SELECT id, notes.title, snippet(notes_fts, 1, '', '', '…', 20), folder, -rank FROM notes_fts"
            f" JOIN notes ON notes.seq = notes_fts.rowid WHERE notes_fts MATCH ?{where} ORDER BY rank LIMIT ? OFFSET ?",
            (words_only(query), *values, -1 if page.fetch is None else page.fetch, shown),
        )
        for rank, (note_id, title, snippet, place, score) in enumerate(rows, start=shown + 1):
            yield Hit(rank=rank, id=note_id, title=title, snippet=snippet, folder=place, score=score)


def words_only(query: str) -> str:
    """What a person typed, as an FTS5 expression that is always valid: all words; "phrases"; a last * for a prefix."""
    found: list[str] = []
    for index, piece in enumerate(query.split('"')):
        if index % 2:  # between quotes
            found.append(f'"{piece}"')
            continue
        for word in piece.split():
            text = word.rstrip("*")
            if text:
                found.append(f'"{text}"{"*" if text != word else ""}')
    return " ".join(found) or '""'


COMMAND = search
