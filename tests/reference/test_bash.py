"""The bash tool's own dangers: signals between two of its commands, and forms of capture that lose a signal in bash 5.2."""

import re
import shutil
import signal

import pytest

from operable.wire.aoi import Reader
from tests.reference.test_processes import events
from tests.reference.tools import REFERENCE, RUN_TIMEOUT, environment, ready, run
from tests.tool.drive import LIMIT

pytestmark = [
    pytest.mark.needs("jq"),
    pytest.mark.needs("flock"),
    pytest.mark.timeout(RUN_TIMEOUT + LIMIT),
]
# Runs the program that it is named after, then sends the signal to the leader of its group, which is the tool.
IMPOSTOR = """#!/bin/bash
{real} "$@"
status=$?
read -r _ _ _ _ group _ </proc/$$/stat
kill -{number} "$group"
exit "$status"
"""
PROGRAMS = ["jq", "rm", "head", "stat", "mkdir", "flock", "sed", "sync", "mv"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signal_behind_any_program_that_it_runs_leaves_nothing_behind(program, number, tmp_path):
    impostor = tmp_path / "bin" / program
    impostor.parent.mkdir()
    impostor.write_text(IMPOSTOR.format(real=shutil.which(program), number=int(number)))
    impostor.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = f"{impostor.parent}:{environment(tmp_path)['PATH']}"
    changes: dict[str, str | None] = {"PATH": path, "TMPDIR": str(scratch)}

    ended = run(
        ready("bash"),
        ["import", "--input-jsonl", "-"],
        tmp_path,
        b'{"title":"x"}\n',
        changes,
        start_new_session=True,
    )

    reader = Reader()
    reader.feed(ended.stdout)
    verdict = reader.eof(ended.returncode)
    assert (ended.returncode, verdict.outcome, verdict.notes) == (128 + number, "interrupted", ())
    assert ended.stderr == b""
    assert list(scratch.iterdir()) == []
    kept = [path.name for path in (tmp_path / "data").glob("*")]
    assert set(kept) <= {"items.lock", "items.json"}
    assert [event["type"] for event in events(ended.stdout)].count("aoi:summary") == 1


def test_nothing_is_captured_in_a_form_that_loses_signals():
    """Bash 5.2 parses $(…) and <(…) again at every run: a trap that runs meanwhile is a syntax error. It also loses SIGINT."""
    lines = (REFERENCE / "bash/ref-bash").read_text().splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    risky = [line.strip() for line in code if re.search(r"\$\((?!\()|<\(|`", line.partition(" # ")[0])]

    # The first is run before there are traps, the second in a subshell, which has none.
    assert [line.split("<(")[0].strip() for line in risky] == ["exec {tick}<", "--slurpfile items"]
