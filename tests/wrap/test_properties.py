"""Names, messages, titles and texts of any bytes come back as they were: nothing is forged, nothing is lost."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tool.drive import LIMIT
from tests.wrap.drive import raw, wrap

# Each example is a process and holds many values, so that few examples say much.
FEW = settings(
    max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
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
    told = {(raw(event, "path"), event["line_number"], raw(event, "text")) for event in grep.results}
    assert told <= set(expected)  # it leaves out what is no text to it
    if all(_is_text(line) for line in lines):
        assert told == set(expected)


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
