"""Words that only this machine knows: what is offered of them, and that real shells take them as data."""

import os
import sys
from pathlib import Path

import pytest

from operable.tool import Tool
from operable.tool.discovery.candidates import LONGEST, MOST, unquoted
from operable.tool.discovery.completion import script
from tests.tool.drive import run
from tests.tool.shells import shell

SHELLS = [
    "bash",
    pytest.param("zsh", marks=pytest.mark.needs("zsh")),
    pytest.param("fish", marks=pytest.mark.needs("fish")),
]
TOOL = '''
from operable.tool import Tool, Event
tool = Tool("shop", version="1", schema_name="x", completions="shop_words")
class Item(Event):
    name: str
@tool.command()
def pick(shelf: str, *names: str, colour: str = "red"):
    """Pick."""
    yield Item(name=" ".join([shelf, *names]))
if __name__ == "__main__":
    tool.main()
'''
SHELVES = """
from operable.tool import Candidates
CANDIDATES = Candidates("pick:shelf", find=lambda _: [("upper", "the upper one"), ("lower", ""), ("ünder", "x")])
"""
NAMES = """
import os
from operable.tool import Candidates
CANDIDATES = Candidates("pick:names", "*:colour", find=lambda words: [
    (name, "of " + " ".join(words) + "\\x1b]0;owned\\x07") for name in open(os.environ["NAMES"]).read().split("\\0")])
"""
HOSTILE = {
    "a": "a$(touch owned)",
    "b": "b`touch owned`",
    "c": "c;touch owned;",
    "d": "d'e\"f",
    "g": "g two words",
    "h": "h*[ab]?{c,d}~!!#",
    "i": "i|touch owned&",
    "j": "j\\",
}
UNPRINTABLE = ["\x1b]0;owned\x07", "k\nl", "m\tn", "o\u202ep", "--confirm", "", "z" * (LONGEST + 1)]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    words = tmp_path / "lib" / "shop_words"
    words.mkdir(parents=True)
    (words / "__init__.py").touch()
    (words / "shelves.py").write_text(SHELVES)
    (words / "names.py").write_text(NAMES)
    (tmp_path / "lib" / "shop.py").write_text(TOOL)
    program = tmp_path / "bin" / "shop"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(tmp_path / 'lib')!r})\nfrom shop import tool\ntool.main()\n"
    )
    program.chmod(0o755)
    (tmp_path / "work").mkdir()
    (tmp_path / "names").write_text("\0".join([*HOSTILE.values(), *UNPRINTABLE, "plain", "other"]))
    return tmp_path


def env(shop: Path) -> dict[str, str]:
    return {"PATH": f"{shop / 'bin'}:/usr/bin:/bin", "NAMES": str(shop / "names")}


def asked(shop: Path, *words: str):
    return run("--complete", *words, output=None, tool=shop / "bin" / "shop", env=os.environ | env(shop))


def scripts(shop: Path, name: str) -> str:
    done = run("completion", name, output=None, tool=shop / "bin" / "shop", env=os.environ | env(shop))
    assert done.exit_code == 0, done
    return done.stdout.decode()


def test_an_answer_has_a_line_for_each_word_that_fits_and_is_printable(shop):
    done = asked(shop, "names", "", "pick", "upper")

    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.partition("\t")[0] for line in done.stdout.decode().splitlines()] == [
        *HOSTILE.values(),
        "plain",
        "other",
    ]
    assert b"\x1b" not in done.stdout
    assert b"\tof pick upper " in done.stdout
    assert asked(shop, "names", "pl").stdout.decode().partition("\t")[0] == "plain"
    assert asked(shop, "names", "nothing").stdout == b""


def test_an_answer_is_bounded(shop):
    (shop / "names").write_text("\0".join(f"name-{number}" for number in range(3 * MOST)))

    assert asked(shop, "names", "name").stdout.count(b"\n") == MOST


@pytest.mark.parametrize(
    "words, status, reason",
    [
        (("nonsense", ""), 75, "no words for 'nonsense'"),
        (("names",), 64, "--complete KIND CURRENT WORD..."),
        ((), 64, "--complete KIND CURRENT WORD..."),
    ],
)
def test_a_question_that_has_no_answer_offers_nothing_and_says_why(shop, words, status, reason):
    done = asked(shop, *words)

    assert (done.exit_code, done.stdout) == (status, b"")
    assert reason in done.stderr


