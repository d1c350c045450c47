"""The text of programs for people, read by jc: for the long tail, and marked as what it is."""

import pytest

from tests.absent import HIDDEN
from tests.wrap.drive import Made

PRELUDE = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\n'

IDENTITY = "uid=1000(ada) gid=1000(ada) groups=1000(ada),27(sudo)"


def made(tmp_path, parser: str, script: str, **more) -> Made:
    rules = {"kind": "jc", "parser": parser, **more}
    return Made(tmp_path, PRELUDE + script, tool={"metadata": {"operable": {"parse": rules}}})


def test_a_table_is_read_and_each_event_says_that_it_is_lossy(tmp_path):
    done = made(tmp_path, "id", f"echo '{IDENTITY}'\n").go()

    (event,) = done.results
    assert (event["uid"], event["lossy"]) == ({"id": 1000, "name": "ada"}, True)
    (warning,) = done.of("aoi:warning")
    assert (warning["code"], warning["parser"]) == ("UPSTREAM_LOSSY", "id")
    assert done.summary["ok"] is True


def test_a_name_that_forges_a_row_is_why(tmp_path):
    """One file with a line end in its name: jc sees two, and the stream says that it may be so."""
    name = "a\n-rw-r--r-- 1 root root 0 Jan  1 00:00 forged"
    done = made(tmp_path, "ls", f"echo '-rw-r--r-- 1 root root 0 Jan  1 00:00 {name}'\n").go()

    assert [event["filename"] for event in done.results] == ["a", "forged"]
    assert all(event["lossy"] for event in done.results)


def test_a_format_for_machines_is_not_lossy_unless_its_bytes_are_no_text(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    exact = made(tmp_path / "one", "csv", "printf 'name,type\\na,b\\n'\n").go()
    bytes_ = made(tmp_path / "two", "csv", "printf 'name,type\\na\\377,b\\n'\n").go()

    assert exact.results == [{"type": "row", "native_type": "b", "name": "a"}]
    assert exact.of("aoi:warning") == []
    assert [(event["name"], event["lossy"]) for event in bytes_.results] == [("a\ufffd", True)]
    assert [warning["code"] for warning in bytes_.of("aoi:warning")] == ["UPSTREAM_LOSSY"]


@pytest.mark.parametrize(
    "parser, text", [("ini", "[a]\\nk=1\\nk=2\\n"), ("kv", "k=1\\nk=2\\n"), ("csv", "a,a\\n1,2\\n")]
)
def test_a_value_that_is_lost_under_the_name_of_another_is_marked(tmp_path, parser, text):
    done = made(tmp_path, parser, f"printf '{text}'\n").go()

    assert all(event["lossy"] for event in done.results)
    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_LOSSY"]


def test_what_stands_behind_the_last_column_is_kept(tmp_path):
    (row,) = made(tmp_path, "csv", "printf 'a,b\\n1,2,3\\n'\n").go().results

    assert row == {"type": "row", "a": "1", "b": "2", "": ["3"]}


def test_a_parser_that_streams_gives_events_as_they_come_and_counts_what_it_cannot_read(tmp_path):
    lines = (
        "-rw-r--r-- 1 root root 5 Jan  1 00:00 one\\nnonsense\\n-rw-r--r-- 1 root root 6 Jan  1 00:00 two\\n"
    )
    done = made(tmp_path, "ls_s", f"printf -- '{lines}'\n").go()
    (tmp_path / "endless").mkdir()
    endless = made(
        tmp_path / "endless", "ls_s", "while :; do echo '-rw-r--r-- 1 root root 5 Jan  1 00:00 one'; done\n"
    ).go("--limit", "3")

    assert [event["filename"] for event in done.results] == ["one", "two"]
    assert [warning["code"] for warning in done.of("aoi:warning")] == [
        "UPSTREAM_LOSSY",
        "UPSTREAM_LINE_UNREADABLE",
    ]
    assert done.summary["upstream"]["non_json"] == 1
    assert (endless.summary["count"], endless.summary["truncated"]) == (3, True)


def test_a_text_that_jc_cannot_read_is_an_error(tmp_path):
    done = made(tmp_path, "x509_cert", "echo nonsense\n").go()

    assert (done.error["category"], done.error["code"]) == ("validation", "UPSTREAM_UNREADABLE")
    assert done.summary["ok"] is False


def test_the_failure_of_the_program_is_told_before_that_of_its_text(tmp_path):
    done = made(tmp_path, "x509_cert", "echo 'no such file' >&2; exit 3\n").go()

    assert (done.error["code"], done.error["upstream_exit"]) == ("UPSTREAM_FAILED", 3)


def test_a_parser_that_there_is_not_is_a_mistake_of_the_wrapper(tmp_path):
    done = made(tmp_path, "nonsense", "echo\n").go()

    assert (done.error["category"], done.error["code"]) == ("config", "WRAPPER_INVALID")


def test_without_jc_it_says_what_to_install(tmp_path):
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "sitecustomize.py").write_text(HIDDEN.format(modules=["jc"]))

    done = made(tmp_path, "id", f"echo '{IDENTITY}'\n").go(env={"PYTHONPATH": str(tmp_path / "shadow")})

    assert (done.error["category"], done.error["code"]) == ("config", "EXTRA_MISSING")
    assert "operable[jc]" in done.error["hint"]
