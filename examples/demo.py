"""The main job of Operable in one minute, on a note store that is thrown away afterwards. `./dev demo` runs it.

Every command line that is shown is the one that is run, by /bin/sh, and what it prints is what is shown, shortened to the
width of the terminal. A step that does not behave as described ends the demonstration with status 1. Nothing is written
outside of a temporary directory, and nothing leaves the machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

# A step takes a tenth of a second; one that takes this long hangs.
STEP_TIMEOUT = 60
# As much of an answer as fits beside its explanation.
MOST_LINES = 9
LONGEST_VALUE = 44
# Fields of long events that say the same each time; `…` stands for them.
ALWAYS = ("tool_version", "aoi_version", "schema_name", "schema_version", "trace_id", "elapsed_ms")
NOTHING = (None, 0, False, "")
NOTES = (
    ("Agents read streams", "An agent reads one event at a time.", "work"),
    ("Agents need limits", "A page for an agent, and a cursor for the next.", "work"),
    ("Agents retry", "A key makes the retry of an agent safe.", "work"),
    ("Old draft", "To be deleted.", "drafts"),
    ("Older draft", "To be deleted as well.", "drafts"),
)


class Answer(NamedTuple):
    """What a command printed on stdout, and the last of its lines as JSON where that is what it is."""

    text: str
    last: dict[str, Any]


class Show:
    """Runs commands in the throw-away directory and shows them to a person."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        tools = os.path.dirname(os.path.abspath(sys.executable))
        self._environment = {
            "PATH": os.pathsep.join([tools, os.environ.get("PATH", os.defpath)]),
            "HOME": directory,
            "OUTLINE_HOME": os.path.join(directory, "notes"),
            "OPERABLE_HOME": os.path.join(directory, "state"),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
        }
        terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = terminal and not os.environ.get("NO_COLOR")
        self._width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        self._number = 0

    def chapter(self, title: str, why: str) -> None:
        self._number += 1
        print(f"\n{self._styled(f'{self._number}. {title}', '1')}")
        self._say(why)

    def why(self, sentence: str) -> None:
        print()
        self._say(sentence)

    def run(self, line: str, *, status: int = 0, shows: str = "") -> Answer:
        """Run one line of shell, show what it prints, and stop unless it ends with `status` and shows this text."""
        print(f"\n   {self._styled(f'$ {line}', '36')}")
        try:
            ended = subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=STEP_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.stop(f"this did not end within {STEP_TIMEOUT} s")
        self._print(ended.stdout + ended.stderr)
        if ended.returncode:
            print(self._styled(f"   (exit status {ended.returncode})", "2"))
        if ended.returncode != status:
            self.stop(f"this ended with {ended.returncode}, not with {status}")
        if shows not in ended.stdout + ended.stderr:
            self.stop(f"this should have shown {shows!r}")
        lines = ended.stdout.splitlines()
        last = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
        return Answer(ended.stdout, last)

    def write(self, name: str, text: str) -> None:
        Path(self._directory, name).write_text(text, "utf-8")

    def stop(self, reason: str) -> NoReturn:
        print(f"\n   This is not what should happen: {reason}.", flush=True)
        sys.exit(1)

    def _say(self, sentence: str) -> None:
        for line in textwrap.wrap(sentence, self._width - 3):
            print(f"   {line}")

    def _print(self, text: str) -> None:
        lines = text.splitlines()
        shown = lines if len(lines) <= MOST_LINES + 1 else lines[:MOST_LINES]
        for line in shown:
            for part in shortened(line, self._width - 3):
                print(f"   {part}")
        if len(lines) > len(shown):
            print(self._styled(f"   … and {len(lines) - len(shown)} lines more", "2"))

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._colour else text


def shortened(line: str, room: int) -> list[str]:
    """A line that fits: of an event the main fields, on two lines if need be; of anything else the beginning."""
    if len(line) > room and line.startswith('{"type":'):
        line = _telling(json.loads(line))
        end = line.rfind(",", 0, room) + 1
        if len(line) > room and end:
            return [line[:end], *shortened(f"  {line[end:]}", room)]
    return [line if len(line) <= room else f"{line[: room - 1]}…"]


def _telling(event: dict[str, Any]) -> str:
    parts: list[str] = []
    for name, value in event.items():
        if name in ALWAYS or (name not in ("ok", "count", "truncated") and value in NOTHING):
            if parts[-1] != "…":
                parts.append("…")
            continue
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) > LONGEST_VALUE:
            text = f"{text[:LONGEST_VALUE]}…" + ('"' if isinstance(value, str) else "")
        parts.append(f'"{name}":{text}')
    return "{" + ",".join(parts) + "}"


def ready(show: Show) -> None:
    show.chapter(
        "Is everything there?",
        "Every tool has a doctor, a schema and capabilities. They need no credentials and no network.",
    )
    show.run("outline doctor", shows="database")
    show.run("outline capabilities --output json", shows='"commands":')


