"""What the gate allows of thousands of attacks is run in real shells, in an enclosure: the denied program must not run.

A larger campaign, from a Python prompt: `campaign(seed, count, folder)`.
"""

import json
import shutil
import subprocess
import sys

import pytest

from operable.gate.policy.pattern import ALLOW, DENY
from operable.gate.policy.rules import Policy, PolicyRule
from operable.gate.policy.tool_call import JudgedCall
from tests.gate.policy.shell.attack_lines import attack_lines

SHELLS = [name for name in ("bash", "dash", "zsh", "fish") if shutil.which(name)]
DENIED = ("rm", "touch", "mk2")
POLICY = Policy((PolicyRule(ALLOW, "*"), *(PolicyRule(DENY, f"execute:{name} *") for name in DENIED)))
# It runs in the enclosure, as the only program besides the shells: each line gets a folder and a session of its own.
DRIVER = r"""
import json, os, shutil, signal, subprocess, sys
shells, lines = json.load(sys.stdin)
options = {"zsh": ["-f"], "fish": ["--no-config"]}
environment = {"PATH": "/denied:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "M": "rm v", "X": "rm", "A": "a"}
ran = []
for line in lines:
    for shell in shells:
        shutil.rmtree("/tmp/work", ignore_errors=True)
        os.mkdir("/tmp/work")
        for name in ("f", "l"):
            with open("/tmp/work/" + name, "w") as file:
                file.write("a\nb\n")
        process = subprocess.Popen(
            [shell, *options.get(shell, []), "-c", line], cwd="/tmp/work", env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        if os.path.exists("/tmp/mark"):
            os.unlink("/tmp/mark")
            ran.append([shell, line])
json.dump(ran, sys.stdout)
"""


def is_allowed(line):
    return POLICY.decide(JudgedCall("Bash", "execute", {"command": line}), "/work").effect == ALLOW


def run_enclosed(lines, folder):
    """Which shells ran a denied program, and with which line. No network, no files but those of the system, read-only."""
    denied = folder / "denied"
    denied.mkdir(exist_ok=True)
    for name in DENIED:
        (denied / name).write_text("#!/bin/sh\n[ $# = 0 ] || : > /tmp/mark\n")
        (denied / name).chmod(0o755)
    words = "--unshare-all --die-with-parent --new-session --clearenv --ro-bind /usr /usr --proc /proc --dev /dev --tmpfs /tmp"
    links = [each for name in ("bin", "lib", "lib64") for each in ("--symlink", f"usr/{name}", f"/{name}")]
    program = ["--ro-bind", str(denied), "/denied"]
    for name in ("rm", "touch"):
        program += ["--ro-bind", str(denied / name), f"/usr/bin/{name}"]
    base = ["--ro-bind-try", sys.base_prefix, sys.base_prefix]
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    done = subprocess.run(
        ["bwrap", *words.split(), *base, *links, *program, python, "-c", DRIVER],
        input=json.dumps([SHELLS, lines]),
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    return json.loads(done.stdout)


def campaign(seed, count, folder):
    """How many lines were made and how many of them the gate allows; and those that ran a denied program."""
    made = attack_lines(seed, count)
    allowed = [line for line in made if "\0" not in line and is_allowed(line)]
    return len(made), len(allowed), run_enclosed(allowed, folder)


@pytest.mark.needs("bwrap")
def test_the_denied_program_of_these_tests_is_seen_when_a_shell_runs_it(tmp_path):
    lines = ["rm v", "$X v", "echo rm v", "rm"]

    assert run_enclosed(lines, tmp_path) == [[shell, line] for line in lines[:2] for shell in SHELLS]


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(900)
def test_no_shell_runs_a_denied_program_in_a_line_that_the_gate_allows(tmp_path):
    made, allowed, passed = campaign(20261118, 1000, tmp_path)

    assert passed == []
    assert made > 900
    assert allowed > 50  # lines in which the program is data, and was not run
