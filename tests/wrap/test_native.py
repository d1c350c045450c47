"""The options of the program itself: what means the same is done, anything else is refused with what to write."""

import os
import subprocess

import pytest

from operable.kernel.errors import Fail
from operable.wrap import load, names
from operable.wrap.native import NativeOptions
from tests.wrap.drive import Made, wrap


def translated(tool, name, *words):
    found = load(tool)
    command = found.find(name)
    assert command is not None
    return NativeOptions(command, found.plan.commands[name].native).translate(words, tool)


@pytest.mark.parametrize(
    ("tool", "name", "words", "ours"),
    [
        ("rg", "search", ["-i", "todo", "src"], ["--ignore-case", "--", "todo", "src"]),
        ("rg", "search", ["-C3", "-tpy", "x"], ["--context=3", "--type=py", "--", "x"]),
        ("rg", "search", ["-e", "-x", "src"], ["--", "-x", "src"]),
        ("grep", "search", ["-rn", "x", "."], ["--recursive", "--", "x", "."]),
        ("grep", "search", ["-rinE", "x", "."], ["--recursive", "--ignore-case", "--", "x", "."]),
        ("ls", "list", ["-la"], ["--all"]),
        ("ls", "list", ["-aA", "/x"], ["--all", "--", "/x"]),
        ("git", "commit", ["-m", "a text", "--dry-run"], ["--dry-run", "--", "a text"]),
        ("git", "commit", ["-am", "a text"], ["--all", "--", "a text"]),
        ("git", "commit", ["--message=-x"], ["--", "-x"]),
        ("git", "log", ["-n", "5"], ["--limit=5"]),
        ("git", "log", ["-5", "--oneline"], ["--limit=5"]),
        ("git", "push", ["-u", "origin", "main"], ["--set-upstream", "--", "origin", "main"]),
        ("pytest", "run", ["-x", "-k", "one"], ["--max-failures=1", "--keyword=one"]),
        ("terraform", "plan", ["-target=a.b"], ["--target=a.b"]),
        ("kubectl", "apply", ["-f", "web.yaml", "-n", "x"], ["--namespace=x", "--", "web.yaml"]),
        ("git", "log", ["--author", "-x", "--limit", "2"], ["--author", "-x", "--limit", "2"]),
        ("git", "push", ["--confirm", "sha256:ab", "origin"], ["--confirm", "sha256:ab", "--", "origin"]),
    ],
)
def test_what_means_the_same_is_done(tool, name, words, ours):
    assert translated(tool, name, *words) == ours


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("ls", ["-lh"]),
        ("df", ["-h"]),
        ("jq", ["-r", ".a", "x.json"]),
        ("rg", ["-l", "x"]),
        ("git", ["commit", "--amend"]),
        ("git", ["status", "-C", "x"]),
        ("curl", ["-X", "POST", "http://127.0.0.1:1/"]),
    ],
)
def test_what_does_not_is_refused_with_what_to_write(tool, words):
    refused = wrap(tool, *words)

    assert (refused.exit_code, refused.error["code"]) == (64, "NATIVE_OPTION")
    assert refused.error["hint"]
    assert refused.events[0]["tool"] == tool


@pytest.mark.parametrize("words", [["-rnZ", "x", "."], ["-Z", "x", "."], ["--null-data", "x"]])
def test_an_option_that_is_not_in_the_table_is_refused(words):
    refused = wrap("grep", *words)

    assert refused.exit_code == 64
    assert refused.error["code"] in ("NATIVE_OPTION", "UNKNOWN_OPTION")


def test_an_option_without_its_value_is_refused():
    with pytest.raises(Fail) as caught:
        translated("git", "log", "-n")

    assert caught.value.code == "MISSING_VALUE"


@pytest.mark.parametrize("name", names())
def test_every_refusal_says_what_to_write(name):
    for command in load(name).plan.commands.values():
        for option, meaning in command.native.items():
            assert not isinstance(meaning, dict) or meaning["instead"].strip(), (command.name, option)