def writing(show: Show) -> None:
    show.chapter(
        "Take notes in",
        "A command that changes things shows its plan first. The whole input is checked before the first effect.",
    )
    lines = (json.dumps({"title": title, "body": body, "folder": folder}) for title, body, folder in NOTES)
    show.write("notes.jsonl", "\n".join(lines) + "\n")
    show.run("outline import --input-jsonl notes.jsonl --dry-run", shows="would create")
    show.run("outline import --input-jsonl notes.jsonl", shows="Agents retry")
    show.write("bad.jsonl", '{"title":"Good"}\n{"titel":"A slip"}\n')
    show.run("outline import --input-jsonl bad.jsonl", status=65, shows="unknown field titel")


def searching(show: Show) -> None:
    show.chapter(
        "Search, for people and for machines",
        "People get a table. Programs get one JSON event per line: who speaks, the hits, how it ended.",
    )
    show.run("outline search agent", shows="Agents read streams")
    page = show.run("outline search agent --limit 2 --output jsonl", shows='"truncated":true')
    show.why("There is more than the limit allows. The cursor in the summary goes on where the page ended.")
    rest = show.run(
        f"outline search agent --limit 2 --cursor {page.last['next_cursor']} --output jsonl",
        shows='"truncated":false',
    )
    if '"rank":3' not in rest.text:
        show.stop("the second page does not begin where the first one ended")
    show.why("A slip is answered in the same form, with the nearest name as a hint.")
    show.run("outline serach agent --output jsonl", status=64, shows="did you mean outline search?")


def deleting(show: Show) -> None:
    show.chapter(
        "Delete, safely",
        "Without a confirmation nothing happens. A dry run gives the plan, and a digest that stands for it.",
    )
    show.run("outline delete --folder drafts --output jsonl", status=64, shows="CONFIRMATION_REQUIRED")
    plan = show.run("outline delete --folder drafts --dry-run --output jsonl", shows="plan_digest")
    show.why(
        "Meanwhile another process adds a note to that folder. The plan is no longer the one that was confirmed."
    )
    show.run("outline create 'Precious' --folder drafts", shows="Precious")
    digest = plan.last["plan_digest"]
    refused = show.run(
        f"outline delete --folder drafts --confirm {digest} --output jsonl", status=65, shows="PLAN_CHANGED"
    )
    if '"type":"deleted"' in refused.text:
        show.stop("something was deleted that was not confirmed")
    show.why("The count is a second way to say what you expect.")
    show.run("outline delete --folder drafts --confirm-count 3", shows="Precious")


def retrying(show: Show) -> None:
    show.chapter(
        "Retry without fear",
        "The same key a second time: the recorded answer comes back, and nothing is done again.",
    )
    first = show.run(
        "outline create 'Invoice' --idempotency-key order-17 --output jsonl", shows='"type":"created"'
    )
    again = show.run(
        "outline create 'Invoice' --idempotency-key order-17 --output jsonl", shows='"replayed":true'
    )
    if first.text.splitlines()[1] != again.text.splitlines()[1]:
        show.stop("the second answer is another one")
    show.run(
        "outline create 'Other' --idempotency-key order-17", status=65, shows="was used for another call"
    )


def piping(show: Show) -> None:
    show.chapter(
        "Connect tools", "Each stage gets a verdict of its own. The whole is ok only if every stage is."
    )
    show.run(
        "operable pipe -- outline export ::: outline import --input-jsonl - --on-conflict skip",
        shows="outline  2      success",
    )


def judging(show: Show) -> None:
    show.chapter(
        "Believe no stream that was cut",
        "Every complete answer ends with a summary. Without its last line, a stream looks fine to a shell.",
    )
    show.run("outline export --output jsonl > whole.jsonl")
    show.run("operable check whole.jsonl", shows="success")
    show.run("sed '$d' whole.jsonl | operable check", status=65, shows="incomplete")
    show.why("A program that prints prose and ends with 0 is not a success either.")
    show.run("operable run -- echo 'All done!'", status=65, shows="is not JSON")


def replaying(show: Show) -> None:
    show.chapter(
        "Record it, and play it back as a fake tool",
        "The same bytes, the same pace, the same end; secrets are masked. For tests and for bug reports.",
    )
    show.run("operable record -o search.cassette -- outline search limits", shows="success")
    show.run("operable replay search.cassette --no-wait | operable check", shows="success")


def comparing(show: Show) -> None:
    show.chapter(
        "Find out what breaks, before others do",
        "The contract of the last release, compared with the present one. The exit status is for your build.",
    )
    show.run("mkdir contract && outline schema --output json > contract/schema.json")
    show.run("operable diff contract outline", shows="compatible")
    show.run('sed -i.bak \'s/"title":{/"heading":{/\' contract/schema.json')
    show.run("operable diff contract outline", status=65, shows="breaking")


CHAPTERS = (ready, writing, searching, deleting, retrying, piping, judging, replaying, comparing)


def main() -> None:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal that is not UTF-8
    print("Operable: one contract between agents and command lines.")
    print("What you see is run now, on a note store (examples/outline) that is thrown away at the end.")
    with tempfile.TemporaryDirectory(prefix="operable-demo-") as directory:
        show = Show(directory)
        for chapter in CHAPTERS:
            chapter(show)
    print("\nThat was it. Write such a tool in five minutes: docs/learn/first-tool.md")


if __name__ == "__main__":
    main()
