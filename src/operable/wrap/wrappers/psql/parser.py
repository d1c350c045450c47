"""Rows of a PostgreSQL database, through psql: each is JSON that the database makes, one a line.

A query is put into `select to_jsonb(...) from (QUERY) ...`, so that it is one statement that reads. The session is read-only
before that (`default_transaction_read_only`), and no text with a semicolon is taken: with one, a query could end what it is
put into, and begin a transaction of its own. It goes through `--command`, in which psql has neither variables nor commands.
"""

from __future__ import annotations

import re

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wire.lines import split_lines
from operable.wrap.endings import known_secrets, shown
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_READ_ONLY = {"PGOPTIONS": "-c default_transaction_read_only=on"}
# The database of the plan, under a name that no input has.
_CHOSEN = "database of the plan"
_READS = re.compile(r"(?is)\s*(select|with|values|table)\b")
# Beyond these a reader of JSON, which has floats of 64 bits, would see another number.
_EXACT = 2**53
_TABLES = """
select json_build_object('schema', n.nspname, 'name', c.relname, 'kind',
  case c.relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
  else 'foreign table' end,
  'columns', coalesce((select json_agg(json_build_object('name', a.attname,
    'data_type', format_type(a.atttypid, a.atttypmod), 'nullable', not a.attnotnull,
    'default', pg_get_expr(d.adbin, d.adrelid)) order by a.attnum)
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]'::json))
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
order by n.nspname, c.relname
"""


def query(upstream: Upstream) -> Iterator[Any]:
    sql = upstream.inputs["sql"].strip().rstrip(";").rstrip()
    if ";" in sql:
        hint = "one statement; write chr(59) in place of a semicolon in a text"
        raise Fail("usage", "SEVERAL_STATEMENTS", "a query has no semicolon in it", hint=hint, target="sql")
    if _READS.match(sql) is None:
        hint = "one that begins with select, with, values or table; others: operable wrap psql execute SQL"
        raise Fail("usage", "NOT_A_QUERY", "this statement gives no rows", hint=hint, target="sql")
    # Behind a line end, so that a comment at the end of the query does not swallow what follows.
    whole = f"select row_to_json(operable_row) from (\n{sql}\n) operable_row"  # noqa: S608 - it can only read, see above
    for index, row in enumerate(_rows(upstream, whole), 1):
        yield {"type": "row", "index": index, "row": row} if isinstance(row, dict) else row


def tables(upstream: Upstream) -> Iterator[Any]:
    wanted = upstream.inputs.get("schema")
    for row in _rows(upstream, _TABLES):
        if not isinstance(row, dict):
            yield row
        elif wanted is None or row["schema"] == wanted:
            yield {"type": "table", **row}


def plan_execute(upstream: Upstream) -> Iterator[Change]:
    """Where it would run, and with which role: a plan for one database does not count for another."""
    upstream.env = dict(_READ_ONLY)
    where = upstream.ask([*_place(upstream), "--quiet", _command(_WHERE)])
    found = decode(where)
    sql = upstream.inputs["sql"]
    yield Change(
        "execute", f"{found['database']} as {found['role']}", sql=redact_text(sql), server=found["server"]
    )
    upstream.inputs[_CHOSEN] = found["database"]


_WHERE = (
    "select json_build_object('database', current_database(), 'role', current_user,"
    " 'server', coalesce(inet_server_addr()::text || ':' || inet_server_port(), 'a local socket'))"
)


def execute(upstream: Upstream) -> Iterator[Any]:
    from operable.proc.excerpt import Excerpt

    kept = Excerpt()
    sql = upstream.inputs["sql"]
    for chunk in upstream.chunks([*_place(upstream), "--single-transaction", _command(sql)]):
        kept.feed(chunk)
    if upstream.end is None or upstream.end.status != 0:
        return
    yield {
        "type": "executed",
        "id": upstream.inputs[_CHOSEN],
        "output": kept.text(),
        "output_truncated": kept.omitted > 0,
        "diagnostics": shown(upstream.end.stderr.text(), known_secrets(upstream)),
    }


def _place(upstream: Upstream) -> list[str]:
    """The words of the options: which database, where, with which role."""
    return [word for word in upstream.words() if word not in ("--quiet", "--single-transaction")]


def _command(sql: str) -> str:
    """SQL for `--command`, which takes what begins with a backslash for a command of psql."""
    if sql.lstrip().startswith("\\"):
        raise Fail("usage", "NOT_SQL", "this is a command of psql, not SQL", target="sql")
    return f"--command={sql}"


def _rows(upstream: Upstream, sql: str) -> Iterator[Any]:
    upstream.env = dict(_READ_ONLY)
    rest = b""
    # Taken back at the end: what a function of the database does in spite of reading (lo_create) is gone with it.
    inside = [_command("begin read only"), _command(sql), _command("rollback")]
    for chunk in upstream.chunks([*_place(upstream), "--quiet", *inside]):
        lines, rest = split_lines(rest + chunk)
        for line in lines:
            yield _decoded(upstream, bytes(line))
        if len(rest) > RECORD_LIMIT:
            raise upstream.too_long(RECORD_LIMIT)
    if rest and upstream.end is not None and upstream.end.status == 0:
        upstream.cut_off()


def _decoded(upstream: Upstream, line: bytes) -> Any:
    import json

    try:
        found = json.loads(line, object_pairs_hook=_distinct, parse_float=_exact, parse_int=_whole)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else upstream.foreign_line(line)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "two columns of the result have one name"
        raise Fail(
            "usage",
            "DUPLICATE_COLUMNS",
            message,
            hint="give one another name: select a.id as a_id",
            target="sql",
        )
    return found


def _whole(text: str) -> Any:
    return int(text) if abs(int(text)) <= _EXACT else text


def _exact(text: str) -> Any:
    """A float where it says the same number; else the digits themselves."""
    value = float(text)
    from decimal import Decimal

    return value if Decimal(repr(value)) == Decimal(text) else text