def test_words_that_cannot_be_read_are_no_offer(shop):
    (shop / "names").unlink()

    done = asked(shop, "names", "")

    assert (done.exit_code, done.stdout) == (75, b"")
    assert "No such file" in done.stderr


def test_an_answer_that_takes_too_long_is_given_up(shop):
    with open(shop / "lib" / "shop_words" / "names.py", "a") as file:
        file.write("def find(_):\n    while True: pass\nCANDIDATES.find = find\n")

    done = asked(shop, "names", "")

    assert (done.exit_code, done.stdout, done.stderr) == (75, b"", "")


def test_a_tool_without_such_words_has_no_such_question(tmp_path):
    tool = Tool("plain", version="1", schema_name="x")

    assert all("--complete" not in script(tool, name) for name in ("bash", "zsh", "fish"))
    assert run("--complete", "names", "", output=None).exit_code == 64


@pytest.mark.parametrize(
    "typed, word",
    [
        ("plain", "plain"),
        ("'a b", "a b"),
        ('"a b', "a b"),
        ("a\\ b", "a b"),
        ("'a'b", "ab"),
        ("a\\", "a"),
        ("$(x)'", "$(x)"),
    ],
)
def test_quotes_of_a_shell_are_taken_off_and_nothing_is_expanded(typed, word):
    assert unquoted(typed) == word


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_offers_the_words_in_their_places(shop, name):
    (shop / "work" / "upper").mkdir()  # a folder of that name changes nothing
    with shell(name, scripts(shop, name), shop / "home", shop / "work", env(shop)) as person:
        assert person.after("shop pick up\t") == "shop pick upper "
        assert person.after("shop pick upper pl\t") == "shop pick upper plain "
        assert person.after("shop pick upper plain ot\t") == "shop pick upper plain other "
        assert person.after("shop pick --colour pl\t") == "shop pick --colour plain "
        assert person.after("shop pick --colour plain up\t") == "shop pick --colour plain upper "
        assert person.after("shop pick upper --colo\t") == "shop pick upper --colour "
        assert person.after("shop pick ün\t") == "shop pick ünder "
        assert person.after("shop pick 'up\t") == "shop pick 'upper' "
        person.after("shop pick \t\t")
        assert b"upper" in person.screen
        assert b"lower" in person.screen


@pytest.mark.parametrize("name", SHELLS)
def test_a_name_with_metacharacters_is_one_word_of_the_line_and_runs_nothing(shop, name):
    """The line is entered as the shell completed it: the program gets the name, byte for byte."""
    with shell(name, scripts(shop, name), shop / "home", shop / "work", env(shop)) as person:
        for begin, whole in HOSTILE.items():
            line = person.after(f"shop pick upper {begin}\t")
            print(repr(line))
            printed = person.enter(
                f"{line.rstrip() if not line.endswith(chr(92) + ' ') else line} --output jsonl >out 2>&1"
            )
            assert not (shop / "work" / "owned").exists(), line
            assert whole.encode() in unescaped((shop / "work" / "out").read_bytes()), (line, printed)


@pytest.mark.parametrize("name", SHELLS)
def test_nothing_that_a_terminal_obeys_reaches_it_and_no_error_is_shown(shop, name):
    with shell(name, scripts(shop, name), shop / "home", shop / "work", env(shop)) as person:
        person.after("shop pick upper \t\t")
        assert b"plain" in person.screen
        assert b"\x1b]0;" not in person.screen
        (shop / "names").unlink()
        assert person.after("shop pick upper pl\t") == "shop pick upper pl"
        assert b"No such" not in person.screen
        assert b"rror" not in person.screen
        (shop / "bin" / "shop").unlink()
        assert person.after("shop pick upper pl\t") == "shop pick upper pl"
        assert b"found" not in person.screen
        assert b"rror" not in person.screen


def unescaped(stream: bytes) -> bytes:
    return stream.replace(b'\\"', b'"').replace(b"\\\\", b"\\")
