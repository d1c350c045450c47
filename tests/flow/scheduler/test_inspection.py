"""Reading what a backend holds: read-only, newest first, filtered, paged, masked and made harmless."""

import json
import os
import sqlite3
from typing import Any

import pytest

from operable.flow.errors import FlowError
from operable.flow.scheduler.inspection import ENTITIES, inspect, inspection_of, masked, sanitised
from tests.requirement import requirement

NO_LIMITS: list[Any] = ["0", "-1", "1.0", "1e1", " 1", "", [], {}, False]
NO_FIELDS: list[Any] = [True, {}, 1.5]
NO_NAMES: list[Any] = [5, "", "\ufeff", None]


@pytest.fixture
def database(tmp_path):
    """Tables as that scheduler has them, as far as inspecting goes."""
    path = str(tmp_path / "scheduler.db")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for entity in ENTITIES.values():
            key = "id INTEGER PRIMARY KEY" if entity.newest == "id" else "id TEXT"
            newest = "" if entity.newest == "id" else f", {entity.newest} TEXT"
            connection.execute(f"CREATE TABLE {entity.table} ({key}, name TEXT, enabled INT, blob{newest})")
        for number in range(30):
            connection.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?)",
                (
                    f"j{number}",
                    f"N{number % 3}",
                    number % 2,
                    json.dumps({"a": {"b": number}}),
                    f"2026-01-{number + 1:02d}",
                ),
            )
    connection.close()
    return path


def shown(path, **params):
    return inspect(path, inspection_of(params))


def refused(path, **params):
    with pytest.raises(FlowError) as caught:
        shown(path, **params)
    assert caught.value.flow_code == "invalid_argument"
    return caught.value.message


def names(found, field="id"):
    return [item[field] for item in found["items"]]


@requirement("agentcli:inspect:result")
def test_the_newest_come_first_and_twenty_are_shown(database):
    found = shown(database)

    assert {name: value for name, value in found.items() if name != "items"} == {
        "ok": True,
        "target": "openclaw-scheduler",
        "entity": "jobs",
        "count": 20,
    }
    assert names(found)[:2] == ["j29", "j28"]


@requirement("agentcli:inspect:result")
@pytest.mark.parametrize("entity", list(ENTITIES))
def test_every_entity_can_be_read(database, entity):
    assert shown(database, entity=entity)["entity"] == entity


@requirement("agentcli:inspect:result")
@pytest.mark.parametrize(
    "entity, table, column",
    [
        ("jobs", "jobs", "created_at"), ("runs", "runs", "started_at"), ("queue", "job_dispatch_queue", "created_at"),
        ("approvals", "approvals", "requested_at"), ("evidence", "evidence_records", "created_at"),
        ("artifacts", "handoff_artifacts", "created_at"), ("events", "runtime_events", "id"),
        ("provider_sessions", "provider_sessions", "updated_at"),
        ("credential_presentations", "credential_presentations", "created_at"),
    ],
)  # fmt: skip
def test_every_entity_has_its_table_and_is_shown_newest_first(tmp_path, entity, table, column):
    path = str(tmp_path / "scheduler.db")
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} (name TEXT, {column} TEXT)")
        for name, moment in (("old", "1"), ("newest", "3"), ("new", "2")):
            connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (name, moment))
    connection.close()

    found = shown(path, entity=entity)

    assert list(found) == ["ok", "target", "entity", "count", "items"]
    assert (found["entity"], found["count"], found["target"]) == (entity, 3, "openclaw-scheduler")
    assert names(found, "name") == ["newest", "new", "old"]


@requirement("agentcli:inspect:params")
def test_limits_offsets_and_filters_choose_rows(database):
    assert names(shown(database, limit="2")) == ["j29", "j28"]
    assert names(shown(database, limit=2.0, offset=2)) == ["j27", "j26"]
    assert names(shown(database, where={"name": "N1", "enabled": True}, limit=2)) == ["j25", "j19"]
    assert names(shown(database, where={"enabled": 0, "id": "j4"})) == ["j4"]
    assert shown(database, where={"name": None})["count"] == 0
    assert shown(database, where={"name": "N1' OR 1=1 --"})["count"] == 0
    assert shown(database, where={"name": "\ud800"})["count"] == 0
    assert shown(database, limit=10**30)["count"] == 30
    assert shown(database, offset=1e300)["count"] == 0


@requirement("agentcli:inspect:params")
@pytest.mark.parametrize(
    "params, message",
    [
        ({"entity": "secrets"}, "Unsupported inspect entity: secrets"),
        ({"entity": ["jobs"]}, 'Unsupported inspect entity: ["jobs"]'),
        ({"entity": True}, "Unsupported inspect entity: true"),
        ({"entity": {}}, "Unsupported inspect entity: {}"),
        ({"target": []}, "Unsupported inspect target: []"),
        ({"sanitize": False}, "Unsupported sanitize mode: false"),
        ({"fields": [5]}, "inspect fields[0] must be a non-empty string"),
        ({"fields": True}, "inspect fields must be a comma-delimited string or an array of field names"),
        ({"limit": ""}, "inspect limit must be a positive integer"),
        ({"limit": "1.0"}, "inspect limit must be a positive integer"),
        ({"limit": []}, "inspect limit must be a positive integer"),
        ({"sanitize": "all"}, "Unsupported sanitize mode: all"),
        ({"limit": 0}, "inspect limit must be a positive integer"),
        ({"limit": "01"}, "inspect limit must be a positive integer"),
        ({"limit": True}, "inspect limit must be a positive integer"),
        ({"limit": 1.5}, "inspect limit must be a positive integer"),
        ({"limit": -1}, "inspect limit must be a positive integer"),
        ({"offset": -1}, "inspect offset must be a non-negative integer"),
        ({"fields": 5}, "inspect fields must be a comma-delimited string or an array of field names"),
        ({"fields": ["id", " "]}, "inspect fields[1] must be a non-empty string"),
        ({"where": []}, "inspect where must be an object of columns and values"),
        ({"where": {"id": {}}}, "inspect where.id must be a string, a number, a boolean or null"),
        ({"where": {"id; DROP TABLE jobs": 1}}, "jobs have no column id; DROP TABLE jobs; they have: id, name, enabled, blob, created_at"),
        ({"target": "cron"}, "Unsupported inspect target: cron"),
    ],
)  # fmt: skip
def test_params_that_make_no_sense_are_named(database, params, message):
    assert refused(database, **params) == message