@pytest.mark.parametrize(
    "native",
    [
        {"i": "--n"},
        {"-i": "--nothing"},
        {"-i": {"else": "x"}},
        {"-i": ["x"]},
        {"-i": 3},
        [],
        {"-i": {"instead": 1}},
    ],
)
def test_a_table_that_names_what_there_is_not_cannot_be_used(tmp_path, native):
    operable = {"parse": {"kind": "jsonl"}, "native": native}
    made = Made(tmp_path, "#!/bin/sh\n", tool={"metadata": {"operable": operable}})

    assert made.go().error["code"] == "WRAPPER_INVALID"


@pytest.mark.needs("rg")
def test_rg_means_what_it_means_for_rg(tmp_path):
    (tmp_path / "a.txt").write_text("one\nOne\ntwo\n")

    found = wrap("rg", "-i", "-A1", "one", cwd=tmp_path)

    bare = subprocess.run(["rg", "-i", "-A1", "-IN", "one"], cwd=tmp_path, capture_output=True, check=True)
    assert [each["text"] for each in found.events[1:-1]] == bare.stdout.decode().splitlines(keepends=True)


@pytest.mark.needs("rg")
def test_pages_of_rg_go_on_where_the_last_one_ended(tmp_path):
    for name in ("b", "a", "c/d"):
        path = tmp_path / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("one\n" * 3)
    whole = wrap("rg", "one", cwd=tmp_path).of("match")
    pages: list[object] = []
    cursor: list[str] = []
    for _ in range(9):
        page = wrap("rg", "one", "--limit", "2", *cursor, cwd=tmp_path)
        pages += page.of("match")
        if page.summary["next_cursor"] is None:
            break
        cursor = ["--cursor", page.summary["next_cursor"]]

    assert pages == whole
    assert [(each["path"], each["line_number"]) for each in whole][:4] == [
        *(("./a.txt", number) for number in (1, 2, 3)),
        ("./b.txt", 1),
    ]


@pytest.mark.needs("rg")
@pytest.mark.parametrize(("tool", "words"), [("rg", ["x"]), ("ls", [])])
def test_without_an_order_there_is_no_cursor(tmp_path, tool, words):
    for number in range(4):
        (tmp_path / f"{number}").write_text("x\n")

    page = wrap(tool, *words, "--unsorted", "--limit", "2", cwd=tmp_path)
    assert (page.summary["truncated"], page.summary["next_cursor"]) == (True, None)
    cursor = wrap(tool, *words, "--limit", "2", cwd=tmp_path).summary["next_cursor"]
    assert wrap(tool, *words, "--unsorted", "--cursor", cursor, cwd=tmp_path).exit_code != 0


def test_a_file_system_that_is_mounted_twice_is_shown_once():
    found = wrap("df", "--limit", "1000").of("filesystem")
    with open("/proc/self/mountinfo") as file:
        device = {line.split()[4]: line.split()[2] for line in file}

    shown = [device[each["mount_point"]] for each in found]
    assert len(shown) == len(set(shown))


def test_the_file_system_of_a_file(tmp_path):
    (found,) = wrap("df", str(tmp_path)).of("filesystem")

    assert os.stat(found["mount_point"]).st_dev == os.stat(tmp_path).st_dev
    assert wrap("df", str(tmp_path / "none")).error["code"] == "PATH_NOT_FOUND"


def test_an_error_of_a_parser_names_its_file_and_line(tmp_path):
    parser = "def go(upstream):\n    for _ in upstream.chunks():\n        raise KeyError('token=hunter2hunter2')\n    yield {}\n"
    tool = {"metadata": {"operable": {"function": "go"}}}
    made = Made(tmp_path, "#!/bin/sh\necho hello\n", tool=tool, parser=parser)

    error = made.go().error

    assert (error["category"], error["code"]) == ("internal", "PARSER_FAILED")
    assert error["message"].startswith("parser.py of the wrapper prog, line 3, in go: KeyError")
    assert "hunter2" not in error["message"]
