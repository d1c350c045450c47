"""What a tool on the contract can do, command by command, on a note store that is thrown away afterwards.

`./dev demo --script` runs it. Nothing is written outside of a temporary directory, and nothing leaves the machine.
"""

import json
import tempfile

from show import Show

NOTES = (
    ("Agents read streams", "An agent reads one event at a time.", "work"),
    ("Agents need limits", "A page for an agent, and a cursor for the next.", "work"),
    ("Agents retry", "A key makes the retry of an agent safe.", "work"),
    ("Old draft", "To be deleted.", "drafts"),
    ("Older draft", "To be deleted as well.", "drafts"),
)


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
    print("Operable: one contract between agents and command lines.")
    print("What you see is run now, on a note store (outline) that is thrown away at the end.")
    with tempfile.TemporaryDirectory(prefix="operable-demo-") as directory:
        show = Show(directory)
        for chapter in CHAPTERS:
            chapter(show)
    print("\nThat was it. Write such a tool in five minutes: docs/learn/first-tool.md")


if __name__ == "__main__":
    main()
