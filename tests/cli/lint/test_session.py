"""A lint run whose report or baseline cannot be written does not look like success."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.zoo.breeding import breed

BIN = Path(sys.executable).parent
LIMIT = 200
_MOUNTS = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
# A disk of one page, which is taken.
_FULL = 'mount -t tmpfs -o size=4k none "$1" && head -c 4096 /dev/zero > "$1/taken"; shift; exec "$@"'


def lint(program: str, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[bytes]:
    first = [str(BIN / program), *(["lint"] if program == "operable" else [])]
    env = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run([*before, *first, *words], capture_output=True, timeout=LIMIT, check=False, env=env)


def summary(done: subprocess.CompletedProcess[bytes]) -> dict[str, object]:
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["code"] for event in told if event["type"] == "aoi:error"] == ["CANNOT_WRITE"]
    last: dict[str, object] = told[-1]
    assert last["type"] == "aoi:summary"
    return last


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("program", ["aoi-lint", "operable"])
@pytest.mark.parametrize("option", ["--report json=/dev/full", "--save-baseline /dev/full"])
def test_a_full_device_is_the_last_word_for_machines_and_people(tmp_path, program, option):
    words = [str(breed("python", tmp_path)), "--command", "list", "--only", "1", *option.split()]

    done = lint(program, *words, "--output", "jsonl")
    shown = lint(program, *words)

    last = summary(done)
    assert done.returncode == 74
    assert last["ok"] is False
    assert str(last["message"]).endswith("cannot write /dev/full: No space left on device")
    assert shown.returncode == 74
    assert b"No space left on device" in shown.stderr.splitlines()[-1]


@pytest.mark.needs("bwrap", "unshare")
@pytest.mark.parametrize("option", ["--report json=", "--save-baseline "])
def test_a_full_disk_leaves_the_old_file_whole_and_the_other_reports_written(tmp_path, option):
    done = subprocess.run([*_MOUNTS, "true"], capture_output=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        pytest.skip("no mount namespace can be made here")
    disk, other = tmp_path / "disk", tmp_path / "other.json"
    disk.mkdir()
    words = f"{option}{disk / 'out'}".split()

    done = lint(
        "aoi-lint",
        *(str(breed("python", tmp_path)), "--command", "list", "--only", "1", "--output", "jsonl"),
        *(*words, "--report", f"markdown={other}"),
        before=(*_MOUNTS, "sh", "-c", _FULL, "sh", str(disk)),
    )

    assert summary(done)["ok"] is False
    assert done.returncode == 74
    assert os.listdir(disk) == []
    assert other.exists() is option.startswith("--report")


@pytest.mark.parametrize("option", ["--report sarif=", "--save-baseline "])
def test_a_folder_that_is_not_there_is_told_before_the_tool_is_run(tmp_path, option):
    witness = tmp_path / "ran"
    tool = tmp_path / "tool"
    tool.write_text(f"#!/bin/sh\ntouch {witness}\n")
    tool.chmod(0o755)

    done = lint("aoi-lint", str(tool), *f"{option}{tmp_path / 'no' / 'out'}".split(), "--output", "jsonl")

    assert done.returncode == 74
    assert summary(done)["count"] == 0
    assert not witness.exists()
