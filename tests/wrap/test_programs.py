"""The other wrapped tools against the real thing: rg, grep, jq, sqlite3, curl, ls, find, ps, df."""

import os
import sqlite3
import subprocess
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.tool.drive import LIMIT
from tests.wrap.drive import raw, wrap


@pytest.mark.needs("rg")
def test_rg_without_a_match_is_an_answer(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")

    done = wrap("rg", "two", str(tmp_path))

    assert (done.exit_code, done.results) == (0, [])
    assert done.summary["upstream"] == {"program": "rg", "exit": 1, "meaning": "no_match"}


@pytest.mark.needs("rg")
def test_rg_gives_positions_in_bytes_and_lines_around(tmp_path):
    (tmp_path / "a.txt").write_text("before\né needle\nafter\n")

    done = wrap("rg", "needle", str(tmp_path), "--context", "1")

    assert [event["type"] for event in done.results] == ["context", "match", "context"]
    assert done.of("match")[0]["submatches"] == [{"start": 3, "end": 9, "text": "needle"}]


@pytest.mark.needs("grep")
def test_grep_takes_extended_expressions_or_plain_text(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\none|two\n")

    extended = wrap("grep", "one|two", "a.txt", cwd=tmp_path)
    plain = wrap("grep", "one|two", "a.txt", "--fixed", cwd=tmp_path)

    assert [event["line_number"] for event in extended.results] == [1, 2, 3]
    assert [event["line_number"] for event in plain.results] == [3]


@pytest.mark.needs("grep")
def test_grep_with_nothing_to_search_is_misuse_and_not_an_answer_of_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")

    assert wrap("grep", "one", cwd=tmp_path).error["code"] == "MISSING_OPERAND"
    assert [event["path"] for event in wrap("grep", "one", "--recursive", cwd=tmp_path).results] == ["a.txt"]


@pytest.mark.needs("grep")
def test_grep_finds_what_is_no_utf_8_and_says_which_lines_it_leaves_out(tmp_path):
    (tmp_path / "latin").write_bytes(b"needle \xe9\n")
    (tmp_path / "program").write_bytes(b"\x7fELF\0needle\nneedle\n")
    (tmp_path / "long").write_bytes(b"needle" + b"x" * (17 * 1024 * 1024) + b"\nneedle\n")

    done = wrap("grep", "needle", "latin", "program", "long", cwd=tmp_path)

    assert [(event["path"], event["line_number"]) for event in done.results] == [
        ("latin", 1),
        ("program", 2),
        ("long", 2),
    ]
    assert raw(done.results[0], "text") == b"needle \xe9"
    (warning,) = done.of("aoi:warning")
    assert (warning["code"], "longer than" in warning["message"]) == ("BINARY_LEFT_OUT", True)
    assert warning["files"] == [{"lines": 1, "path": "program"}, {"lines": 1, "path": "long"}]
    assert done.summary["ok"] is True


@pytest.mark.needs("jq")
def test_jq_without_a_document_is_misuse_and_not_an_answer_of_nothing():
    assert wrap("jq", ".a").error["code"] == "MISSING_OPERAND"
    assert [event["value"] for event in wrap("jq", "1, 2", "--null-input").results] == [1, 2]


@pytest.mark.needs("rg")
def test_an_expression_that_cannot_be_read_is_a_usage_error(tmp_path):
    done = wrap("rg", "(", str(tmp_path))

    assert (done.error["category"], done.error["code"]) == ("usage", "PATTERN_INVALID")
    assert "unclosed group" in done.error["upstream_stderr"]


@pytest.mark.needs("jq")
def test_jq_gives_each_value_and_names_a_bad_filter(tmp_path):
    (tmp_path / "a.json").write_text('{"a": [1, "x", null, {"type": "y"}]}')

    done = wrap("jq", ".a[]", str(tmp_path / "a.json"))
    bad = wrap("jq", ".a[", str(tmp_path / "a.json"))

    assert [event["value"] for event in done.results] == [1, "x", None, {"type": "y"}]
    assert (bad.error["category"], bad.error["code"]) == ("validation", "JQ_FILTER_INVALID")


@pytest.mark.needs("jq")
def test_a_filter_that_begins_with_a_dash_is_a_filter(tmp_path):
    done = wrap("jq", "--null-input", "--", "-1")

    assert [event["value"] for event in done.results] == [-1]


@pytest.mark.needs("sqlite3")
def test_sqlite3_gives_exact_values_and_the_shell_agrees(tmp_path):
    path = tmp_path / "a.db"
    script = (
        "create table t(i, f, s, b, n); insert into t values (9007199254740993, 0.1, 'é\n', x'00ff', null)"
    )
    subprocess.run(["sqlite3", path, script], check=True, timeout=LIMIT)

    done = wrap("sqlite3", "query", str(path), "select * from t")

    assert done.results[0]["row"] == {
        "i": 9007199254740993,
        "f": 0.1,
        "s": "é\n",
        "b": {"b64": "AP8="},
        "n": None,
    }
    assert [event["name"] for event in wrap("sqlite3", "tables", str(path)).results] == ["t"]


@pytest.mark.parametrize(
    "sql", ["delete from t", "attach 'x.db' as x", "pragma journal_mode=wal", "create table u(a)"]
)
def test_sqlite3_only_reads(tmp_path, sql):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table t(a)")
        connection.execute("insert into t values (1)")
    connection.close()
    before = (tmp_path / "a.db").read_bytes()

    done = wrap("sqlite3", "query", str(tmp_path / "a.db"), sql, cwd=tmp_path)

    assert (done.error["category"], done.error["code"]) == ("authz", "NOT_READ_ONLY")
    assert (tmp_path / "a.db").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.db"]


def test_a_statement_without_end_stops_at_the_deadline(tmp_path):
    (tmp_path / "a.db").write_bytes(b"")
    endless = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r"

    done = wrap("sqlite3", "query", str(tmp_path / "a.db"), endless, "--timeout", "1")

    assert (done.exit_code, done.error["code"]) == (124, "TIMEOUT")


@pytest.fixture
def server():
    """A web server that says what it was asked."""
    seen: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.append((self.command, self.headers.get("Authorization", ""), body))
            digits = self.path[1:]
            self.send_response(int(digits) if digits.isdigit() else 404 if self.path == "/missing" else 200)
            self.send_header("Set-Cookie", "session=verysecretvalue")
            for number in range(80 if self.path == "/boastful" else 0):
                self.send_header(f"X-{number}", "v" * 1000)
            if self.path == "/cut":
                self.send_header("Content-Length", "200")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(b"\xff\x00" if self.path == "/bytes" else b"hello")

        do_GET = do_HEAD = do_POST = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    running = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", seen
    finally:
        running.shutdown()
        running.server_close()
        thread.join(LIMIT)


@pytest.mark.needs("curl")
def test_curl_gives_the_answer_whatever_its_status_and_bytes(server):
    address, _ = server

    found = wrap("curl", "get", f"{address}/")
    missing = wrap("curl", "get", f"{address}/missing")
    binary = wrap("curl", "get", f"{address}/bytes")

    assert (found.results[0]["status"], found.results[0]["body"]) == (200, "hello")
    assert (missing.exit_code, missing.results[0]["status"]) == (0, 404)
    assert binary.results[0]["body_b64"] == "/wA="
    assert b"verysecretvalue" not in found.stdout


@pytest.mark.needs("curl")
@pytest.mark.parametrize(
    ("status", "category", "code"),
    [(404, "not_found", "HTTP_NOT_FOUND"), (409, "conflict", "HTTP_CONFLICT"), (422, "validation", "HTTP_REFUSED"),
     (501, "validation", "HTTP_NOT_IMPLEMENTED"), (503, "temporary", "HTTP_REFUSED")],
)  # fmt: skip
def test_a_change_that_the_server_refuses_is_a_failure_with_its_answer(server, status, category, code):
    address, seen = server

    done = wrap("curl", "send", f"{address}/{status}", "--data", "x", "--confirm")

    assert len(seen) == 1
    assert (done.error["category"], done.error["code"]) == (category, code)
    assert (done.error["http_status"], done.error["retryable"]) == (status, False)
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)
    assert [each["status"] for each in done.of("response")] == [status]


@pytest.mark.needs("curl")
def test_what_is_secret_reaches_the_server_and_nobody_else(server):
    address, seen = server
    secret = "Bearer verysecret-token-1"

    plan = wrap("curl", "send", address, "--data", "x", "--header", f"Authorization: {secret}", "--dry-run")
    refused = wrap("curl", "send", address, "--data", "x", "--header", f"Authorization: {secret}")
    assert seen == []
    done = wrap(
        "curl",
        "send",
        address,
        "--data",
        "@/etc/hostname",
        "--header",
        f"Authorization: {secret}",
        "--confirm",
    )

    assert [event["action"] for event in plan.of("aoi:plan")] == ["send"]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert seen == [("POST", secret, b"@/etc/hostname")]
    assert all("verysecret" not in each.stdout.decode() for each in (plan, refused, done))


@pytest.mark.needs("curl")
@pytest.mark.parametrize(
    "header",
    ["@{file}", "X-A: b\r\nX-Forged: c", "X-A: b\nX-Forged: c", "X-A: b\n", "no header at all", ": value"],
)
def test_a_header_is_one_header_and_never_a_file(server, tmp_path, header):
    address, seen = server
    (tmp_path / "secret").write_text("X-Secret: stolen\n")

    done = wrap("curl", "get", address, "--header", header.format(file=tmp_path / "secret"))

    assert (done.error["category"], done.error["code"]) == ("validation", "INVALID_VALUE")
    assert seen == []


@pytest.mark.needs("curl")
def test_headers_that_are_too_long_to_be_kept_are_left_out_with_a_warning(server):
    address, _ = server

    done = wrap("curl", "get", f"{address}/boastful")

    (answer,), (warning,) = done.results, done.of("aoi:warning")
    assert (answer["status"], answer["body"], answer["headers"]) == (200, "hello", {})
    assert warning["code"] == "HEADERS_LEFT_OUT"


@pytest.mark.needs("curl")
def test_an_answer_without_a_body_has_no_bytes_of_one(server):
    address, _ = server

    (answer,) = wrap("curl", "head", address).results

    assert (answer["status"], answer["body"], answer["body_bytes"]) == (200, "", 0)


@pytest.mark.needs("curl")
def test_an_answer_that_was_cut_off_is_worth_another_try(server):
    address, _ = server

    done = wrap("curl", "get", f"{address}/cut")

    assert (done.error["category"], done.error["code"], done.error["retryable"]) == (
        "temporary",
        "TRANSFER_CUT_OFF",
        True,
    )


@pytest.mark.needs("curl")
def test_a_server_that_is_not_there_is_a_temporary_failure():
    done = wrap("curl", "get", "http://127.0.0.1:1/")

    assert (done.error["category"], done.error["code"], done.error["retryable"]) == (
        "temporary",
        "CONNECTION_FAILED",
        True,
    )


def test_an_address_that_is_no_web_address_is_refused():
    assert wrap("curl", "get", "file:///etc/passwd").error["code"] == "INVALID_VALUE"


def test_ls_pages_by_name_and_hides_what_begins_with_a_dot(tmp_path):
    for name in ("b", "a", ".hidden", "c"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("nowhere")

    first = wrap("ls", str(tmp_path), "--limit", "2")
    second = wrap("ls", str(tmp_path), "--limit", "2", "--cursor", first.summary["next_cursor"])

    assert [event["name"] for event in first.results] == ["a", "b"]
    assert [(event["name"], event["kind"], event.get("target")) for event in second.results] == [
        ("c", "file", None),
        ("link", "symlink", "nowhere"),
    ]


@pytest.mark.parametrize("bounds", [[], ["--limit", "20000"]])
def test_ls_sorts_by_the_bytes_of_names_whatever_they_are(tmp_path, bounds):
    """In the order of the characters, the last of these would stand before the one before it."""
    names = [b"Z", b"a", "é".encode(), b"\xe9", "\ue000".encode(), b"\xff"]
    for name in reversed(names):
        os.close(os.open(os.path.join(os.fsencode(tmp_path), name), os.O_CREAT))
    os.symlink(b"\xfe", os.path.join(os.fsencode(tmp_path), b"\xff\xff"))

    done = wrap("ls", str(tmp_path), *bounds)

    shown = [
        b64decode(event["name_b64"]) if "name_b64" in event else event["name"].encode()
        for event in done.results
    ]
    assert shown == [*names, b"\xff\xff"]
    assert b64decode(done.results[-1]["target_b64"]) == b"\xfe"
    assert list(done.results[-1])[:5] == ["type", "name", "name_b64", "path", "path_b64"]


def test_find_pages_through_a_folder_that_is_read_more_than_once(tmp_path):
    names = sorted(f"{number * 7919 % 1000:03d}" for number in range(1000))
    for name in names:
        (tmp_path / name).touch()

    first = wrap("find", str(tmp_path), "--limit", "3")
    after = wrap("find", str(tmp_path), "--limit", "3", "--cursor", first.summary["next_cursor"])
    filtered = wrap("find", str(tmp_path), "--name", "*99", "--limit", "10")
    everything = wrap("find", str(tmp_path), "--limit", "5000")

    def found(outcome):
        return [os.path.basename(event["path"]) for event in outcome.results]

    assert found(first) + found(after) == names[:6]
    assert found(filtered) == [name for name in names if name.endswith("99")]
    assert found(everything) == names


def test_find_filters_and_warns_of_what_it_may_not_read(tmp_path):
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("x" * 10)
    (tmp_path / "src" / "deep" / "b.py").write_text("x")
    (tmp_path / "src" / "c.txt").write_text("x")

    by_name = wrap("find", str(tmp_path), "--name", "*.py")
    large = wrap("find", str(tmp_path), "--name", "*.py", "--min-size", "5")
    shallow = wrap("find", str(tmp_path), "--max-depth", "2", "--kind", "directory")

    assert [os.path.basename(event["path"]) for event in by_name.results] == ["a.py", "b.py"]
    assert [os.path.basename(event["path"]) for event in large.results] == ["a.py"]
    assert [event["depth"] for event in shallow.results] == [1, 2]


# Root of a namespace of its own; the real root needs no user namespace for that.
_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]


@pytest.mark.needs("unshare")
def test_df_gives_every_place_as_it_is(tmp_path):
    names = [b"a\nb", b"\r", b"\xff\x1b[31m", b"\\040\t #", b" - tmpfs x rw", "é\u2028".encode()]
    places = [os.fsencode(tmp_path) + b"/" + name for name in names]
    for place in places:
        os.mkdir(place)
    done = subprocess.run([*_MOUNTS, "true"], capture_output=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        pytest.skip("no mount namespace can be made here")
    script = 'until [ "$1" = -- ]; do mount -t tmpfs "s r" "$1" || exit 1; shift; done; shift; exec "$@"'

    before = [*_MOUNTS, "sh", "-c", script, "sh", *map(os.fsdecode, places), "--"]
    told = wrap("df", "--limit", "1000", before=before)

    found = {raw(event, "mount_point"): event for event in told.results}
    assert [found[place]["source"] for place in places] == ["s r"] * len(places)
    assert told.summary["ok"] is True


def test_ps_and_df_know_this_process_and_this_file_system():
    (own,) = wrap("ps", "--pid", str(os.getpid())).results
    mounts = {event["mount_point"]: event for event in wrap("df", "--all", "--limit", "1000").results}

    assert (own["ppid"], own["uid"]) == (os.getppid(), os.getuid())
    assert mounts["/"]["size_bytes"] > 0


def test_pages_of_processes_make_up_the_whole():
    """The linter cannot see this: in its rooms no two processes are the same for every call."""
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(3)]
    try:
        chosen = [word for each in sleepers for word in ("--pid", str(each.pid))]
        first = wrap("ps", *chosen, "--limit", "2")
        second = wrap("ps", *chosen, "--limit", "2", "--cursor", first.summary["next_cursor"])
    finally:
        for each in sleepers:
            each.kill()
            each.wait(LIMIT)

    assert [event["pid"] for event in first.results + second.results] == sorted(each.pid for each in sleepers)
    assert (len(first.results), first.summary["truncated"], second.summary["truncated"]) == (2, True, False)


@pytest.mark.needs("curl")
def test_curl_gets_when_nothing_else_is_said():
    named, unnamed = (wrap("curl", *words, "http://127.0.0.1:1/") for words in (("get",), ()))

    assert [done.error["code"] for done in (named, unnamed)] == ["CONNECTION_FAILED"] * 2


@pytest.mark.needs("jq")
def test_a_file_of_definitions_in_the_home_of_a_user_changes_no_filter(tmp_path):
    (tmp_path / ".jq").write_text('def keys: "forged";')
    (tmp_path / "a.json").write_text('{"a": 1}')

    done = wrap("jq", "keys", "a.json", cwd=tmp_path, env={"HOME": str(tmp_path)})

    assert [event["value"] for event in done.results] == [["a"]]


@pytest.mark.needs("jq")
def test_modules_in_the_home_of_a_user_are_found_when_a_filter_names_them(tmp_path):
    (tmp_path / ".jq").mkdir()
    (tmp_path / ".jq" / "own.jq").write_text("def own: 42;")

    done = wrap("jq", 'include "own"; own', "--null-input", cwd=tmp_path, env={"HOME": str(tmp_path)})

    assert [event["value"] for event in done.results] == [42]


@pytest.mark.needs("jq")
def test_jq_tells_a_document_that_is_none_from_one_that_is_not_there(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}{"a"')

    damaged, missing = (wrap("jq", ".", name, cwd=tmp_path) for name in ("a.json", "b.json"))

    assert (damaged.error["category"], damaged.error["code"]) == ("validation", "JQ_INPUT_INVALID")
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "PATH_NOT_FOUND")


@pytest.mark.parametrize(
    "columns", ['1 as a, 2 as "a:2", 3 as a', '1 as a, 2 as a, 3 as "a:2"', "1 as a, 2 as a, 3 as a"]
)
def test_no_column_of_a_row_takes_the_place_of_another(tmp_path, columns):
    (tmp_path / "a.db").write_bytes(b"")

    (row,) = wrap("sqlite3", "query", str(tmp_path / "a.db"), f"select {columns}").results

    assert sorted(row["row"].values()) == [1, 2, 3]


@pytest.mark.needs("rg")
def test_a_file_with_a_nul_byte_is_no_text_and_rg_says_so(tmp_path):
    (tmp_path / "a").write_bytes(b"foo 1\nfoo\0 2\nfoo 3\n")
    (tmp_path / "b").write_bytes(b"foo\n")

    done = wrap("rg", "foo", "a", "b", cwd=tmp_path)

    assert [(each["code"], each["path"], each["offset"]) for each in done.of("aoi:warning")] == [
        ("BINARY_FILE", "a", 9)
    ]


@pytest.mark.needs("rg", "grep")
@pytest.mark.parametrize("tool", ["rg", "grep"])
def test_searching_what_cannot_be_searched_says_why(tmp_path, tool):
    (tmp_path / "a").write_text("a")

    missing = wrap(tool, "a", "nowhere", cwd=tmp_path)
    wrong = wrap(tool, "(", "a", cwd=tmp_path)

    assert (missing.error["category"], missing.error["code"]) == ("not_found", "PATH_NOT_FOUND")
    assert (wrong.error["category"], wrong.error["code"]) == ("usage", "PATTERN_INVALID")


@pytest.mark.needs("grep")
def test_grep_of_a_folder_says_how_to_search_it(tmp_path):
    done = wrap("grep", "a", ".", cwd=tmp_path)

    assert (done.error["code"], done.error["hint"]) == ("PATH_IS_FOLDER", "give --recursive")
