"""create, update, delete, move, copy: planned, confirmed, done once and told with ids."""

import sqlite3

import pytest

from tests.requirement import requirement


def versions(outline):
    return {entry["id"]: entry["version"] for entry in outline.ok("list", "--limit", "1000").domain}


@requirement("aoi:14.5:stable-ids")
def test_create_tells_the_id_under_which_the_note_is_found(outline):
    (created,) = outline.ok(
        "create", "Title", "--body", "two\nlines", "--folder", "/a//b", "--tag", "y", "--tag", "x"
    ).domain
    note = outline.note(created["id"])
    assert created["id"].startswith("doc_")
    assert (note["title"], note["body"], note["folder"], note["tags"], note["version"]) == ("Title", "two\nlines", "a/b", ["x", "y"], 1)  # fmt: skip
    assert note["created_at"] == note["updated_at"]
    assert note["created_at"].endswith("Z")


@pytest.mark.parametrize(
    "arguments",
    [
        ("",),
        ("  ",),
        ("two\nlines",),
        ("x" * 1001,),
        ("x", "--folder", "a/../b"),
        ("x", "--tag", ""),
        ("x", "--tag", "a\nb"),
    ],
)
def test_a_note_that_cannot_be_is_a_validation_error_and_creates_nothing(outline, arguments):
    result = outline("create", *arguments)
    assert (result.error["category"], result.error["code"], result.exit_code) == (
        "validation",
        "INVALID_NOTE",
        65,
    )
    assert not outline.directory.exists()


@requirement("aoi:14.2:dry-run")
def test_a_dry_run_shows_the_plan_and_does_nothing(outline):
    result = outline.ok("create", "Title", "--dry-run")
    (plan,) = result.of("aoi:plan")
    assert (plan["action"], plan["title"]) == ("create", "Title")
    assert result.domain == []
    assert not outline.directory.exists()


def test_update_changes_what_is_given_and_counts_the_version_up(outline):
    (note_id,) = outline.fill({"title": "a", "body": "b", "tags": ["x", "y"]})
    (updated,) = outline.ok("update", note_id, "--title", "A", "--tag", "z", "--remove-tag", "x").domain
    assert (updated["id"], updated["version"], updated["title"]) == (note_id, 2, "A")
    note = outline.note(note_id)
    assert (note["title"], note["body"], note["tags"], note["version"]) == ("A", "b", ["y", "z"], 2)
    assert [hit["id"] for hit in outline.ok("search", "z").domain] == [note_id]
    assert outline.ok("search", "x").domain == []


@pytest.mark.parametrize("tags", [["only"], []])
def test_update_can_take_the_last_tag_and_the_whole_body_away(outline, tags):
    (note_id,) = outline.fill({"title": "a", "body": "b", "tags": tags})
    outline.ok("update", note_id, "--body", "", "--remove-tag", "only")
    assert (outline.note(note_id)["tags"], outline.note(note_id)["body"]) == ([], "")


def test_update_for_another_version_is_a_conflict(outline):
    (note_id,) = outline.fill({"title": "a"})
    outline.ok("update", note_id, "--title", "b", "--if-version", "1")
    result = outline("update", note_id, "--title", "c", "--if-version", "1")
    assert (result.error["category"], result.error["code"], result.exit_code) == (
        "conflict",
        "NOTE_CHANGED",
        65,
    )
    assert (result.error["expected_version"], result.error["current_version"]) == (1, 2)
    assert outline.note(note_id)["title"] == "b"


def test_update_of_nothing_is_a_usage_error(outline):
    (note_id,) = outline.fill({"title": "a"})
    result = outline("update", note_id)
    assert (result.error["code"], result.exit_code) == ("NOTHING_TO_UPDATE", 64)
    assert outline("update", "nothing", "--title", "x").error["category"] == "not_found"


@requirement("aoi:14.3:confirm")
def test_delete_without_confirmation_is_refused_and_deletes_nothing(outline):
    (note_id,) = outline.fill({"title": "a"})
    result = outline("delete", note_id)
    assert (result.error["code"], result.exit_code) == ("CONFIRMATION_REQUIRED", 64)
    assert versions(outline) == {note_id: 1}
    (deleted,) = outline.ok("delete", note_id, "--confirm").domain
    assert (deleted["id"], deleted["version"]) == (note_id, 1)
    assert versions(outline) == {}


