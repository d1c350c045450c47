"""Questions about the store: a run by the beginning of its id, and runs by what is asked."""

import pytest

from operable.engine.store import queries
from operable.engine.store.database import Database
from operable.kernel.errors import Fail
from tests.engine.manifests import task
from tests.engine.store.test_runs import Bench


def test_the_beginning_of_an_id_means_one_run_or_none(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"overlap_policy": "allow"}))
    first, second = bench.make("a", "1"), bench.make("a", "2")
    with database.snapshot() as connection:
        assert queries.find_by_prefix(connection, first.run_id) == first
        assert queries.find_by_prefix(connection, second.run_id[:-1]) == second
        with pytest.raises(Fail) as several:
            queries.find_by_prefix(connection, "run_")
        with pytest.raises(Fail) as none:
            queries.find_by_prefix(connection, "run_x")
    assert (several.value.code, none.value.code) == ("RUN_AMBIGUOUS", "RUN_NOT_FOUND")


def test_runs_are_listed_newest_first_by_job_and_after_a_page(database: Database) -> None:
    bench = Bench(database, task("a", reliability={"overlap_policy": "allow"}), task("b"))
    first, other, last = bench.make("a", "1"), bench.make("b"), bench.make("a", "2")
    with database.snapshot() as connection:
        assert queries.list_runs(connection, limit=9) == [last, other, first]
        assert queries.list_runs(connection, job_id=first.job_id, limit=9) == [last, first]
        page = queries.list_runs(connection, before=(last.created_at, last.run_id), limit=1)
        assert page == [other]
        assert queries.list_runs(connection, since=last.created_at, limit=9) == [last]
