"""Names, messages, titles and texts of any bytes come back as they were: nothing is forged, nothing is lost."""

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.tool.drive import LIMIT
from tests.wrap.drive import raw, wrap

# Each example is a process and holds many values, so that few examples say much.
FEW = settings(
    max_examples=6,
    # A failing example is shown as it is: making it smaller would take hours of processes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_NASTY = [
    b"\n",
    b"\t",
    b" lead",
    b"tail ",
    b"\x1b[31mred",
    b"\xff\xfe",
    b"-rf",
    b"a\nb -> c",
    b'"quoted"',
    b"\\n",
    "é…".encode(),
    b"\x9b",
    b"\r",
]


def pieces(forbidden: bytes, longest: int = 40):
    """Bytes without those that cannot stand there; half of them made of what is known to break parsers."""
    letters = st.integers(1, 255).filter(lambda code: code not in forbidden)
    plain = st.lists(letters, min_size=1, max_size=longest).map(bytes)
    nasty = st.lists(
        st.sampled_from([piece for piece in _NASTY if not set(piece) & set(forbidden)]),
        min_size=1,
        max_size=4,
    )
    return plain | nasty.map(b"".join)


file_names = st.lists(
    pieces(b"/").filter(lambda name: name not in (b".", b"..", b".git")), min_size=1, max_size=8, unique=True
)


def make(folder: Path, names: list[bytes]) -> bytes:
    """A new folder with an empty file of each name."""
    number = len(os.listdir(folder))
    place = os.fsencode(folder / f"case-{number}")
    os.mkdir(place)
    for name in names:
        with open(place + b"/" + name, "wb") as file:
            file.write(name)
    return place


@FEW
@given(names=file_names)
def test_ls_gives_every_name_as_it_is(tmp_path, names):
    place = make(tmp_path, names)

    done = wrap("ls", "list", os.fsdecode(place), "--all")

    assert [raw(event, "name") for event in done.results] == sorted(names)
    assert [event["size"] for event in done.results] == [len(name) for name in sorted(names)]


@FEW
@given(names=file_names)
def test_find_gives_every_path_as_it_is_page_by_page(tmp_path, names):
    place = make(tmp_path, names)
    os.mkdir(place + b"/sub-folder")
    make_in = place + b"/sub-folder/" + min(names)
    open(make_in, "wb").close()
    expected = sorted(
        [*(place + b"/" + name for name in names), place + b"/sub-folder", make_in],
        key=lambda p: p.split(b"/"),
    )

    seen: list[bytes] = []
    cursor: str | None = None
    for _ in range(len(expected) + 1):
        more = () if cursor is None else ("--cursor", cursor)
        done = wrap("find", "files", os.fsdecode(place), "--limit", "4", *more)
        seen += [raw(event, "path") for event in done.results]
        cursor = done.summary["next_cursor"]
        if cursor is None:
            break

    assert seen == expected


