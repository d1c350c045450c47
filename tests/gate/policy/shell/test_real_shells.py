"""Random lines, made of the tricks of shells around a marker: what a real shell runs, the reader must have found.

Only lines in which the reader does not find the marker are run. The second net (`mention`) is left out here, so that the
reader has to hold alone. A larger campaign: `campaign(seed, count, folder)` from a Python prompt.
"""

import os
import random
import shutil
import signal
import subprocess

import pytest

from operable.gate.policy.shell.command_line import commands_in
from operable.gate.policy.shell.text import may_match

SHELLS = [name for name in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(name)]
MARKERS = """mk v|'mk' v|m''k v|m"k" v|\\mk v|$M v|M=mk; $M v|env mk v|command mk v|eval 'mk v'|sh -c 'mk v'|xargs mk v
timeout 5 mk v|nice mk v|m\\\nk v|mk\\\n v|find . -exec mk v \\;|find . -name {} -o -exec {} v \\;""".replace(
    "v\ntimeout", "v|timeout"
).split("|")
TRICKS = [
    *"'\"`\\\n\t #;&|(){}!*?~=ab,^%-12E",
    "\\\n", " #", "&&", "||", "{ ", " }", "; }", "$(", "$((", "))", "${x:-", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "\tE\n",
    "<<<", "<(", ">(", ">f", "2>&1", "&>f", ">&2", "! ", "[[ ", " ]]", "echo ", "echo a ", ": ", "true; ", "x=1 ", "x=", "x=(",
    "for i in a; do ", "; done", "if :; then ", "; fi", "case x in x) ", " ;; esac", "f() ", "function f ", "time ", "coproc ",
    "eval ", "EF", "E\\\nF", "$'", "\\'", "$\"", "$x", "$1", "${#x}", "$#", "$?", "$[1]", "((1))", "@(", "+(", "\\\\", "\\\"",
    "'\"'\"'", "# '", "#'\n", "' #\n", "cat ", "cat <<E", "E\n", "-c ", "sh ", "{a,b}", "{}", "begin; ", "end", "and ", "or ",
    "not ", "exec ", "set -- ", "let ", "test ", "[[ -n a ]]", "repeat 2 ", "always ", "'\\''", "\\;", "&|", "|&", ";;", ">|", "2>|", ">!", "printf %n ", "$(echo ", "; then ", "; do ", "<<E|cat\n", "cat <<<E\n", "cat <<< 'E'\n", "é", "\u00a0",
]  # fmt: skip


def lines(seed, count):
    choice = random.Random(seed)
    for _ in range(count):
        parts = [choice.choice(TRICKS) for _ in range(choice.choice((1, 2, 3, 4, 5, 6, 8, 10)))]
        for _ in range(choice.choice((1, 1, 2))):
            parts.insert(choice.randrange(len(parts) + 1), choice.choice(MARKERS))
        if choice.random() < 0.5:  # closed quotes make more lines valid
            quote = choice.choice("'\"")
            for _ in range(2):
                parts.insert(choice.randrange(len(parts) + 1), quote)
        yield "".join(parts)


def is_found(line):
    return any(may_match(pattern, command) for pattern in ("mk", "mk *") for command in commands_in(line))


def runs_marker(shell, line, folder):
    """Whether the shell ran the marker. It has its own session, which is killed afterwards."""
    programs, work, mark = folder / "programs", folder / "work", folder / "mark"
    programs.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    program = programs / "mk"
    if not program.exists():
        program.write_text(f"#!/bin/sh\n: > {mark}\n")
        program.chmod(0o755)
    options = {"zsh": ["-f"], "fish": ["--no-config"]}.get(shell, [])
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "M": "mk", "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        [shell, *options, "-c", line],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        pass
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    shutil.rmtree(work, ignore_errors=True)
    was_run = mark.exists()
    mark.unlink(missing_ok=True)
    return was_run


def campaign(seed, count, folder):
    """How many lines were run, and those that ran the marker although the reader did not find it."""
    missed = [line for line in lines(seed, count) if not is_found(line)]
    return len(missed), [
        (shell, line) for line in missed for shell in SHELLS if runs_marker(shell, line, folder)
    ]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line", ["mk v", "'mk' v; true", 'echo "$(mk v)"', "true && mk v"])
def test_the_marker_of_these_tests_is_seen_when_a_shell_runs_it(shell, line, tmp_path):
    assert runs_marker(shell, line, tmp_path)
    assert not runs_marker(shell, "echo mk v", tmp_path)
    assert is_found(line)


@pytest.mark.timeout(300)
def test_no_shell_runs_what_the_reader_does_not_find(tmp_path):
    tried, passed = campaign(20261116, 500, tmp_path)
    assert passed == []
    assert tried > 5  # lines in which the marker is data, and was not run