@requirement("aoi:14.3:confirm-count")
def test_deleting_many_needs_their_number(outline):
    ids = outline.fill(*({"title": "a", "folder": "old"} for _ in range(3)), {"title": "b"})
    assert outline("delete", "--folder", "old", "--confirm").error["code"] == "CONFIRMATION_REQUIRED"
    assert (
        outline("delete", "--folder", "old", "--confirm-count", "2").error["code"] == "CONFIRM_COUNT_MISMATCH"
    )
    assert len(versions(outline)) == 4
    result = outline.ok("delete", "--folder", "old", ids[0], ids[3], "--confirm-count", "4")
    assert {event["id"] for event in result.domain} == set(ids)


def test_a_confirmed_plan_is_applied_only_while_the_world_is_the_same(outline):
    first, _ = outline.fill({"title": "a", "folder": "old"}, {"title": "b", "folder": "old"})
    digest = outline.ok("delete", "--folder", "old", "--dry-run").summary["plan_digest"]
    outline.ok("update", first, "--title", "changed")
    result = outline("delete", "--folder", "old", "--confirm", digest)
    assert (result.error["category"], result.error["code"]) == ("conflict", "PLAN_CHANGED")
    assert len(versions(outline)) == 2
    digest = outline.ok("delete", "--folder", "old", "--dry-run").summary["plan_digest"]
    assert len(outline.ok("delete", "--folder", "old", "--confirm", digest).domain) == 2


def test_delete_with_one_missing_id_deletes_nothing(outline):
    (note_id,) = outline.fill({"title": "a"})
    result = outline("delete", note_id, "doc_nothing", "--confirm-count", "2")
    assert result.error["category"] == "not_found"
    assert versions(outline) == {note_id: 1}


def test_delete_of_nothing_in_particular_is_a_usage_error(outline):
    assert outline("delete", "--confirm").exit_code == 64


def test_move_keeps_the_order_of_folders_below(outline):
    ids = outline.fill(
        {"title": "a", "folder": "in"}, {"title": "b", "folder": "in/x/y"}, {"title": "c", "folder": "out"}
    )
    result = outline.ok("move", "--folder", "in", ids[2], "--to", "out")
    assert [
        (event["id"], event["folder"], event["previous_folder"], event["version"]) for event in result.domain
    ] == [
        (ids[0], "out", "in", 2),
        (ids[1], "out/x/y", "in/x/y", 2),
    ]
    assert outline.note(ids[2])["version"] == 1


def test_copy_makes_another_note_with_the_same_text(outline):
    (note_id,) = outline.fill({"title": "a", "body": "text", "tags": ["t"], "folder": "f"})
    (copied,) = outline.ok("copy", note_id, "--to", "g", "--title", "b").domain
    assert copied["source_id"] == note_id
    note = outline.note(copied["id"])
    assert (note["title"], note["body"], note["tags"], note["folder"], note["version"]) == (
        "b",
        "text",
        ["t"],
        "g",
        1,
    )
    assert outline.note(note_id)["version"] == 1


@requirement("aoi:14.4:idempotency-key")
def test_a_repeated_key_creates_once(outline):
    first = outline.ok("create", "a", "--idempotency-key", "k1")
    again = outline.ok("create", "a", "--idempotency-key", "k1")
    assert again.domain == first.domain
    assert again.summary["replayed"] is True
    assert len(versions(outline)) == 1


def test_a_note_that_changed_between_plan_and_apply_is_a_conflict_and_nothing_is_done(outline, monkeypatch):
    from operable.examples.outline.commands.delete import delete_now
    from operable.tool import Change, Fail

    ids = outline.fill({"title": "a"}, {"title": "b"})
    plan = [Change("delete", note_id, version=1, title="", folder="") for note_id in ids]
    outline.ok("update", ids[1], "--title", "c")
    monkeypatch.setenv("OUTLINE_HOME", str(outline.directory))
    with pytest.raises(Fail) as caught:
        delete_now(plan)
    assert (caught.value.category, caught.value.code) == ("conflict", "NOTE_CHANGED")
    assert versions(outline) == {ids[0]: 1, ids[1]: 2}


def test_search_stays_equal_to_the_notes_through_every_change(outline):
    ids = outline.fill(*({"title": f"t{n}", "body": "word"} for n in range(4)))
    outline.ok("update", ids[0], "--body", "other")
    outline.ok("delete", ids[1], "--confirm")
    outline.ok("move", ids[2], "--to", "f")
    outline.ok("copy", ids[3])
    assert outline.ok("search", "word").summary["count"] == 3
    with sqlite3.connect(outline.database) as database:
        database.execute("INSERT INTO notes_fts (notes_fts, rank) VALUES ('integrity-check', 1)")
    database.close()