@requirement("agentcli:inspect:params")
def test_a_database_that_is_not_there_or_is_something_else_is_named(tmp_path):
    assert refused(None) == "Missing scheduler database path. Pass dbPath or configure a default."
    missing = str(tmp_path / "missing.db")
    assert refused(missing) == f"Scheduler database not found: {missing}"
    assert not os.path.exists(missing)
    (tmp_path / "text").write_text("x" * 1000)
    assert "cannot be read" in refused(str(tmp_path / "text"))
    os.mkfifo(tmp_path / "pipe")
    assert "non-regular" in refused(str(tmp_path / "pipe"))
    sqlite3.connect(tmp_path / "empty.db").close()
    assert "has no table jobs" in refused(str(tmp_path / "empty.db"))


def test_looking_changes_nothing_and_works_beside_a_writer(database, tmp_path):
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in ("scheduler.db",)}
    shown(database)
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in before} == before

    writer = sqlite3.connect(database, isolation_level=None)
    try:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM jobs")
        assert shown(database)["count"] == 20
        writer.execute("COMMIT")
        assert shown(database)["count"] == 0
    finally:
        writer.close()


@requirement("agentcli:inspect:fields")
def test_fields_mask_rows_also_inside_json_text(database):
    found = shown(database, fields="id, blob.a.b,nothing,", limit=1)

    assert found["items"] == [{"id": "j29", "blob": {"a": {"b": 29}}}]
    assert shown(database, fields=["name"], limit=1)["items"] == [{"name": "N2"}]
    assert len(shown(database, fields=" , ", limit=1)["items"][0]) == 5


@requirement("agentcli:inspect:params", "agentcli:inspect:fields")
def test_nothing_and_null_are_the_defaults(database):
    nothing = dict.fromkeys(("entity", "limit", "fields", "sanitize"))

    assert shown(database, **nothing) == shown(database) == shown(database, entity="", limit=20, fields=[])
    assert shown(database, fields="")["items"] == shown(database)["items"]
    for limit in (1, "1", 1.0):
        assert names(shown(database, limit=limit)) == ["j29"]
    for wrong in NO_LIMITS:
        assert refused(database, limit=wrong) == "inspect limit must be a positive integer"
    for no_list in NO_FIELDS:
        message = "inspect fields must be a comma-delimited string or an array of field names"
        assert refused(database, fields=no_list) == message
    for position, no_name in enumerate(NO_NAMES):
        fields = ["id"] * position + [no_name]
        assert refused(database, fields=fields) == f"inspect fields[{position}] must be a non-empty string"


@requirement("agentcli:inspect:fields")
def test_masks_keep_the_nesting_and_skip_what_is_unknown():
    item = {"a": {"b": 1, "c": 2}, "t": '{"x": {"y": null}}', "n": "plain", "deep": "[" * 5000}

    assert masked(item, ["a.b", "t.x.y", "n.more", "a.z", "deep.x"]) == {
        "a": {"b": 1},
        "t": {"x": {"y": None}},
    }
    assert masked(item, ["a.b", "a.c"]) == {"a": {"b": 1, "c": 2}}
    assert masked({"a": ["b"], "t": '["b"]', "n": 5}, ["a.b", "a.0", "t.b", "n.b"]) == {}


@requirement("agentcli:inspect:sanitize")
def test_basic_sanitising_disarms_terminals_and_fences():
    raw = {
        "a": ["\x1b[31mred\x1b[0m\tx\r\n", {"b": "```sh\x00\x7f"}],
        "n": 5,
        "o": "\x1b]0;title\x07ok\x9b31m",
    }

    assert sanitised(raw) == {"a": ["red\tx\r\n", {"b": "``\u2060`sh"}], "n": 5, "o": "ok"}


@requirement("agentcli:inspect:sanitize")
def test_rows_are_sanitised_only_when_that_is_asked_for(database):
    with sqlite3.connect(database) as connection:
        connection.execute(
            "INSERT INTO runs (id, name, blob, started_at) VALUES ('r', '\x1b[1mx', x'00ff', '2027')"
        )
    connection.close()

    assert shown(database, entity="runs")["items"][0]["name"] == "\x1b[1mx"
    assert shown(database, entity="runs", sanitize="none")["items"][0]["name"] == "\x1b[1mx"
    [item] = shown(database, entity="runs", sanitize="basic")["items"]
    assert (item["name"], item["blob"]) == ("x", "AP8=")
