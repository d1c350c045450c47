"""list, get, search, export, status."""

import json

import jsonschema_rs
import pytest

from tests.requirement import requirement

QUERIES = ['"', '""', "AND", "NOT", "a AND", "(", ")", "*", "a*b", "col:x", "title:", "-x", "^a", "{a b}", "NEAR(a b)", "'", "a\"b", "+", "…", "\\", "a;b", "%", "a  b", "é", "🙂"]  # fmt: skip


@pytest.fixture
def store(outline):
    """Twelve notes in three folders."""
    outline.ids = outline.fill(
        *(
            {"title": f"Note {n}", "body": f"apple number {n}", "folder": ("work", "work/ideas", "home")[n % 3], "tags": ["odd"] * (n % 2)}
            for n in range(12)
        )
    )  # fmt: skip
    return outline


@requirement("aoi:15:limit", "aoi:15:cursor", "aoi:15:truncated", "aoi:15:next-cursor")
@pytest.mark.parametrize(
    "command",
    [("list",), ("list", "--folder", "work"), ("search", "apple"), ("export",), ("list", "--tag", "odd")],
)
@pytest.mark.parametrize("size", [1, 3, 4, 12, 100])
def test_pages_give_everything_once_and_in_order(store, command, size):
    whole = store.ok(*command, "--limit", "1000").domain
    seen, more = [], tuple[str, ...]()
    for _ in range(20):
        result = store.ok(*command, "--limit", size, *more)
        seen += result.domain
        assert result.summary["truncated"] is (len(seen) < len(whole))
        if not result.summary["truncated"]:
            assert result.summary["next_cursor"] is None
            break
        more = ("--cursor", result.summary["next_cursor"])
    assert seen == whole


def test_a_page_of_a_list_goes_on_where_it_was_whatever_was_added_or_deleted(store):
    first = store.ok("list", "--limit", "5")
    store.ok("delete", *store.ids[3:6], "--confirm-count", "3")
    store.ok("create", "Later")
    rest = store.ok("list", "--cursor", first.summary["next_cursor"]).domain
    assert [entry["id"] for entry in rest[:-1]] == store.ids[6:]
    assert rest[-1]["title"] == "Later"


def test_a_cursor_of_another_call_is_refused(store):
    cursor = store.ok("list", "--limit", "2").summary["next_cursor"]
    for call in (("search", "apple"), ("list", "--folder", "work"), ("export",)):
        result = store(*call, "--cursor", cursor)
        assert result.error["category"] == "validation"
        assert result.exit_code == 65


def test_a_folder_means_everything_in_and_below_it_and_nothing_beside_it(outline):
    outline.fill(*({"title": name, "folder": name} for name in ("a", "a/b", "a/b/c", "ab", "a0", "b", "a-b")))
    assert {entry["title"] for entry in outline.ok("list", "--folder", "a").domain} == {"a", "a/b", "a/b/c"}
    assert {entry["title"] for entry in outline.ok("list", "--folder", "/a//b/").domain} == {"a/b", "a/b/c"}
    assert len(outline.ok("list", "--folder", "").domain) == 7


def test_search_ranks_the_title_above_the_body(outline):
    outline.fill(
        {"title": "Apples", "body": "fruit"},
        {"title": "Fruit", "body": "fruit fruit"},
        {"title": "x", "body": "fruit"},
    )
    hits = outline.ok("search", "fruit").domain
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert hits[0]["title"] == "Fruit"
    assert hits[0]["score"] >= hits[1]["score"] >= hits[2]["score"]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("stable interface", 1),
        ("interface stable", 1),
        ('"stable interface"', 1),
        ('"interface stable"', 0),
        ("stab*", 1),
        ("stab", 0),
        ("INTERFACES", 1),  # case and endings do not matter
        ("agents", 1),  # tags are searched, too
        ("cafe", 1),  # neither do accents
        ("stable nothing", 0),
    ],
)
def test_search_takes_words_phrases_and_beginnings(outline, query, expected):
    outline.fill({"title": "T", "body": "A stable interface in a café.", "tags": ["agents"]})
    assert outline.ok("search", query).summary["count"] == expected


@pytest.mark.parametrize("query", QUERIES)
def test_no_query_is_a_syntax_error(outline, query):
    outline.fill({"title": "a b", "body": "a"})
    outline.ok("search", "--", query)


def test_an_empty_query_is_a_usage_error(outline):
    assert outline("search", " ").error["code"] == "EMPTY_QUERY"


def test_get_shows_whole_notes_in_the_order_asked_for(store):
    wanted = [store.ids[5], store.ids[2]]
    notes = store.ok("get", *wanted).domain
    assert [note["id"] for note in notes] == wanted
    assert notes[0]["body"] == "apple number 5"
    assert notes[0]["tags"] == ["odd"]


def test_a_note_that_does_not_exist_is_not_found(store):
    result = store("get", "doc_nothing")
    assert result.error["category"] == "not_found"
    assert result.error["target"] == "doc_nothing"
    assert (result.exit_code, result.summary["ok"], result.summary["partial"]) == (65, False, False)


def test_a_missing_note_among_others_is_an_error_of_its_own(store):
    result = store("get", store.ids[0], "doc_nothing", store.ids[1])
    assert [note["id"] for note in result.domain] == store.ids[:2]
    assert result.error["target"] == "doc_nothing"
    assert (result.summary["ok"], result.summary["partial"], result.summary["count"]) == (False, True, 2)
    assert result.exit_code == 65


def test_status_counts(store):
    (status,) = store.ok("status").domain
    assert (status["notes"], status["folders"], status["tags"], status["changes"]) == (12, 3, 1, 12)
    assert status["database"] == str(store.database)
    assert status["exists"] is True
    assert status["size_bytes"] > 0


@requirement("aoi:1.1:schema-governed")
def test_every_event_is_valid_under_the_published_schema(store):
    import subprocess

    from tests.examples.outline.process import PROGRAM

    schema = json.loads(subprocess.check_output([PROGRAM, "schema", "--output", "json"], env={}, timeout=200))
    validator = jsonschema_rs.validator_for(schema)
    note_id = store.ids[0]
    results = [
        *(store(name) for name in ("list", "export", "status", "doctor")),
        *(store("get", note_id), store("get", "nothing"), store("search", "apple", "--limit", "1")),
        *(store("create", "x"), store("update", note_id, "--title", "y"), store("copy", note_id)),
        *(
            store("move", note_id, "--to", "z"),
            store("delete", note_id, "--dry-run"),
            store("delete", note_id, "--confirm"),
        ),
        *(store("import", "--input-jsonl", "-", input='{"title":"a"}\n{'), store("delete", "--nonsense")),
        store("watch", "--after", "0", "--limit", "16", "--poll", "0.05"),
    ]
    for event in (event for result in results for event in result.events):
        assert list(validator.iter_errors(event)) == [], event
    unknown = {"type": "hit", "rank": "first"}
    assert list(validator.iter_errors(unknown))


@pytest.mark.parametrize("command", ["list", "export", "status", "doctor"])
def test_reading_a_store_that_is_not_there_shows_nothing_and_creates_nothing(outline, command):
    outline.ok(command)
    outline.ok("search", "x")
    assert outline("get", "x").error["category"] == "not_found"
    assert outline("delete", "x", "--confirm").error["category"] == "not_found"
    assert not outline.directory.exists()