def git(*words: str | bytes, cwd: Path, stdin: bytes = b"", **env: str) -> bytes:
    names = {
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    return subprocess.run(
        ["git", *words],
        cwd=cwd,
        input=stdin,
        env=os.environ | names | env,
        check=True,
        capture_output=True,
        timeout=LIMIT,
    ).stdout


@pytest.mark.needs("git")
@FEW
@given(names=file_names)
def test_git_status_and_ls_files_give_every_path_as_it_is(tmp_path, names):
    place = Path(os.fsdecode(make(tmp_path, names)))
    git("init", "-q", cwd=place)

    untracked = wrap("git", "status", cwd=place)
    git("add", "--all", cwd=place)
    staged = wrap("git", "ls-files", cwd=place)
    difference = wrap("git", "diff", "--staged", cwd=place)

    assert sorted(raw(event, "path") for event in untracked.of("change")) == sorted(names)
    assert {event["state"] for event in untracked.of("change")} == {"untracked"}
    assert sorted(raw(event, "path") for event in staged.results) == sorted(names)
    assert sorted(raw(event, "path") for event in difference.results) == sorted(names)


@pytest.mark.needs("git")
@FEW
@given(messages=st.lists(pieces(b"\0", 80), min_size=1, max_size=5))
def test_git_log_gives_every_message_as_it_is(tmp_path, messages):
    place = tmp_path / f"repo-{len(os.listdir(tmp_path))}"
    place.mkdir()
    git("init", "-q", cwd=place)
    tree = git("write-tree", cwd=place).decode().strip()
    head = ""
    for message in messages:
        parent = ["-p", head] if head else []
        head = git("commit-tree", tree, *parent, cwd=place, stdin=message).decode().strip()
    stored = [
        git("cat-file", "commit", f"{head}~{back}", cwd=place).partition(b"\n\n")[2]
        for back in range(len(messages))
    ]

    done = wrap("git", "log", head, cwd=place)

    assert [raw(event, "message") for event in done.results] == stored


# What git-check-ref-format allows: no control characters, no blanks, none of ~^:?*[\, no dots and slashes at the wrong places.
ref_names = st.lists(
    pieces(bytes(range(33)) + b"\x7f~^:?*[\\./@{-").map(lambda name: b"refs/heads/x" + name),
    min_size=1,
    max_size=6,
    unique=True,
)


@pytest.mark.needs("git")
@FEW
@given(names=ref_names)
def test_git_branch_gives_every_name_as_it_is(tmp_path, names):
    place = tmp_path / f"refs-{len(os.listdir(tmp_path))}"
    place.mkdir()
    git("init", "-q", cwd=place)
    tree = git("write-tree", cwd=place).decode().strip()
    head = git("commit-tree", tree, cwd=place, stdin=b"\n one\n").decode().strip()
    for name in names:
        git("update-ref", name, head, cwd=place)

    done = wrap("git", "branch", cwd=place)

    assert sorted(raw(event, "ref") for event in done.results) == sorted(names)


@FEW
@given(words=st.lists(pieces(b"\0"), min_size=1, max_size=4))
def test_ps_gives_every_title_as_it_is(words):
    program = b"import os; os.write(1, b'x'); os.read(0, 1)"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        done = wrap("ps", "processes", "--pid", str(process.pid), "--full")
    finally:
        process.communicate(b"x", timeout=LIMIT)

    (event,) = done.results
    texts = event.get("argv_b64")
    seen = [base64.b64decode(text) for text in texts] if texts else [text.encode() for text in event["argv"]]
    assert seen == [os.fsencode(sys.executable), b"-c", program, *words]


@pytest.mark.needs("rg", "grep")
@FEW
@given(names=file_names, lines=st.lists(pieces(b"\n\0\r", 60), min_size=1, max_size=5))
def test_rg_and_grep_give_every_line_of_every_file_as_it_is(tmp_path, names, lines):
    place = Path(os.fsdecode(make(tmp_path, [])))
    for name in names:
        (place / os.fsdecode(name)).write_bytes(b"".join(b"needle " + line + b"\n" for line in lines))

    ripgrep = wrap("rg", "search", "needle", ".", "--hidden", "--no-ignore", "--limit", "1000", cwd=place)
    expected = sorted(
        (b"./" + name, number, b"needle " + line) for name in names for number, line in enumerate(lines, 1)
    )
    seen = [
        (raw(event, "path"), event["line_number"], raw(event, "text").removesuffix(b"\n"))
        for event in ripgrep.results
    ]
    assert sorted(seen) == expected

    grep = wrap("grep", "search", "needle", ".", "--recursive", "--limit", "1000", cwd=place)
    told = sorted((raw(event, "path"), event["line_number"], raw(event, "text")) for event in grep.results)
    assert told == expected


@pytest.mark.needs("git")
@FEW
@given(
    names=file_names,
    lines=st.lists(pieces(b"\n\0", 60), min_size=1, max_size=5),
    message=pieces(b"\0", 80),
    author=pieces(b"\0\n<>", 20),
)
def test_git_show_and_blame_give_names_authors_messages_and_lines_as_they_are(
    tmp_path, names, lines, message, author
):
    place = tmp_path / f"blame-{len(os.listdir(tmp_path))}"
    place.mkdir()
    git("init", "-q", cwd=place)
    git("symbolic-ref", "HEAD", "refs/heads/main", cwd=place)
    text = b"".join(line + b"\n" for line in lines)
    for name in names:
        (place / os.fsdecode(name)).write_bytes(text)
    git("add", "--all", cwd=place)
    tree = git("write-tree", cwd=place).decode().strip()
    # Written as an object, so that git changes nothing of it on the way in.
    who = b"x" + author + b"x <a@b> 1700000000 +0000"
    body = b"tree " + tree.encode() + b"\nauthor " + who + b"\ncommitter " + who + b"\n\n" + message
    words = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
    head = git(*words, cwd=place, stdin=body).decode().strip()
    git("update-ref", "refs/heads/main", head, cwd=place)

    shown = wrap("git", "show", head, cwd=place)
    (commit,) = shown.of("commit")
    assert raw(commit, "message") == message
    assert raw(commit, "author_name") == b"x" + author + b"x"
    assert sorted(raw(event, "path") for event in shown.of("file_change")) == sorted(names)

    name = min(names)
    encoded = base64.b64encode(name).decode()
    blamed = wrap("git", "blame", "--file-b64", encoded, cwd=place)
    assert [raw(event, "text") for event in blamed.results] == lines
    assert {raw(event, "path") for event in blamed.results} == {name}
    assert {raw(event, "author_name") for event in blamed.results} == {b"x" + author + b"x"}


tag_names = ref_names.map(lambda names: [b"refs/tags/x" + name[len(b"refs/heads/x") :] for name in names])


@pytest.mark.needs("git")
@FEW
@given(names=tag_names, subject=pieces(b"\0\n\r", 60))
def test_git_tag_and_stash_give_names_and_messages_as_they_are(tmp_path, names, subject):
    place = tmp_path / f"tags-{len(os.listdir(tmp_path))}"
    place.mkdir()
    git("init", "-q", cwd=place)
    tree = git("write-tree", cwd=place).decode().strip()
    head = git("commit-tree", tree, cwd=place, stdin=b"one\n").decode().strip()
    words = ("hash-object", "-t", "tag", "-w", "--stdin", "--literally")
    text = b"x" + subject + b"x"
    for name in names:
        body = b"object %s\ntype commit\ntag %s\ntagger A <a@b> 1700000000 +0000\n\n%s\n" % (
            head.encode(),
            name.removeprefix(b"refs/tags/"),
            text,
        )
        git("update-ref", name, git(*words, cwd=place, stdin=body).decode().strip(), cwd=place)
    git("update-ref", "refs/heads/main", head, cwd=place)
    git("stash", "store", "-m", text, head, cwd=place)

    tags = wrap("git", "tag", cwd=place)
    stashes = wrap("git", "stash", "list", cwd=place)

    assert sorted(raw(event, "ref") for event in tags.results) == sorted(names)
    assert {raw(event, "subject") for event in tags.results} == {text}
    # Git itself makes one space of several, and of a tab, before it writes the message down.
    written = (
        (place / ".git" / "logs" / "refs" / "stash").read_bytes().removesuffix(b"\n").partition(b"\t")[2]
    )
    assert [raw(event, "message") for event in stashes.results] == [written]


@pytest.mark.needs("rg")
@FEW
@given(names=file_names)
def test_rg_lists_every_file_as_it_is(tmp_path, names):
    place = Path(os.fsdecode(make(tmp_path, names)))

    done = wrap("rg", "files", ".", "--hidden", "--no-ignore", cwd=place)

    assert sorted(raw(event, "path").removeprefix(b"./") for event in done.results) == sorted(names)


@FEW
@given(values=st.lists(pieces(b"", 60), min_size=1, max_size=8), text=st.booleans())
def test_sqlite3_gives_every_text_and_blob_as_it_is(tmp_path, values, text):
    import sqlite3

    path = tmp_path / f"data-{len(os.listdir(tmp_path))}.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (v)")
        kind = "CAST(? AS TEXT)" if text else "?"
        database.executemany(f"INSERT INTO t VALUES ({kind})", [(value,) for value in values])
    database.close()

    done = wrap("sqlite3", "query", str(path), "select v from t order by rowid")

    assert [_stored(event["row"]["v"]) for event in done.results] == values


def _stored(value):
    return value.encode() if isinstance(value, str) else base64.b64decode(value["b64"])


@pytest.mark.needs("jq")
@FEW
@given(
    values=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=8)
)
def test_jq_gives_every_string_as_it_is(tmp_path, values):
    path = tmp_path / f"values-{len(os.listdir(tmp_path))}.json"
    path.write_text(json.dumps([{"key\n\t": value} for value in values]))

    done = wrap("jq", "filter", '.[]["key\\n\\t"]', str(path))

    assert [event["value"] for event in done.results] == values


@pytest.mark.needs("curl")
@FEW
@given(body=st.binary(max_size=200))
def test_curl_gives_every_body_as_it_is(body):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        done = wrap("curl", "get", f"http://127.0.0.1:{server.server_address[1]}/")
        server.shutdown()
        thread.join(LIMIT)

    (event,) = done.results
    assert raw(event, "body") == body
