"""What the terminal shows of the most used commands, at 80 and at 120 columns, as text that is compared.

`./dev test tests/cli/test_screens.py --keep-verdicts` keeps what a run shows. Read the difference before you commit it.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCREENS = Path(__file__).with_name("screens")
DRIVER = SCREENS / "driver.py"
CALLS = (
    "",
    "flow",
    "agent",
    "-V",
    "flow plan --help",
    "agent list",
    "agent show claude-code",  # not installed: a path would be as long as that of the checkout
    "agent sessions",
    "agent prompt operable-agent hello",
    "catalog --kind agent",
    "catalog --limit 3",
    "wrap list",
    "app list",
    "check stream.jsonl broken.jsonl",
    "explain",
    "explain 3",
    "flow validate workflow.json",
    "flow lint workflow.json",
    "flow graph workflow.json",
    "flow run workflow.json --root build",
    "flow apply workflow.json",
    "flow init",
    "engine status",
    "engine jobs",
    "policy show",
    "inbox list",
    "no-such-command",
)
# What differs between machines and runs, each in as many columns as it takes.
VARYING = (
    (re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]"), ""),
    (re.compile(r"(?<![\w-])[0-9a-f]{32}(?![\w-])"), "0" * 32),
    (re.compile(r"(?<![\w-])[0-9a-f]{12}(?![\w-])"), "0" * 12),
    (re.compile(r"sha256:[0-9a-f]{64}"), "sha256:" + "0" * 64),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "2026-01-01T00:00:00Z"),
    (re.compile(r"/\S*/(place|home)\b"), r"/\1"),
    (re.compile(re.escape(str(Path(sys.executable).parent))), "/bin"),
    (re.compile(r"\bin \d+ (h|min|s|d)\b"), "in 5 h"),
    (re.compile(r"\b\d+ (h|min|s|d) ago\b"), "5 h ago"),
    (re.compile(r"\bNEXT +LAST\b"), "NEXT    LAST"),  # as wide as that moment
    (re.compile(r"next \d{4}-\d\d-\d\dT"), "next 2026-01-01T"),
    (re.compile(r"cursor \S+"), "cursor …"),
)
WORKFLOW = {
    "version": "0.1",
    "workflows": [
        {
            "id": "nightly",
            "name": "Nightly",
            "tasks": [
                {
                    "id": name,
                    "name": name.title(),
                    "target": {"session_target": "shell"},
                    "shell": {"program": "echo", "args": [name]},
                    **(
                        {"schedule": {"cron": "0 3 * * *"}}
                        if name == "build"
                        else {"trigger": {"parent": "build", "on": "success"}}
                    ),
                }
                for name in ("build", "report")
            ],
        }
    ],
}


def screens(columns: int, folder: Path) -> str:
    """What a person sees who types these one after the other, in a home of their own."""
    place = folder / "place"
    place.mkdir()
    (place / "workflow.json").write_text(json.dumps(WORKFLOW))
    (place / "stream.jsonl").write_text('{"type":"aoi:summary","ok":true,"count":0}\n')
    (place / "broken.jsonl").write_text('{"type":"item"}\n')
    # Without programs: what is installed on a machine is not what this is about.
    environment = {
        "HOME": str(folder / "home"),
        "OPERABLE_HOME": str(folder / "home"),
        "PATH": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "TZ": "UTC",
        "USER": "ada",
    }
    done = subprocess.run(
        [sys.executable, DRIVER],
        input=json.dumps({"columns": columns, "calls": [call.split() for call in CALLS]}),
        cwd=place,
        env=environment
        | {name: os.environ[name] for name in ("COVERAGE_PROCESS_START",) if name in os.environ},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = []
    for call, line in zip(CALLS, done.stdout.splitlines(), strict=True):
        text = json.loads(line).replace("\r\n", "\n")
        for pattern, instead in VARYING:
            text = pattern.sub(instead, text)
        pages.append(
            f"$ operable {call}".rstrip() + "\n" + "\n".join(each.rstrip() for each in text.splitlines())
        )
    return "\n\n".join(pages) + "\n"


@pytest.mark.parametrize("columns", [80, 120])
def test_the_terminal_shows_what_was_kept(columns, tmp_path, request):
    shown = screens(columns, tmp_path)
    kept = SCREENS / f"{columns}.txt"
    if request.config.getoption("--keep-verdicts"):
        kept.write_text(shown)

    assert shown == kept.read_text("utf-8")


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_a_list_is_wider_than_the_terminal(columns):
    pages = (SCREENS / f"{columns}.txt").read_text("utf-8").split("\n\n$ operable ")
    lists = [page for page in pages if page.startswith(("agent list", "catalog", "wrap list", "explain\n"))]

    assert len(lists) == 5
    assert [line for page in lists for line in page.splitlines() if len(line) > columns] == []
