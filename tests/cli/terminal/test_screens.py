"""What a person sees of both chats, at 80 and at 120 columns, as text that is compared: `screens/COLUMNS.txt`.

`./dev test tests/cli/terminal/test_screens.py --keep-verdicts` keeps what a run shows. Read the difference before you commit
it. What moves (seconds, the mark of what runs) is waited out or left out.
"""

import json
import re
from pathlib import Path

import pytest

from tests.cli.agents import Scene
from tests.cli.terminal.tmux import at_terminal

pytestmark = [pytest.mark.needs("tmux", "git"), pytest.mark.timeout(900)]
SCREENS = Path(__file__).with_name("screens")
HELLO = 'import sys\n\n\ndef greet(name):\n    print("hello", name)\n\n\ngreet("world")\n'
EDIT = {
    "file_path": "hello.py",
    "old_string": '    print("hello", name)',
    "new_string": '    print("HELLO", name, file=sys.stderr)',
}
LINE = "printf 'line %s\\n' $(seq 30) # a command that is longer than a terminal of eighty columns is wide"
SCRIPTS = {
    "diff": [
        "call Read " + json.dumps({"file_path": "hello.py"}),
        "call Edit " + json.dumps(EDIT),
        "say Done.",
    ],
    "output": [
        (
            r"say ## The numbers\n\nI **count** with `seq`, and I write a sentence that is longer than the terminal is"
            r" wide, so that it goes on in the next line.\n\n- one\n- two\n"
        ),
        "call Bash " + json.dumps({"command": LINE}),
        "say Done.",
    ],
    "interrupt": [r"say It begins.\n\n", "wait 600", "say never"],
}
TURNS = {
    "diff": [
        {"call": "Edit", "kind": "edit", "ask": True, "args": EDIT, "result": "edited"},
        {"say": "Done."},
    ],
    "output": [
        {
            "call": "Bash",
            "kind": "execute",
            "ask": True,
            "args": {"command": LINE},
            "result": "\n".join(f"line {number}" for number in range(1, 31)),
        },
        {"say": "Done."},
    ],
    "interrupt": [{"say": "It begins.\n\n"}, {"hang": True}],
}
# What differs between machines and runs.
VARYING = (
    (re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] "), ""),
    (re.compile(r"ses_[0-9a-f]+"), "ses_0"),
    (re.compile(r"\d+ (min|s) ago|just now"), "just now"),
)


def shown(text):
    lines = [line.rstrip() for line in text.rstrip().split("\n")]
    joined = "\n".join(line for line in lines if not line.startswith("exit status"))
    for pattern, instead in VARYING:
        joined = pattern.sub(instead, joined)
    joined = joined.removeprefix("start\n")
    assert joined.startswith(("offline-script in", "Session ses_0 with", "  1  just now")), joined
    # The greeting names a folder of this machine, and is as long as its name.
    return re.sub(r"\A.*?is\.$", "(the greeting)", joined, count=1, flags=re.DOTALL | re.MULTILINE)


def scenes(columns, start):
    """Each scene with its screen; `start` begins a chat that plays a script for `go on`."""
    with start("diff") as person:
        person.wait("there is.")
        person.type("make the greeting louder: SCRIPT:diff")
        person.wait("Allow it?")
        yield "a question with a diff", person.screen(past=True)
        person.type("y")
        person.wait("Done.")
        yield "a diff that was made", person.idle()
    with start("output") as person:
        person.wait("there is.")
        person.type("count: SCRIPT:output")
        person.wait("Allow it?")
        person.type("what?")
        person.wait("not one of the answers")
        person.type("y")
        person.wait("Done.")
        yield "a long output", person.idle()
    with start("interrupt") as person:
        person.wait("there is.")
        person.type("begin: SCRIPT:interrupt")
        person.wait("\nIt begins.")
        person.type("and then")
        person.wait("» waits: and then")
        person.press("C-c")
        person.wait("Stopped.")
        person.wait("> and then", times=1)
        yield "an interrupt", person.idle()


@pytest.fixture
def builtin(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "hello.py").write_text(HELLO)
    for name, steps in SCRIPTS.items():
        (tmp_path / name).write_text("\n".join(steps))

    def start(columns, script, *words):
        env = {"OPERABLE_HOME": str(tmp_path / "state"), "OPERABLE_OFFLINE_SCRIPT": str(tmp_path / script)}
        if not script:
            env.pop("OPERABLE_OFFLINE_SCRIPT")
        return at_terminal("chat", "--offline", *words, folder=tmp_path / "work", columns=columns, **env)

    return start


def pages(columns, builtin, scene):
    for name, screen in scenes(columns, lambda script: builtin(columns, script)):
        yield f"operable chat: {name}", screen
    with builtin(columns, "") as person:
        person.wait("there is.")
        person.type("the last words of this session are these")
        person.wait("You said:")
        person.press("C-d")
        person.wait("exit status 0")
    with builtin(columns, "", "--resume", "pick") as person:
        yield "operable chat: a resume", person.wait("Go on with which one?")
    scene.user(script={"turns": TURNS})
    (scene.work / "hello.py").write_text(HELLO)

    def start(*words):
        call = ("agent", "chat", "scripted", "--sandbox", "none", *words)
        return at_terminal(*call, folder=scene.work, columns=columns, **scene.env)

    for name, screen in scenes(columns, lambda _script: start()):
        yield f"operable agent chat: {name}", screen
    with start("--resume", "pick") as person:
        yield "operable agent chat: a resume", person.wait("Go on with which one?")


@pytest.mark.parametrize("columns", [80, 120])
def test_both_chats_show_what_was_kept(columns, builtin, tmp_path, request):
    found = [
        f"=== {name}\n{shown(screen)}\n" for name, screen in pages(columns, builtin, Scene(tmp_path / "host"))
    ]
    text = "\n".join(found)
    kept = SCREENS / f"{columns}.txt"
    if request.config.getoption("--keep-verdicts"):
        kept.write_text(text)

    assert text == kept.read_text("utf-8")


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal_and_both_ask_alike(columns):
    text = (SCREENS / f"{columns}.txt").read_text("utf-8")
    pages = [page for page in text.split("=== ") if "a question" in page.partition("\n")[0]]
    asked = [re.findall(r"^  ([yanq])  ", page, re.MULTILINE) for page in pages]

    assert max(map(len, text.split("\n"))) <= columns
    assert asked == [list("yanq")] * 2
