"""The wrapped psql: the real client and a real server."""

from collections.abc import Iterator

import pytest

from tests.engine.postgres import PostgresServer
from tests.tool.drive import Outcome
from tests.wrap.drive import wrap

pytestmark = [pytest.mark.needs("psql", "pg_ctlcluster"), pytest.mark.timeout(600)]
NOTES = "create table notes (id integer primary key, text text); insert into notes values (1, 'one'), (2, null), (3, 'é')"


class Psql:
    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        name = server.new_database().rpartition("/")[2]
        where = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "operable", "PGDATABASE": name}
        self.env = where

    def __call__(self, *words: str, **env: str) -> Outcome:
        return wrap("psql", *words, env=self.env | env, timeout=120)

    def ids(self) -> list[int]:
        return [event["row"]["id"] for event in self("query", "select id from notes order by id").results]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.started() as found:
        yield found


@pytest.fixture
def psql(server: PostgresServer) -> Psql:
    found = Psql(server)
    assert found("execute", NOTES, "--confirm").summary["ok"]
    return found


def test_rows_come_with_their_values_page_by_page(psql):
    first = psql("-c", "select * from notes order by id -- a comment", "--limit", "2")
    rest = psql(
        "-c", "select * from notes order by id -- a comment", "--cursor", first.summary["next_cursor"]
    )
    found = [event["row"] for event in first.results + rest.results]

    assert found == [{"id": 1, "text": "one"}, {"id": 2, "text": None}, {"id": 3, "text": "é"}]


def test_no_digit_and_no_line_end_is_lost(psql):
    done = psql(
        "query", "select 9007199254740993::bigint a, 0.1234567890123456789::numeric b, 'x\ny|\t' c, 0.5 d"
    )

    assert [event["row"] for event in done.results] == [
        {"a": "9007199254740993", "b": "0.1234567890123456789", "c": "x\ny|\t", "d": 0.5}
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "delete from notes",
        "with gone as (delete from notes returning id) select * from gone",
        "select 1) q; delete from notes; --",
        "select 1) q; commit; set default_transaction_read_only = off; delete from notes; --",
        "select set_config('transaction_read_only', 'off', false), set_config('x.y', 'z', false)",
        "\\! true",
        "select 1 \\gexec",
        "select * into others from notes",
        "select nextval('numbers')",
    ],
)
def test_a_query_changes_nothing(sql, psql):
    psql("execute", "create sequence numbers", "--confirm")

    done = psql("query", sql)

    assert done.summary["ok"] is False
    assert psql.ids() == [1, 2, 3]


def test_what_a_function_changes_in_spite_of_reading_is_taken_back(psql):
    made = psql("query", "select lo_create(4711) as made")
    left = psql("query", "select count(*) as n from pg_largeobject_metadata where oid = 4711")

    assert left.results[0]["row"] == {"n": 0}
    assert made.summary["ok"] or made.error["code"] == "NOT_READ_ONLY"


def test_two_columns_of_one_name_are_refused(psql):
    done = psql("query", "select 1 as a, 2 as a")

    assert (done.results, done.error["code"]) == ([], "DUPLICATE_COLUMNS")


def test_tables_are_told_with_their_columns(psql):
    (table,) = psql("tables").results

    assert (table["schema"], table["name"], table["kind"]) == ("public", "notes", "table")
    assert [(column["name"], column["nullable"]) for column in table["columns"]] == [
        ("id", False),
        ("text", True),
    ]


def test_a_change_is_planned_confirmed_and_whole(psql):
    words = (
        "execute",
        "insert into notes values (4, 'four'); insert into notes values (5, 'five') returning id",
    )

    plan = psql(*words, "--dry-run")
    refused = psql(*words)
    assert psql.ids() == [1, 2, 3]
    done = psql(*words, "--confirm", plan.summary["plan_digest"])
    twice = psql("execute", "insert into notes values (6, ''); insert into notes values (6, '')", "--confirm")

    (change,) = plan.of("aoi:plan")
    assert change["target"] == f"{psql.env['PGDATABASE']} as operable"
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert "INSERT 0 1" in done.results[0]["output"]
    assert (twice.results, twice.error["code"]) == ([], "CONSTRAINT_VIOLATED")
    assert psql.ids() == [1, 2, 3, 4, 5]


def test_why_there_is_no_answer(psql):
    absent = psql("query", "select * from nowhere")
    wrong = psql("query", "select from from")
    unknown = psql("query", "select 1", "-d", "nowhere")
    alone = psql("query", "select 1", PGPORT="1")

    assert (absent.error["category"], absent.error["code"]) == ("not_found", "NOT_IN_THE_DATABASE")
    assert wrong.error["code"] == "SQL_INVALID"
    assert unknown.error["code"] == "DATABASE_NOT_FOUND"
    assert (alone.error["category"], alone.error["code"]) == ("temporary", "DATABASE_NOT_REACHABLE")
